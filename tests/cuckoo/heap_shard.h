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
#include "cuckoo/table.h"
#include "verify/record.h"

namespace plov::cuckoo {

enum class Form { kInline, kReference };

// Buckets under one geometry and records behind them.
class HeapShard {
 public:
  struct Options {
    uint64_t bucket_count = 16;
    uint32_t bucket_bytes = verify::kBucketBytesMin;
    uint64_t hash_seed = 0x5eed;
    size_t record_area_bytes = size_t{1} << 20;
  };

  explicit HeapShard(const Options& options)
      : view_(ViewOf(options)),
        region_(view_.region_bytes / verify::kWordBytes),
        table_(region(), view_.tables[0], options.hash_seed),
        record_end_(geometry().BucketOffset(options.bucket_count)) {
    table_.Format();
  }
  HeapShard(const HeapShard&) = delete;
  HeapShard& operator=(const HeapShard&) = delete;

  std::byte* region() { return reinterpret_cast<std::byte*>(region_.data()); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(region_)); }
  Table& table() { return table_; }
  const ShardView& view() const { return view_; }
  const Geometry& geometry() const { return view_.tables[0]; }

  uint64_t HashOf(std::string_view key) const { return HashKey(key, view_.hash_seed); }
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

  // The next version is used up. A reference's record is written first (rule W1).
  verify::Bucket Item(std::string_view key, std::string_view value, Form form) {
    const verify::ItemView item{key, value, ++last_version_, 0, 0};
    verify::Bucket bucket;
    if (form == Form::kInline) {
      bucket.SetInline(item, geometry().bucket_bytes);
    } else {
      bucket.SetReference(WriteRecord(item, HashOf(key)), geometry().bucket_bytes);
    }
    return bucket;
  }

  // `hash` need not be the key's.
  verify::Reference WriteRecord(const verify::ItemView& item, uint64_t hash) {
    const size_t record_bytes = verify::RecordBytes(item.key.size(), item.value.size());
    const uint64_t offset = record_end_;
    record_end_ += verify::RoundUpToWord(record_bytes);
    if (record_end_ > view_.region_bytes) std::abort();  // the test asked for too small an area
    uint64_t* words = verify::WordsAt(region(), offset);
    verify::WriteRecordHead(words, item, item.value.size());
    verify::WriteRecordValue(words, item.key.size(), item.value);
    verify::SealRecord(words, record_bytes, view_.record_seed);
    return {hash, item.version, offset, static_cast<uint32_t>(record_bytes), 0};
  }

  enum class Result { kDone, kFull, kCorrupt };

  // What a shard does for a PUT, less the durability.
  Result Put(std::string_view key, std::string_view value, Form form) {
    Table::Slot slot;
    const auto verdict = table_.Find(HashOf(key), key, &slot);
    if (verdict == Table::Verdict::kCorrupt) return Result::kCorrupt;
    const verify::Bucket item = Item(key, value, form);
    if (verdict == Table::Verdict::kAbsent) {
      return table_.Insert(HashOf(key), item) ? Result::kDone : Result::kFull;
    }
    Retract(slot.bucket);
    table_.Replace(slot, item);
    return Result::kDone;
  }

  Table::Verdict Erase(std::string_view key) {
    Table::Slot slot;
    const auto verdict = table_.Find(HashOf(key), key, &slot);
    if (verdict != Table::Verdict::kFound) return verdict;
    Retract(slot.bucket);
    table_.Erase(HashOf(key), slot);
    return verdict;
  }

  uint64_t last_version() const { return last_version_; }

 private:
  static constexpr uint64_t kIncarnation = 0x1234567890abcdef;
  static constexpr uint64_t kTableOffset = 4096;

  static ShardView ViewOf(const Options& options) {
    ShardView view;
    view.superblock_version = 1;
    view.incarnation = kIncarnation;
    view.hash_seed = options.hash_seed;
    view.record_seed = verify::RecordSeed(kIncarnation);
    view.shard_count = 1;
    view.tables[0] = Geometry::Of({1, kTableOffset, options.bucket_count, options.bucket_bytes, 0},
                                  kIncarnation);
    view.region_bytes = kTableOffset + view.tables[0].table_bytes() +
                        verify::RoundUpToWord(options.record_area_bytes);
    return view;
  }

  // Rule W3: before the bucket is rewritten.
  void Retract(const verify::Bucket& bucket) {
    if (bucket.kind() != verify::BucketKind::kReference) return;
    verify::RetractLive(verify::WordsAt(region(), bucket.reference().offset) + 1);
  }

  ShardView view_;
  std::vector<uint64_t> region_;
  Table table_;
  uint64_t record_end_;
  uint64_t last_version_ = 0;
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

// One client: runs lookups to their end over a HeapShard that rests meanwhile.
class HeapReader {
 public:
  explicit HeapReader(HeapShard* shard, size_t cache_bytes = 0)
      : shard_(shard), cache_(cache_bytes) {}

  Answer Get(std::string_view key) {
    const LookupStats before = stats_;
    const Lookup::Context context{&shard_->view(), &cache_, &stats_, [] { return uint64_t{1}; }};
    Lookup lookup;
    auto action = lookup.Start(context, key, shard_->HashOf(key), 1);
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
    const uint64_t region_bytes = shard_->view().region_bytes;
    if (want.offset > region_bytes || want.bytes > region_bytes - want.offset) std::abort();
    const uint64_t* from = verify::WordsAt(shard_->region(), want.offset);
    if (!want.record) {
      verify::CopyFromShared(bucket_.words(), from, want.bytes);
      return lookup->FeedBucket(bucket_);
    }
    record_.resize(want.bytes);
    verify::CopyFromShared(record_.data(), from, want.bytes);
    return lookup->FeedRecord(record_);
  }

  HeapShard* shard_;
  LocationCache cache_;
  LookupStats stats_;
  verify::Bucket bucket_;
  std::vector<std::byte> record_;
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
