// Items: keys of one length and their values, computed from numbers, so that every client knows
// what every other one stored.
//
// Threads: constant after construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "program/random.h"

namespace plov::bench {

struct ItemShape {
  uint32_t key_bytes = 16;  // at least 8
  // The sizes of values are spread evenly from the one to the other, by the item's number.
  uint32_t value_bytes_least = 64;
  uint32_t value_bytes_most = 64;
  bool are_numbers = false;  // values are the text of one, that is incremented
};

// Writes `key` again and again over `value`, this many bytes of it.
void FillRepeated(std::string_view key, uint32_t value_bytes, std::string* value);
// Whether `value` is that, of whatever size.
bool IsRepeated(std::string_view key, std::string_view value);

class Items {
 public:
  static constexpr uint32_t kKeyBytesMin = 8;

  explicit Items(const ItemShape& shape) : shape_(shape) {}

  const ItemShape& shape() const { return shape_; }

  // Writes the key of item `number`, below 2^40, over `key`.
  void FillKey(uint64_t number, std::string* key) const;
  // Writes its value, which repeats the key or is a number, over `value`.
  void FillValue(uint64_t number, std::string_view key, std::string* value) const;

  uint32_t ValueBytes(uint64_t number) const {
    const uint64_t span = shape_.value_bytes_most - shape_.value_bytes_least + uint64_t{1};
    return shape_.value_bytes_least + static_cast<uint32_t>(program::Mix(number) % span);
  }

  // Whether `value` is what FillValue writes for this key: its length and all of its bytes. Or a number.
  bool IsValue(uint64_t number, std::string_view key, std::string_view value) const;

 private:
  ItemShape shape_;
};

}  // namespace plov::bench
