// The bytes of a layout, as a server writes them.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "bench/designs/layout.h"
#include "bench/designs/placement.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::bench {

namespace {

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
