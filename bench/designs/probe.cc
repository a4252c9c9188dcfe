#include "bench/designs/probe.h"

#include <algorithm>
#include <cstring>

#include "cuckoo/hash.h"
#include "verify/seal.h"

namespace plov::bench {

namespace {

uint64_t WordAt(std::span<const std::byte> bytes, size_t index) {
  uint64_t word = 0;
  std::memcpy(&word, &bytes[index * sizeof(word)], sizeof(word));
  return word;
}

std::string_view TextAt(std::span<const std::byte> bytes, size_t at, size_t count) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())) + at, count};
}

}  // namespace

uint32_t Probe::BytesMax(const Layout& layout) {
  const uint64_t table =
      layout.is_cuckoo() ? kSlotBytes : kBucketsPerNeighbourhood * layout.bucket_bytes();
  return static_cast<uint32_t>(std::max(table, layout.object_bytes));
}

// HERD's server looks into memory of its own.
bool Probe::IsWhole(std::span<const std::byte> bytes, uint64_t offset) const {
  return layout_->design == Design::kHerd ||
         WordAt(bytes, 0) == verify::Checksum(&bytes[8], bytes.size() - 8, PlaceSeed(offset));
}

Probe::Result Probe::Read(uint64_t offset, uint64_t bytes) {
  offset_ = offset;
  bytes_ = static_cast<uint32_t>(bytes);
  return Result::kRead;
}

Probe::Result Probe::ReadWay() {
  reads_object_ = false;
  if (way_ == cuckoo::kWays) return Result::kAbsent;
  const auto ways = cuckoo::WaysOf(hash_, layout_->bucket_count);
  return Read(layout_->BucketOffset(ways[way_]), layout_->bucket_bytes());
}

void Probe::Start(const Layout* layout, std::string_view key) {
  layout_ = layout;
  key_ = key;
  hash_ = DesignHash(key);
  way_ = 0;
  reads_object_ = false;
  if (layout->is_cuckoo()) {
    ReadWay();
    return;
  }
  Read(layout->BucketOffset(cuckoo::HomeOf(hash_, layout->bucket_count)),
       kBucketsPerNeighbourhood * layout->bucket_bytes());
}

Probe::Result Probe::Feed(std::span<const std::byte> bytes) {
  if (reads_object_) {
    const Result result = FeedObject(bytes, offset_);
    if (result != Result::kAbsent || !layout_->is_cuckoo()) return result;
    ++way_;  // another key of the same hash
    return ReadWay();
  }
  return layout_->is_cuckoo() ? FeedWay(bytes) : FeedBuckets(bytes);
}

Probe::Result Probe::FeedWay(std::span<const std::byte> bytes) {
  if (!IsWhole(bytes, offset_)) return Result::kTorn;
  if (WordAt(bytes, 1) == hash_) {
    reads_object_ = true;
    return Read(WordAt(bytes, 2), WordAt(bytes, 3));
  }
  ++way_;
  return ReadWay();
}

// A neighbourhood, or a chained bucket. What does not hold the key is verified only where that
// decides, when it is in none of them.
Probe::Result Probe::FeedBuckets(std::span<const std::byte> bytes) {
  const uint64_t slot_bytes = layout_->slot_bytes;
  bool all_whole = true;
  for (size_t at = 0; at < bytes.size(); at += layout_->bucket_bytes()) {
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      const size_t from = at + kBucketHeadBytes + i * slot_bytes;
      const auto slot = bytes.subspan(from, slot_bytes);
      if (layout_->is_inline()) {
        const Result result = FeedObject(slot, offset_ + from);
        if (result == Result::kFound) return result;
        continue;
      }
      if (WordAt(slot, 1) != hash_) continue;
      if (!IsWhole(slot, offset_ + from)) return Result::kTorn;
      reads_object_ = true;
      return Read(WordAt(slot, 2), WordAt(slot, 3));
    }
  }
  for (size_t at = 0; at < bytes.size(); at += layout_->bucket_bytes()) {
    all_whole = all_whole && IsWhole(bytes.subspan(at, kBucketHeadBytes), offset_ + at);
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      const size_t from = at + kBucketHeadBytes + i * slot_bytes;
      all_whole = all_whole && IsWhole(bytes.subspan(from, slot_bytes), offset_ + from);
    }
  }
  if (!all_whole) return Result::kTorn;
  const uint64_t chained = WordAt(bytes, 1);
  return chained == 0 ? Result::kAbsent : Read(chained, layout_->bucket_bytes());
}

Probe::Result Probe::FeedObject(std::span<const std::byte> bytes, uint64_t offset) {
  const uint64_t lengths = WordAt(bytes, 1);
  const uint64_t key_bytes = lengths & 0xffffffff;
  const uint64_t value_bytes = lengths >> 32;
  const bool is_ours = key_bytes == key_.size() &&
                       kObjectHeadBytes + key_bytes + value_bytes <= bytes.size() &&
                       TextAt(bytes, kObjectHeadBytes, key_bytes) == key_;
  if (!is_ours) {
    return layout_->is_inline() || IsWhole(bytes, offset) ? Result::kAbsent : Result::kTorn;
  }
  if (!IsWhole(bytes, offset)) return Result::kTorn;
  value_ = TextAt(bytes, kObjectHeadBytes + key_bytes, value_bytes);
  return Result::kFound;
}

}  // namespace plov::bench
