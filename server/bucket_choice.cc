#include "server/bucket_choice.h"

#include <algorithm>

#include "server/record_area.h"
#include "verify/record.h"

namespace plov::server {

using verify::BucketKind;

namespace {

// Buckets an item, on average while a table of twice the buckets fills from 40 to 80 percent: ln(2)
// / 0.4.
constexpr double kBucketsPerItem = 1.733;

// Flags and expiry, which few have, are not looked for.
uint32_t RecordBytes(size_t payload_bytes, uint32_t bucket_bytes) {
  if (payload_bytes <= verify::InlineBytesMax(bucket_bytes)) return 0;
  return RecordArea::PlacedBytes(verify::kRecordHeaderBytes + payload_bytes);
}

}  // namespace

BucketChoice ChooseBuckets(cuckoo::Table* table) {
  const uint64_t bucket_count = table->geometry().bucket_count;
  const uint64_t sampled = std::min(kSampledBuckets, bucket_count);
  const uint64_t step = bucket_count / sampled;
  for (uint64_t i = 0; i < sampled; ++i) table->Prefetch(i * step);
  double items = 0, narrow = 0, wide = 0;
  for (uint64_t i = 0; i < sampled; ++i) {
    const auto bucket = table->Load(i * step);
    if (!bucket) continue;
    if (bucket->kind() != BucketKind::kInline && bucket->kind() != BucketKind::kReference) continue;
    const size_t payload_bytes = verify::PayloadBytes(*bucket);
    items += 1;
    narrow += RecordBytes(payload_bytes, verify::kBucketBytesMin);
    wide += RecordBytes(payload_bytes, verify::kBucketBytesMax);
  }
  if (items == 0) return {};
  const auto estimate = [items](double record_bytes, uint32_t bucket_bytes) {
    const double mean = record_bytes / items;
    return BucketChoice::Estimate{mean, mean + kBucketsPerItem * bucket_bytes};
  };
  return {estimate(narrow, verify::kBucketBytesMin), estimate(wide, verify::kBucketBytesMax)};
}

}  // namespace plov::server
