// TableShard: a shard's memory with the writer's real table, and a reader that runs the client's
// real lookups over it; no server, no fabric, no time.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "cuckoo/lookup.h"
#include "cuckoo/read_copy.h"
#include "cuckoo/rewrites.h"
#include "cuckoo/table.h"
#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

struct TableShardOptions {
  uint64_t bucket_count = 0;
  uint32_t bucket_bytes = verify::kBucketBytesMin;
  uint64_t seed = 0;              // of hash and seals
  uint64_t record_bytes_max = 0;  // of all records together
};

class TableShard {
 public:
  // kSystem: no memory.
  static std::expected<TableShard, Error> Create(const TableShardOptions& options);

  // Stores an item whose key is not there: in its bucket where it fits, else in a record. Returns
  // how many items were displaced for it; nullopt when the table refused it, as one that would have
  // to grow.
  std::optional<uint64_t> Put(std::string_view key, std::string_view value);

  const cuckoo::TableStats& stats() const { return table_.stats(); }
  const cuckoo::ShardView& view() const { return view_; }
  const std::byte* region() const { return memory_.bytes().data(); }

 private:
  TableShard(fabric::Mapping memory, const cuckoo::ShardView& view,
             std::unique_ptr<cuckoo::Rewrites> rewrites, cuckoo::Table table);

  fabric::Mapping memory_;
  cuckoo::ShardView view_;
  std::unique_ptr<cuckoo::Rewrites> rewrites_;
  cuckoo::Table table_;
  uint64_t last_version_ = 0;
  uint64_t next_record_;
};

class TableReader {
 public:
  // cache_bytes: memory for remembered locations; 0 remembers nothing.
  TableReader(const TableShard* shard, size_t cache_bytes);

  struct Answer {
    bool is_hit = false;
    std::string_view value = {};  // valid until the next Get
    uint32_t bucket_reads = 0;
    uint32_t record_reads = 0;
  };

  // kCorrupt: the memory is at rest, so whatever does not verify is damage.
  std::expected<Answer, Error> Get(std::string_view key);

 private:
  const TableShard* shard_;
  cuckoo::LocationCache cache_;
  cuckoo::LookupStats stats_;
  cuckoo::ReadCopy read_;
};

}  // namespace plov::bench
