// Bucket choice: how wide the buckets of the next table should be, judged by the items of this one.
//
// Narrow buckets are cheap where most items are tiny or large; wide ones hold items of up to 96 bytes
// without a record, which saves a record's memory and a GET's second READ. Bytes an item decide; where
// they are equal, READs do.
//
// Cost: kSampledBuckets cache misses that overlap, some 10 us, once for each growth. No bucket that is
// wide becomes narrow: what it holds inline might not fit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuckoo/table.h"
#include "verify/bucket.h"

namespace plov::server {

struct BucketChoice {
  // Mean bytes of an item's record, and of an item with its share of buckets, if all that fit were
  // inline; 0 where there was nothing to judge.
  struct Estimate {
    double record_bytes = 0;
    double item_bytes = 0;
  };
  Estimate narrow{};
  Estimate wide{};

  bool is_wide() const { return wide.item_bytes != 0 && wide.item_bytes <= narrow.item_bytes; }
};

// Of some items that are typical, the bytes of their keys and values.
class PayloadSizes {
 public:
  void Add(size_t payload_bytes);
  BucketChoice Choice() const;

 private:
  double items_ = 0;
  double narrow_ = 0;  // bytes of records, with narrow buckets
  double wide_ = 0;
};

inline constexpr uint64_t kSampledBuckets = 256;

BucketChoice ChooseBuckets(cuckoo::Table* table);

}  // namespace plov::server
