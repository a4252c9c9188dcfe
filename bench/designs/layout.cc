#include "bench/designs/layout.h"

#include "cuckoo/hash.h"
#include "verify/words.h"

namespace plov::bench {

namespace {

constexpr uint64_t kHashSeed = 0x64657369676e;
constexpr uint64_t kPageBytes = 4096;
// Of the buckets, how many may be chained: far more than 75 % full ones need.
constexpr uint64_t kChainedPart = 8;

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

uint64_t DesignHash(std::string_view key) { return cuckoo::HashKey(key, kHashSeed) | 1; }

}  // namespace plov::bench
