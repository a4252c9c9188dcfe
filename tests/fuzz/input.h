// What the targets share: numbers from an input, and the check that ends a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace plov::fuzz {

// Takes an input apart from its front; zeros and nothing where it has ended.
class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : rest_(data, bytes) {}

  bool empty() const { return rest_.empty(); }

  template <typename Number>
  Number Take() {
    Number number{};
    const auto taken = TakeBytes(sizeof(number));
    if (!taken.empty()) std::memcpy(&number, taken.data(), taken.size());
    return number;
  }

  std::span<const uint8_t> TakeBytes(size_t bytes) {
    const auto taken = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::span<const uint8_t> TakeRest() { return TakeBytes(rest_.size()); }

 private:
  std::span<const uint8_t> rest_;
};

inline std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Ends the run as a crash: libFuzzer keeps the input.
inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property does not hold: %s\n", what);
  std::abort();
}

}  // namespace plov::fuzz
