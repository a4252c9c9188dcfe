// OwnItems: what buckets of the shard's own memory lead to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verify/bucket.h"
#include "verify/record.h"

namespace plov::server {

class OwnItems {
 public:
  // region: outlives it.
  OwnItems(const std::byte* region, uint64_t record_seed)
      : region_(region), record_seed_(record_seed) {}

  // In place; of an occupied bucket.
  verify::MaskedItem Of(const verify::Bucket& bucket) const {
    return verify::OwnItem(region_, bucket);
  }
  // Whether the record that it leads to is whole, if there is one.
  bool IsWhole(const verify::Bucket& bucket) const {
    if (bucket.kind() != verify::BucketKind::kReference) return true;
    const verify::Reference reference = bucket.reference();
    return verify::CheckRecord({region_ + reference.offset, reference.record_bytes}, record_seed_)
        .has_value();
  }
  static bool IsExpired(uint32_t expiry, uint64_t now_seconds) {
    return expiry != 0 && expiry <= now_seconds;
  }

 private:
  const std::byte* region_;
  uint64_t record_seed_;
};

}  // namespace plov::server
