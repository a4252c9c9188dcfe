#include "server/sweeper.h"

namespace plov::server {

using verify::Bucket;

size_t Sweeper::Sweep(size_t buckets, uint64_t now_seconds) {
  if (walk_.Follow()) expiries_.EndRound(false);
  const size_t bytes = buckets * table_->current().geometry().bucket_bytes;
  for (; buckets > 0; --buckets) {
    const auto place = walk_.Next(
        [this, now_seconds](const Bucket& bucket) { return IsToBeErased(bucket, now_seconds); });
    if (place) erase_(place->hash, place->slot);
    if (!walk_.is_at_begin()) continue;
    expiries_.EndRound(true);
    if (!due(now_seconds)) break;
  }
  return bytes;
}

// Whether its item has expired; notes when it will.
bool Sweeper::IsToBeErased(const Bucket& bucket, uint64_t now_seconds) {
  const verify::MaskedItem item = items_->Of(bucket);
  if (item.expiry() == 0) return false;
  if (OwnItems::IsExpired(item.expiry(), now_seconds) && items_->IsWhole(bucket)) return true;
  expiries_.See(item.expiry());
  return false;
}

}  // namespace plov::server
