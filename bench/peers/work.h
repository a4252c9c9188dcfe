// Work: the items that every side of a comparison holds, and the order they are asked for in.
//
// Keys lie in that order, so that looking for the next one costs every side the same: nothing.
//
// Threads: constant after construction. Memory: 36 bytes and a key for each item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "bench/load/items.h"
#include "verify/error.h"

namespace plov::bench {

class Work {
 public:
  // Items `first` and on, below 2^32; their values have one size.
  Work(uint64_t count, const ItemShape& shape, uint64_t first = 0);

  uint64_t first() const { return first_; }
  uint64_t count() const { return order_.size(); }
  const Items& items() const { return items_; }
  uint32_t key_bytes() const { return items_.shape().key_bytes; }
  uint32_t value_bytes() const { return items_.shape().value_bytes_least; }

  // By place in the order: the keys, and the numbers of their items.
  std::span<const std::string_view> keys() const { return keys_; }
  std::span<const uint32_t> order() const { return order_; }

  // Whether `value` is that of `key`, as cheaply as that can be seen in every measurement: its
  // length, its beginning and its end.
  bool IsRight(std::string_view key, std::string_view value) const {
    if (value.size() != value_bytes()) return false;
    if (end_at_ > key.size() - kEndBytes) return IsRepeated(key, value);
    return value.starts_with(key) &&
           value.substr(value.size() - kEndBytes) == key.substr(end_at_, kEndBytes);
  }
  // kCorrupt, with the key.
  std::unexpected<Error> Wrong(std::string_view key) const;

 private:
  static constexpr size_t kEndBytes = 8;

  Items items_;
  uint64_t first_;
  std::vector<uint32_t> order_;
  std::vector<char> key_bytes_;
  std::vector<std::string_view> keys_;
  size_t end_at_;  // in a key, what values end with; beyond where that is no part of it
};

}  // namespace plov::bench
