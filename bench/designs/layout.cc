#include "bench/designs/layout.h"

#include <array>
#include <cstring>
#include <string>

#include "cuckoo/hash.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::bench {

namespace {

constexpr uint64_t kHashSeed = 0x64657369676e;
constexpr uint64_t kPageBytes = 4096;
// Of the buckets, how many may be chained: far more than 75 % full ones need.
constexpr uint64_t kChainedPart = 8;
constexpr uint64_t kSealSeed = 0x656d756c61746564;

class Writer {
 public:
  Writer(const Layout& layout, std::span<std::byte> region)
      : layout_(layout), items_(layout.shape), region_(region) {}

  void WriteTable(const Placement& placement) {
    const uint64_t slots_per_bucket = layout_.is_cuckoo() ? 1 : kSlotsPerBucket;
    for (uint64_t slot = 0; slot < placement.slots.size(); ++slot) {
      const uint64_t bucket = slot / slots_per_bucket;
      const uint64_t head = layout_.is_cuckoo() ? 0 : kBucketHeadBytes;
      const uint64_t offset =
          layout_.BucketOffset(bucket) + head + slot % slots_per_bucket * layout_.slot_bytes;
      const uint32_t item = placement.slots[slot];
      if (layout_.is_inline()) {
        WriteObject(offset, item);
        continue;
      }
      WriteSlot(offset, item);
      if (item != 0) WriteObject(layout_.ObjectOffset(item - 1), item);
    }
    for (uint64_t bucket = 0; bucket < placement.next.size(); ++bucket) {
      const uint64_t next = placement.next[bucket];
      std::array<uint64_t, 2> head = {0, next == 0 ? 0 : layout_.BucketOffset(next)};
      Seal(layout_.BucketOffset(bucket), head);
    }
  }

 private:
  // words: the checksum's first.
  void Seal(uint64_t offset, std::span<uint64_t> words) {
    words[0] =
        verify::Checksum(&words[1], words.size_bytes() - verify::kWordBytes, PlaceSeed(offset));
    verify::CopyToShared(verify::WordsAt(region_.data(), offset), 0, words.data(),
                         words.size_bytes());
  }

  void WriteSlot(uint64_t offset, uint32_t item) {
    std::array<uint64_t, 4> words{};
    if (item != 0) {
      items_.FillKey(layout_.ItemNumber(item - 1), &key_);
      words = {0, DesignHash(key_), layout_.ObjectOffset(item - 1), layout_.object_bytes};
    }
    Seal(offset, words);
  }

  void WriteObject(uint64_t offset, uint32_t item) {
    object_.assign(layout_.object_bytes / verify::kWordBytes, 0);
    if (item != 0) {
      const uint64_t number = layout_.ItemNumber(item - 1);
      items_.FillKey(number, &key_);
      items_.FillValue(number, key_, &value_);
      object_[1] = key_.size() | uint64_t{value_.size()} << 32;
      auto* bytes = std::as_writable_bytes(std::span(object_)).data() + kObjectHeadBytes;
      std::memcpy(bytes, key_.data(), key_.size());
      std::memcpy(bytes + key_.size(), value_.data(), value_.size());
    }
    Seal(offset, object_);
  }

  const Layout& layout_;
  Items items_;
  std::span<std::byte> region_;
  std::vector<uint64_t> object_;
  std::string key_;
  std::string value_;
};

}  // namespace

Layout LayoutOf(Design design, const ItemShape& shape, uint64_t all_items, const ItemPart& part) {
  const uint64_t items = (all_items + part.count - 1 - part.number) / part.count;
  Layout layout;
  layout.design = design;
  layout.shape = shape;
  layout.part = part;
  layout.items = items;
  layout.object_bytes =
      verify::RoundUpToWord(kObjectHeadBytes + shape.key_bytes + shape.value_bytes_most);
  layout.slot_bytes = layout.is_inline() ? layout.object_bytes : kSlotBytes;
  const uint64_t slots = items * 100 / kFillPercent + cuckoo::kBucketCountMin;
  uint64_t buckets = layout.bucket_count = slots;
  if (!layout.is_cuckoo()) {
    layout.bucket_count = slots / kSlotsPerBucket;
    layout.chained_max = layout.bucket_count / kChainedPart + 1;
    buckets = layout.chained_index() + layout.chained_max;
  }
  layout.objects_offset = buckets * layout.bucket_bytes();
  const uint64_t bytes =
      layout.objects_offset + (layout.is_inline() ? 0 : items * layout.object_bytes);
  layout.region_bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  return layout;
}

// A fast one, as theirs.
uint64_t DesignHash(std::string_view key) {
  return verify::Checksum(key.data(), key.size(), kHashSeed) | 1;
}

uint64_t PlaceSeed(uint64_t offset) { return verify::BucketSeed(kSealSeed, offset); }

std::expected<void, Error> WriteImage(const Layout& layout, std::span<std::byte> region) {
  const Items items(layout.shape);
  std::vector<uint64_t> hashes(layout.items);
  std::string key;
  for (uint64_t index = 0; index < layout.items; ++index) {
    items.FillKey(layout.ItemNumber(index), &key);
    hashes[index] = DesignHash(key);
  }
  const auto placement = layout.is_cuckoo()
                             ? PlaceByCuckoo(hashes, layout.bucket_count)
                             : PlaceByHopscotch(hashes, layout.bucket_count, layout.chained_max);
  if (!placement) return Fail(Code::kNoSpace, "an emulated table cannot take the items");
  Writer(layout, region).WriteTable(*placement);
  return {};
}

}  // namespace plov::bench
