// GrowingShard: a shard's region in heap memory with a real GrowingTable, and the order in which a
// server publishes, grows and gives memory away. For the tests of growth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cuckoo/growing_table.h"
#include "tests/cuckoo/shard_memory.h"

namespace plov::cuckoo {

class GrowingShard : public ShardMemory {
 public:
  using Phase = GrowingTable::Phase;

  struct Options {
    uint64_t bucket_count = 16;
    uint32_t bucket_bytes = verify::kBucketBytesMin;
    uint64_t hash_seed = 0x5eed;
    size_t region_bytes = size_t{1} << 20;
    // Memory in multiples of a bucket: tables lie on former tables and records exactly, or shifted.
    uint64_t unit_bytes = verify::kBucketBytesMin;
    uint32_t stash_pages = 0;  // that the stash may have
  };

  explicit GrowingShard(const Options& options)
      : ShardMemory({.region_bytes = options.region_bytes,
                     .bucket_bytes = options.bucket_bytes,
                     .hash_seed = options.hash_seed,
                     .unit_bytes = options.unit_bytes,
                     .random_seed = options.hash_seed | 1}),
        stash_pages_(options.stash_pages),
        table_(Table::Create(region(), FirstOf(options.bucket_count), options.hash_seed, &rewrites_)
                   .value(),
               {.seed = 77},
               [this](size_t, bool) { return !table_.stash().full() || ExtendStash(); }) {
    table_.current().Format();
  }

  GrowingTable& table() { return table_; }
  const Geometry& current() const { return std::as_const(table_).current().geometry(); }
  // The generation that is being prepared or filled, or the one that is being retired.
  const Geometry& other() const { return other_; }

  // Frees what an overwrite or an erase leaves behind; readers may still be at it.
  Result Put(std::string_view key, std::string_view value, Form form) {
    Table::Slot old;
    const bool is_there = table_.Find(HashOf(key), key, &old) == Table::FindResult::kFound;
    const Result result = PutInto(&table_, key, value, form);
    if (is_there) Free(old.bucket);
    return result;
  }
  Table::FindResult Erase(std::string_view key) {
    Table::Slot old;
    const auto verdict = table_.Find(HashOf(key), key, &old);
    if (EraseFrom(&table_, key) == Table::FindResult::kFound) Free(old.bucket);
    return verdict;
  }

  // Begins to grow; false when there is no memory for it.
  bool Prepare(uint64_t bucket_count) {
    other_ = AllocateTable(current().generation + 1, bucket_count);
    if (other_.generation == 0) return false;
    return table_.Prepare(other_);
  }

  // Before anything is published of it.
  bool MayAbandon() const {
    return table_.phase() == Phase::kPreparing && view_.tables[1].generation == 0;
  }
  void Abandon() {
    table_.Abandon();
    FreeTable(other_);
  }

  // The next step of growth, in a server's order; one of several buckets counts them.
  void Advance(uint64_t buckets) {
    switch (table_.phase()) {
      case Phase::kSteady:
        break;
      case Phase::kPreparing:
        if (table_.prepared() < other_.bucket_count) {
          table_.PrepareSome(buckets);
        } else if (view_.tables[1].generation == 0) {
          Publish(current(), other_);
        } else {
          table_.StartMoving();
          has_moved_ = false;
        }
        break;
      case Phase::kMoving:
        if (has_moved_) {
          other_ = table_.Switch();
        } else {
          has_moved_ = table_.MoveSome(buckets);
        }
        break;
      case Phase::kRetiring:
        if (view_.tables[1].generation != 0) {
          Publish(current(), {});
        } else if (table_.RetireSome(buckets)) {
          retired_.push_back(other_);
        }
        break;
    }
  }

  // Tables whose memory can be given away when no reader knows them any more.
  const std::vector<Geometry>& retired() const { return retired_; }

  // Gives the memory of one of them away, zeroed if that is wanted.
  void Release(size_t index, bool zeroed) {
    const Geometry geometry = retired_[index];
    retired_.erase(retired_.begin() + static_cast<ptrdiff_t>(index));
    uint64_t* words = verify::WordsAt(region(), geometry.offset);
    for (uint64_t i = 0; zeroed && i < geometry.table_bytes() / verify::kWordBytes; ++i) {
      verify::StoreWord(words + i, 0);
    }
    FreeTable(geometry);
  }

 private:
  const Geometry& FirstOf(uint64_t bucket_count) {
    return view_.tables[0] = AllocateTable(1, bucket_count);
  }

  bool ExtendStash() {
    constexpr uint64_t kPage = 4096;
    if (stash_pages_ == 0) return false;
    --stash_pages_;
    table_.stash().AddExtent({AllocateTable(1, kPage / current().bucket_bytes).offset, kPage});
    table_.stash().Extend(table_.stash().NextPart(kPage));
    view_.stash = table_.stash().geometry();
    return true;
  }

  void Publish(const Geometry& first, const Geometry& second) {
    ++view_.superblock_version;
    view_.tables = {first, second};
  }

  uint32_t stash_pages_;
  GrowingTable table_;
  Geometry other_;
  bool has_moved_ = false;
  std::vector<Geometry> retired_;
};

inline void AdvanceTo(GrowingShard* shard, GrowingTable::Phase phase,
                      uint64_t buckets = 1'000'000) {
  while (shard->table().phase() != phase) shard->Advance(buckets);
}

}  // namespace plov::cuckoo
