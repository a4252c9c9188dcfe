#include "server/bucket_choice.h"

#include <algorithm>

#include "server/record_area.h"
#include "verify/record.h"

namespace plov::server {

using verify::BucketKind;

namespace {

// Buckets an item, on average while a table of 1.5 times the buckets fills from 53 to 80 percent:
// 1.25 * 3 * ln(1.5).
constexpr double kBucketsPerItem = 1.52;

// Flags and expiry, which few have, are not looked for.
uint32_t RecordBytes(size_t payload_bytes, uint32_t bucket_bytes) {
  if (payload_bytes <= verify::InlineBytesMax(bucket_bytes)) return 0;
  return RecordArea::PlacedBytes(verify::kRecordHeaderBytes + payload_bytes);
}

}  // namespace

void PayloadSizes::Add(size_t payload_bytes) {
  items_ += 1;
  narrow_ += RecordBytes(payload_bytes, verify::kBucketBytesMin);
  wide_ += RecordBytes(payload_bytes, verify::kBucketBytesMax);
}

BucketChoice PayloadSizes::Choice() const {
  if (items_ == 0) return {};
  const auto estimate = [this](double record_bytes, uint32_t bucket_bytes) {
    const double mean = record_bytes / items_;
    return BucketChoice::Estimate{mean, mean + kBucketsPerItem * bucket_bytes};
  };
  return {estimate(narrow_, verify::kBucketBytesMin), estimate(wide_, verify::kBucketBytesMax)};
}

BucketChoice ChooseBuckets(cuckoo::Table* table) {
  const uint64_t bucket_count = table->geometry().bucket_count;
  const uint64_t sampled = std::min(kSampledBuckets, bucket_count);
  const uint64_t step = bucket_count / sampled;
  for (uint64_t i = 0; i < sampled; ++i) table->Prefetch(i * step);
  PayloadSizes sizes;
  for (uint64_t i = 0; i < sampled; ++i) {
    const auto bucket = table->Load(i * step);
    if (!bucket) continue;
    if (bucket->kind() != BucketKind::kInline && bucket->kind() != BucketKind::kReference) continue;
    sizes.Add(verify::PayloadBytes(*bucket));
  }
  return sizes.Choice();
}

}  // namespace plov::server
