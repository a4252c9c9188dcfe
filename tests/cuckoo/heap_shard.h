// HeapShard: a shard's region in heap memory with a real table and bump-allocated records, and the
// smallest reader that runs a real Lookup against it. For the tests of cuckoo/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/lookup.h"
#include "cuckoo/read_copy.h"
#include "cuckoo/table.h"
#include "tests/cuckoo/shard_memory.h"
#include "verify/record.h"

namespace plov::cuckoo {

// Buckets under one geometry and records behind them.
class HeapShard : public ShardMemory {
 public:
  struct Options {
    uint64_t bucket_count = 16;
    uint32_t bucket_bytes = verify::kBucketBytesMin;
    uint64_t hash_seed = 0x5eed;
    size_t record_area_bytes = size_t{1} << 20;
  };

  explicit HeapShard(const Options& options)
      : ShardMemory(LayoutOf(options)),
        table_(
            Table::Create(region(), GeometryOf(options.bucket_count), options.hash_seed, &rewrites_)
                .value()) {
    table_.Format();
  }

  Table& table() { return table_; }
  const Geometry& geometry() const { return view_.tables[0]; }

  std::array<uint64_t, kWays> WaysOf(std::string_view key) const {
    return cuckoo::WaysOf(HashOf(key), geometry().bucket_count);
  }

  // A private copy of a bucket, which need not be whole.
  verify::Bucket BucketAt(uint64_t index) {
    verify::Bucket bucket;
    verify::CopyFromShared(bucket.words(),
                           verify::WordsAt(region(), geometry().BucketOffset(index)),
                           geometry().bucket_bytes);
    return bucket;
  }

  Result Put(std::string_view key, std::string_view value, Form form) {
    return PutInto(&table_, key, value, form);
  }
  Table::FindResult Erase(std::string_view key) { return EraseFrom(&table_, key); }

 private:
  static Layout LayoutOf(const Options& options) {
    const uint64_t table_bytes = options.bucket_count * options.bucket_bytes;
    const size_t record_bytes = verify::RoundUpToWord(options.record_area_bytes);
    return {.region_bytes = kFirstOffset + table_bytes + record_bytes,
            .bucket_bytes = options.bucket_bytes,
            .hash_seed = options.hash_seed,
            .unit_bytes = verify::kWordBytes,
            .random_seed = 0};
  }
  const Geometry& GeometryOf(uint64_t bucket_count) {
    return view_.tables[0] = AllocateTable(1, bucket_count);
  }

  Table table_;
};

// What one GET came to.
struct Answer {
  Lookup::Action action = Lookup::Action::kRead;
  std::string value = {};
  uint64_t version = 0;
  uint64_t bucket_reads = 0;
  uint64_t record_reads = 0;
  bool suspect = false;
};

// One client: runs lookups to their end over a shard that rests meanwhile.
class HeapReader {
 public:
  explicit HeapReader(ShardMemory* shard, size_t cache_bytes = 0)
      : HeapReader(shard, &shard->view(), cache_bytes) {}
  // Knows the shard by a view that may be old.
  HeapReader(ShardMemory* shard, const ShardView* view, size_t cache_bytes = 0)
      : shard_(shard), view_(view), cache_(cache_bytes) {}

  Answer Get(std::string_view key) {
    const LookupStats before = stats_;
    const Lookup::Context context{view_, &cache_, &stats_, [] { return uint64_t{1}; }};
    Lookup lookup;
    auto action = lookup.Start(&context, key, shard_->HashOf(key), 1);
    while (action == Lookup::Action::kRead || action == Lookup::Action::kPause) {
      action = action == Lookup::Action::kPause ? lookup.Resume() : Read(&lookup);
    }
    Answer answer{.action = action,
                  .bucket_reads = stats_.bucket_reads - before.bucket_reads,
                  .record_reads = stats_.record_reads - before.record_reads};
    if (action == Lookup::Action::kHit) {
      answer.value = lookup.item().value;
      answer.version = lookup.item().version;
    }
    answer.suspect = action == Lookup::Action::kAskServer && lookup.suspect();
    return answer;
  }

  const LookupStats& stats() const { return stats_; }
  LocationCache& cache() { return cache_; }

 private:
  Lookup::Action Read(Lookup* lookup) {
    const Lookup::Want want = lookup->want();
    const uint64_t region_bytes = view_->region_bytes;
    if (want.offset > region_bytes || want.bytes > region_bytes - want.offset) std::abort();
    return read_.Feed(lookup, shard_->region());
  }

  ShardMemory* shard_;
  const ShardView* view_;
  LocationCache cache_;
  LookupStats stats_;
  ReadCopy read_;
};

// The first of "k0", "k1", ... from number `*next` on that fits; `*next` is left behind it.
template <typename Fits>
std::string NextKey(uint64_t* next, Fits&& fits) {
  for (;;) {
    const std::string key = "k" + std::to_string((*next)++);
    if (fits(key)) return key;
  }
}

}  // namespace plov::cuckoo
