// Index: which items there are in a log's files, and where their values lie.
//
// Memory: the keys, and about a hundred bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log/offline/shards.h"

namespace plov::log::offline {

class Index {
 public:
  enum class Deletes : uint8_t {
    kForget,  // operations come in the order of their versions, but for those of a snapshot, which come first
    kRemember,  // in any order
  };
  explicit Index(Deletes deletes) : deletes_(deletes) {}

  // Of each key the greatest version counts.
  void Apply(const verify::Logged& operation, const Place& place);

  struct Item {
    std::string_view key;
    std::string_view value;  // valid until the call returns
    uint64_t version = 0;
    uint32_t flags = 0;
    uint32_t expiry = 0;
  };
  // Reads the values and tells of each item that has not expired then, until one call returns false. kCorrupt:
  // a value is no longer what it was when the item was applied.
  std::expected<void, Error> ForEach(Disk* disk, uint64_t unix_seconds,
                                     const std::function<bool(const Item&)>& told) const;

 private:
  static constexpr uint32_t kDeleted = UINT32_MAX;

  struct Entry {
    uint64_t version = 0;
    uint64_t value_offset = 0;
    uint64_t value_checksum = 0;
    uint32_t file = kDeleted;  // of files_
    uint32_t value_bytes = 0;
    uint32_t flags = 0;
    uint32_t expiry = 0;
  };
  struct HashKey {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  using Entries = std::unordered_map<std::string, Entry, HashKey, std::equal_to<>>;
  class Values;

  uint32_t FileOf(std::string_view name);

  Deletes deletes_;
  std::vector<std::string> files_;
  Entries entries_;
};

}  // namespace plov::log::offline
