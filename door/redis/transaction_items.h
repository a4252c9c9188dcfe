// TransactionItems: the items that a transaction concerns, as they were read and as its commands leave them, and what of
// that is to be committed.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "door/redis/change.h"

namespace plov::door::redis {

class TransactionItems {
 public:
  // Keys stay as long as this. What is to be the value's part is copied; else only the version is kept.
  enum class Part : uint8_t { kVersionOnly, kValue };
  void Want(std::string_view key, Part part);

  size_t count() const { return entries_.size(); }
  std::string_view key(size_t i) const { return entries_[i].key; }
  bool wants_value(size_t i) const { return entries_[i].part == Part::kValue; }
  // 0: it is absent.
  Version version(std::string_view key) const;

  // It was read, perhaps again: what was made of it before is forgotten.
  void TakeRead(size_t i, const Item* item);
  // nullptr: it is absent.
  const Item* Find(std::string_view key) const;
  void Apply(std::string_view key, Change change);

  // A value was made that no commit takes.
  bool is_too_large() const { return is_too_large_; }
  size_t value_bytes() const { return value_bytes_; }
  // Their strings are of this.
  std::vector<CommitRead> Reads() const;
  std::vector<CommitWrite> Writes() const;

 private:
  struct Entry {
    std::string_view key;
    Part part;
    Version version = 0;  // as it was read
    bool is_changed = false;
    std::string value;
    std::optional<Item> item;  // its value is `value`
  };

  void Store(Entry* entry, std::string value, const Item& like);

  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> places_;
  size_t value_bytes_ = 0;
  bool is_too_large_ = false;
};

}  // namespace plov::door::redis
