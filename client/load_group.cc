#include "client/load_group.h"

#include "cuckoo/geometry.h"
#include "cuckoo/location_cache.h"
#include "cuckoo/verdict.h"
#include "verify/words.h"

namespace plov {

using cuckoo::BucketVerdict;
using cuckoo::Location;

namespace {

const cuckoo::Geometry& TableOf(const GetShard& shard) { return shard.context.view->tables[0]; }

cuckoo::RecordCopy CopyRecord(LoadGroup::Slot* slot) {
  verify::CopyFromShared(slot->record.data(), slot->shard->region + slot->offset, slot->bytes);
  ++slot->shard->context.stats->record_reads;
  return {std::as_writable_bytes(std::span(slot->record)).first(slot->bytes),
          {},
          slot->shard->context.view->record_seed};
}

// False: it wants no READ any more.
bool Ends(LoadGroup::Slot* slot, LoadGroup::State state) {
  slot->state = state;
  return false;
}

}  // namespace

void LoadGroup::Begin(std::string_view key, uint64_t hash, const GetShard* shard) {
  Slot* slot = &slots_[count_++];
  slot->key = key;
  slot->hash = hash;
  slot->shard = shard;
  const auto known = shard->context.cache->Find(hash);
  if (!known) {
    WantBucket(slot, State::kHome, 0);
  } else if (known->is_record) {
    WantRecord(slot, State::kKnownRecord, known->offset, known->bytes, known->stamp);
  } else if (static_cast<uint32_t>(TableOf(*shard).generation) == known->stamp) {
    WantBucket(slot, State::kKnownBucket, known->way);
  } else {
    slot->state = State::kBeginAnew;
  }
}

void LoadGroup::BeginAnew(std::string_view key, uint64_t hash, const GetShard* shard) {
  Slot* slot = &slots_[count_++];
  slot->key = key;
  slot->hash = hash;
  slot->shard = shard;
  slot->state = State::kBeginAnew;
}

bool LoadGroup::WantBucket(Slot* slot, State state, uint8_t way) {
  const cuckoo::Geometry& table = TableOf(*slot->shard);
  slot->state = state;
  slot->way = way;
  slot->bucket_index = way == 0 ? cuckoo::HomeOf(slot->hash, table.bucket_count)
                                : cuckoo::WaysOf(slot->hash, table.bucket_count)[way];
  slot->offset = table.BucketOffset(slot->bucket_index);
  const std::byte* from = slot->shard->region + slot->offset;
  verify::Prefetch(from);
  if (table.bucket_bytes > verify::kLineBytes) verify::Prefetch(from + verify::kLineBytes);
  return true;
}

bool LoadGroup::WantRecord(Slot* slot, State state, uint64_t offset, uint32_t bytes,
                           uint64_t version) {
  if (bytes > kRecordBytesMax ||
      !cuckoo::IsRecordsPlace(offset, bytes, slot->shard->context.view->region_bytes)) {
    const bool has_home = state == State::kRecord && slot->state != State::kKnownBucket;
    return Ends(slot, has_home ? State::kHomeToFeed : State::kBeginAnew);
  }
  slot->state = state;
  slot->offset = offset;
  slot->bytes = bytes;
  slot->version = version;
  verify::PrefetchLines(slot->shard->region + offset, bytes);
  return true;
}

void LoadGroup::Read() {
  std::array<Slot*, kCountMax> wanting;
  size_t left = 0;
  for (Slot& slot : all()) {
    if (ReadFirst(&slot)) wanting[left++] = &slot;
  }
  while (left > 0) {
    size_t kept = 0;
    for (size_t i = 0; i < left; ++i) {
      if (ReadNext(wanting[i])) wanting[kept++] = wanting[i];
    }
    left = kept;
  }
}

bool LoadGroup::ReadFirst(Slot* slot) {
  if (slot->state == State::kKnownRecord) return ReadKnownRecord(slot);
  return slot->state != State::kBeginAnew && ReadBucket(slot);
}

bool LoadGroup::ReadNext(Slot* slot) {
  return slot->state == State::kRecord ? ReadRecord(slot) : ReadBucket(slot);
}

bool LoadGroup::ReadKnownRecord(Slot* slot) {
  ++slot->shard->context.stats->known_reads;
  const auto record = CopyRecord(slot);
  if (!cuckoo::IsRemembered(record, static_cast<uint32_t>(slot->version), slot->key, &slot->item)) {
    return ForgetKnown(slot);
  }
  return Ends(slot, State::kHit);
}

bool LoadGroup::ReadRecord(Slot* slot) {
  const auto record = CopyRecord(slot);
  const auto& context = slot->shard->context;
  if (cuckoo::CheckReferred(record, slot->version, slot->key, &slot->item) !=
      cuckoo::RecordVerdict::kItem) {
    ++context.stats->torn_records;
    ++context.stats->restarts;
    return Ends(slot, State::kBeginAnew);
  }
  context.cache->Remember(slot->hash, Location::Record(slot->offset, slot->bytes, slot->version));
  return Ends(slot, State::kHit);
}

bool LoadGroup::ReadBucket(Slot* slot) {
  const auto& context = slot->shard->context;
  const cuckoo::Geometry& table = TableOf(*slot->shard);
  const bool known = slot->state == State::kKnownBucket;
  verify::Bucket* bucket = &slot->buckets[slot->state == State::kWay ? 1 : 0];
  verify::CopyBucketFromShared(bucket, slot->shard->region + slot->offset, table.bucket_bytes);
  ++context.stats->bucket_reads;
  if (known) ++context.stats->known_reads;
  if (!bucket->Whole(table.bucket_bytes, table.SeedOf(slot->bucket_index))) {
    return OnNotHere(slot, false);
  }
  switch (cuckoo::CheckBucket(bucket, table.bucket_bytes, slot->key, slot->hash, &slot->item)) {
    case BucketVerdict::kInline:
      if (!known) {
        context.cache->Remember(slot->hash, Location::Bucket(slot->way, table.generation));
      }
      return Ends(slot, State::kHit);
    case BucketVerdict::kReference: {
      const verify::Reference reference = bucket->reference();
      return WantRecord(slot, State::kRecord, reference.offset, reference.record_bytes,
                        reference.version);
    }
    case BucketVerdict::kNotHere:
      return OnNotHere(slot, slot->state == State::kHome);
    case BucketVerdict::kRetired:
      break;
  }
  return OnNotHere(slot, false);
}

// A key that the home lists and no way holds has a second look at the home, which is not plain.
bool LoadGroup::OnNotHere(Slot* slot, bool home_tells) {
  if (slot->state == State::kKnownBucket) return ForgetKnown(slot);
  if (!home_tells) return Ends(slot, State::kHomeToFeed);
  const verify::Bucket& home = slot->buckets[0];
  const uint8_t ways = cuckoo::WaysListed(home, slot->hash);
  if (ways != 0) return WantBucket(slot, State::kWay, (ways & 0b10) != 0 ? 1 : 2);
  return Ends(slot, home.forward() || home.stashed() ? State::kHomeToFeed : State::kAbsent);
}

bool LoadGroup::ForgetKnown(Slot* slot) {
  const auto& context = slot->shard->context;
  ++context.stats->known_misses;
  ++context.stats->restarts;
  context.cache->Forget(slot->hash);
  return WantBucket(slot, State::kHome, 0);
}

}  // namespace plov
