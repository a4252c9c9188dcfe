// ByteWriter and ByteReader: numbers and texts one behind the other, for formats whose parts vary in length. Numbers are
// little-endian, as everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/words.h"

namespace plov::verify {

// Appends them, in the order of the format's picture.
class ByteWriter {
 public:
  // A number, or an array of numbers.
  void Put(auto number) { Append(&number, sizeof(number)); }
  void PutText(std::string_view text) { Append(text.data(), text.size()); }
  void PadToWord() { bytes_.resize(RoundUpToWord(bytes_.size())); }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  void Append(const void* from, size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }

  std::vector<std::byte> bytes_;
};

// Takes them in the same order, of bytes that may be anything; after the end there is nothing but zeros, and failed().
class ByteReader {
 public:
  // bytes: begin at a word, and outlive the reader.
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return at_ == bytes_.size(); }

  template <typename Number>
  Number Take() {
    const auto taken = TakeBytes(sizeof(Number));
    return taken.empty() ? Number{} : NumberAt<Number>(taken, 0);
  }
  std::string TakeText(uint64_t bytes) { return std::string(TakeView(bytes)); }
  // Of the reader's own bytes.
  std::string_view TakeView(uint64_t bytes) {
    const auto taken = TakeBytes(bytes);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  // Whether they are zeros.
  bool TakeZeros(size_t bytes) {
    const auto taken = TakeBytes(bytes);
    return std::ranges::all_of(taken, [](std::byte b) { return b == std::byte{0}; });
  }
  bool TakeRestOfWord() { return TakeZeros(RoundUpToWord(at_) - at_); }

 private:
  std::span<const std::byte> TakeBytes(uint64_t bytes) {
    if (bytes > bytes_.size() - at_) {
      failed_ = true;
      at_ = bytes_.size();
      return {};
    }
    at_ += bytes;
    return bytes_.subspan(at_ - bytes, bytes);
  }

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace plov::verify
