// Key names: how the keys of a run are called on the server.
//
//   t a3k9 00f 0001c     of the run a3k9, its history 15, key 44; 13 bytes, digits of base 32
//
// Short, so that small values lie inline in their buckets. Every history of a run has names of its
// own: what a write of a former one that got no answer may still do, it does to a key that nobody
// looks at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plov::torture {

inline constexpr uint64_t kKeysMax = uint64_t{1} << 24;  // that the checker finds by index
inline constexpr uint32_t kRunsMax = 1U << 20;

class KeyName {
 public:
  static constexpr size_t kBytes = 13;
  static constexpr size_t kPrefixBytes = 5;  // all keys of a run, and nothing else, begin so

  KeyName() = default;
  KeyName(uint32_t run, uint32_t history, uint64_t key) {
    text_[0] = 't';
    Put(1, 4, run);
    Put(5, 3, history);
    Put(8, 5, key);
  }

  std::string_view view() const { return {text_.data(), text_.size()}; }
  std::string_view prefix() const { return view().substr(0, kPrefixBytes); }

 private:
  void Put(size_t at, size_t digits, uint64_t number) {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
    for (size_t i = digits; i-- > 0; number /= kDigits.size()) {
      text_[at + i] = kDigits[number % kDigits.size()];
    }
  }

  std::array<char, kBytes> text_{};
};

// What values of the key are sealed with, so that they do not pass for those of another history.
constexpr uint64_t SealedKey(uint32_t history, uint64_t key) {
  return static_cast<uint64_t>(history) << 32 | key;
}

}  // namespace plov::torture
