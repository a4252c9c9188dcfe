// ShardMemory: a shard's region in heap memory, its view and its records. What HeapShard and
// GrowingShard have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/geometry.h"
#include "cuckoo/hash.h"
#include "cuckoo/rewrites.h"
#include "cuckoo/table.h"
#include "verify/record.h"

namespace plov::cuckoo {

enum class Form { kInline, kReference };

inline std::string KeyOf(uint64_t number) { return "key" + std::to_string(number); }

// Memory by offset. What is freed is given away again, in pieces of another size too.
class Arena {
 public:
  Arena(uint64_t offset, uint64_t bytes) { free_[offset] = bytes; }

  // From the start of the `choice`-th range that is large enough; 0 when there is none.
  uint64_t Allocate(uint64_t bytes, uint64_t choice) {
    std::vector<uint64_t> fits;
    for (const auto& [offset, free_bytes] : free_) {
      if (free_bytes >= bytes) fits.push_back(offset);
    }
    if (fits.empty()) return 0;
    const uint64_t offset = fits[choice % fits.size()];
    const uint64_t rest = free_.extract(offset).mapped() - bytes;
    if (rest > 0) free_[offset + bytes] = rest;
    return offset;
  }

  void Free(uint64_t offset, uint64_t bytes) {
    const auto after = free_.lower_bound(offset);
    if (after != free_.end() && after->first == offset + bytes) {
      bytes += after->second;
      free_.erase(after);
    }
    const auto at = free_.emplace(offset, bytes).first;
    if (at == free_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second != offset) return;
    before->second += bytes;
    free_.erase(at);
  }

 private:
  std::map<uint64_t, uint64_t> free_;  // bytes by offset; ranges that touch are one
};

class ShardMemory {
 public:
  ShardMemory(const ShardMemory&) = delete;
  ShardMemory& operator=(const ShardMemory&) = delete;

  std::byte* region() { return reinterpret_cast<std::byte*>(region_.data()); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(region_)); }
  // As published.
  const ShardView& view() const { return view_; }

  uint64_t HashOf(std::string_view key) const { return HashKey(key, view_.hash_seed); }

  // The next version is used up. A reference's record is written first (rule W1).
  verify::Bucket Item(std::string_view key, std::string_view value, Form form) {
    const uint64_t version = ++last_version_;
    const verify::ItemView item{key, value, version, 0, 0, verify::Mask::Of(verify::Mix(version))};
    verify::Bucket bucket;
    if (form == Form::kInline) {
      bucket.SetInline(item, verify::kBucketBytesMax);
    } else {
      bucket.SetReference(WriteRecord(item, HashOf(key)), bucket_bytes_);
    }
    return bucket;
  }

  // `hash` need not be the key's.
  verify::Reference WriteRecord(const verify::ItemView& item, uint64_t hash) {
    const size_t record_bytes = verify::RecordBytes(item.key.size(), item.value.size());
    const uint64_t offset = arena_.Allocate(RoundUp(record_bytes), Choice());
    if (offset == 0) std::abort();  // the test asked for too small an area
    uint64_t* words = verify::WordsAt(region(), offset);
    verify::WriteRecordHead(words, item, item.value.size());
    verify::WriteRecordValue(words, item.key.size(), item.value, item.mask);
    verify::SealRecord(words, record_bytes, view_.record_seed);
    return {hash, item.version, offset, static_cast<uint32_t>(record_bytes), 0, item.mask.word()};
  }

  // Rule W3: before the bucket is rewritten.
  void Retract(const verify::Bucket& bucket) {
    if (bucket.kind() != verify::BucketKind::kReference) return;
    verify::RetractLive(verify::WordsAt(region(), bucket.reference().offset) + 1);
  }

  // Gives the record's memory away, if the item has one.
  void Free(const verify::Bucket& bucket) {
    if (bucket.kind() != verify::BucketKind::kReference) return;
    const verify::Reference reference = bucket.reference();
    arena_.Free(reference.offset, RoundUp(reference.record_bytes));
  }

  uint64_t last_version() const { return last_version_; }

  enum class Result { kDone, kFull, kCorrupt };

 protected:
  // Before the tables that use it.
  Rewrites rewrites_;

  static constexpr uint64_t kIncarnation = 0x1234567890abcdef;
  static constexpr uint64_t kFirstOffset = 4096;

  struct Layout {
    uint64_t region_bytes;
    uint32_t bucket_bytes;
    uint64_t hash_seed;
    uint64_t unit_bytes;   // memory is given away in multiples of it
    uint64_t random_seed;  // of where it is given away; 0: always as far in front as possible
  };

  explicit ShardMemory(const Layout& layout)
      : bucket_bytes_(layout.bucket_bytes),
        unit_bytes_(layout.unit_bytes),
        random_state_(layout.random_seed),
        region_(layout.region_bytes / verify::kWordBytes),
        arena_(kFirstOffset, layout.region_bytes - kFirstOffset) {
    view_.superblock_version = 1;
    view_.incarnation = kIncarnation;
    view_.hash_seed = layout.hash_seed;
    view_.record_seed = verify::RecordSeed(kIncarnation);
    view_.shard_count = 1;
    view_.region_bytes = layout.region_bytes;
  }

  // Memory for a table, or one of generation 0 when there is none.
  Geometry AllocateTable(uint64_t generation, uint64_t bucket_count) {
    const uint64_t offset = arena_.Allocate(RoundUp(bucket_count * bucket_bytes_), Choice());
    if (offset == 0) return {};
    return Geometry::Of({generation, offset, bucket_count, bucket_bytes_, 0}, kIncarnation);
  }
  void FreeTable(const Geometry& geometry) {
    arena_.Free(geometry.offset, RoundUp(geometry.table_bytes()));
  }

  // What a shard does for a PUT, less the durability.
  template <typename AnyTable>
  Result PutInto(AnyTable* table, std::string_view key, std::string_view value, Form form) {
    Table::Slot slot;
    const auto verdict = table->Find(HashOf(key), key, &slot);
    if (verdict == Table::FindResult::kCorrupt) return Result::kCorrupt;
    const verify::Bucket item = Item(key, value, form);
    if (verdict == Table::FindResult::kAbsent) {
      return table->Insert(HashOf(key), item) ? Result::kDone : Result::kFull;
    }
    Retract(slot.bucket);
    table->Replace(slot, item);
    return Result::kDone;
  }

  template <typename AnyTable>
  Table::FindResult EraseFrom(AnyTable* table, std::string_view key) {
    Table::Slot slot;
    const auto verdict = table->Find(HashOf(key), key, &slot);
    if (verdict != Table::FindResult::kFound) return verdict;
    Retract(slot.bucket);
    table->Erase(HashOf(key), slot);
    return verdict;
  }

  ShardView view_;

 private:
  uint64_t RoundUp(uint64_t bytes) const {
    return (bytes + unit_bytes_ - 1) / unit_bytes_ * unit_bytes_;
  }
  uint64_t Choice() {
    return random_state_ == 0 ? 0 : verify::Mix(random_state_ += 0x9e3779b97f4a7c15);
  }

  uint32_t bucket_bytes_;
  uint64_t unit_bytes_;
  uint64_t random_state_;
  std::vector<uint64_t> region_;
  Arena arena_;
  uint64_t last_version_ = 0;
};

}  // namespace plov::cuckoo
