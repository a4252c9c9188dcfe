#include "cuckoo/lookup.h"

#include <cassert>

#include "cuckoo/verdict.h"
#include "verify/record.h"

namespace plov::cuckoo {

using verify::Bucket;

Lookup::Action Lookup::Start(const Context* context, std::string_view key, uint64_t hash,
                             uint64_t posted_us) {
  Begin(context, key, hash, posted_us);
  if (const auto known = context->cache->Find(hash)) return StartKnown(*known);
  return GoHome();
}

Lookup::Action Lookup::StartAtHome(const Context* context, std::string_view key, uint64_t hash,
                                   uint64_t posted_us) {
  Begin(context, key, hash, posted_us);
  return GoHome();
}

void Lookup::Begin(const Context* context, std::string_view key, uint64_t hash,
                   uint64_t posted_us) {
  context_ = context;
  key_ = key;
  hash_ = hash;
  attempts_ = 0;
  torn_count_ = 0;
  torn_alike_ = false;
  torn_digest_ = 0;
  home_posted_us_ = posted_us;
  table_ = 0;
  absence_ = {};
}

// Most lookups end at home, so the other ways are computed when they are wanted.
Lookup::Action Lookup::ReadWay(State state, uint8_t way) {
  const Geometry& in = table();
  state_ = state;
  way_ = way;
  index_ = way == 0 ? HomeOf(hash_, in.bucket_count) : WaysOf(hash_, in.bucket_count)[way];
  want_ = {in.BucketOffset(index_), in.bucket_bytes, false};
  ++context_->stats->bucket_reads;
  return Action::kRead;
}

Lookup::Action Lookup::ReadRecord(State state, uint64_t offset, uint32_t bytes) {
  if (!IsRecordsPlace(offset, bytes, context_->view->region_bytes)) {
    torn_alike_ = true;
    torn_count_ = UINT32_MAX;
    return Action::kAskServer;
  }
  state_ = state;
  want_ = {offset, bytes, true};
  ++context_->stats->record_reads;
  return Action::kRead;
}

// R4. Locations come from verified bytes of this incarnation (the cache is cleared with it), so
// offsets are inside the region.
Lookup::Action Lookup::StartKnown(const Location& known) {
  ++context_->stats->known_reads;
  if (known.is_record) {
    known_stamp_ = known.stamp;
    return ReadRecord(State::kKnownRecord, known.offset, known.bytes);
  }
  for (table_ = 0; table_ < context_->view->tables.size(); ++table_) {
    if (table().generation == 0 || static_cast<uint32_t>(table().generation) != known.stamp) {
      continue;
    }
    return ReadWay(State::kKnownBucket, known.way);
  }
  return ForgetKnown();
}

Lookup::Action Lookup::ForgetKnown() {
  ++context_->stats->known_misses;
  context_->cache->Forget(hash_);
  return StartOver();
}

Lookup::Action Lookup::GoHome() { return ReadWay(State::kHome, 0); }

// Begins again from the first table, as new. The clock is asked first: it must not be later than
// the READ.
Lookup::Action Lookup::StartOver() {
  ++context_->stats->restarts;
  home_posted_us_ = context_->now_us();
  table_ = 0;
  return GoHome();
}

// After a miss the key may be stashed, which the server knows (R10), or under `forward` in the next
// generation (R5).
Lookup::Action Lookup::Miss() {
  if (stashed_) return Action::kAskServer;
  if (!forward_) {
    absence_.generation = table().generation;
    absence_.home_version = home_version_;
    return Action::kAbsent;
  }
  if (table_ == 1 || context_->view->tables[1].generation == 0) return Action::kRefresh;
  home_posted_us_ = context_->now_us();
  table_ = 1;
  return GoHome();
}

Lookup::Action Lookup::FeedBucket(Bucket* bucket) {
  bucket_ = bucket;
  bucket_state_ = state_;
  const uint32_t bytes = table().bucket_bytes;
  if (!bucket->Whole(bytes, table().SeedOf(index_))) {
    ++context_->stats->torn_buckets;
    if (state_ == State::kKnownBucket) return ForgetKnown();
    return Torn(std::as_bytes(std::span(bucket->words(), bytes / verify::kWordBytes)));
  }
  switch (CheckBucket(bucket, bytes, key_, hash_, &item_)) {
    case BucketVerdict::kRetired:
      return Action::kRefresh;
    case BucketVerdict::kInline:
      if (state_ != State::kKnownBucket) {
        context_->cache->Remember(hash_, Location::Bucket(way_, table().generation));
      }
      return Action::kHit;
    case BucketVerdict::kReference: {
      const verify::Reference reference = bucket->reference();
      expected_version_ = reference.version;
      return ReadRecord(State::kRecord, reference.offset, reference.record_bytes);
    }
    case BucketVerdict::kNotHere:
      break;
  }
  return OnNotHere();
}

Lookup::Action Lookup::OnNotHere() {
  switch (bucket_state_) {
    case State::kKnownBucket:
      return ForgetKnown();
    case State::kHome:
      return OnHome();
    case State::kConfirm:
      return OnConfirm();
    default:
      absence_.way_versions[way_ - 1] = bucket_->version();
      return OnWay();
  }
}

// R2 and the first half of R3.
Lookup::Action Lookup::OnHome() {
  home_version_ = bucket_->version();
  forward_ = bucket_->forward();
  stashed_ = bucket_->stashed();
  pending_ways_ = WaysListed(*bucket_, hash_);
  absence_.way_versions = {};
  if (pending_ways_ == 0) return Miss();
  return OnWay();
}

// The next listed way, or the confirmation when all have been looked at.
Lookup::Action Lookup::OnWay() {
  for (uint8_t way = 1; way < kWays; ++way) {
    if ((pending_ways_ & 1u << way) == 0) continue;
    pending_ways_ = static_cast<uint8_t>(pending_ways_ & ~(1u << way));
    return ReadWay(State::kWay, way);
  }
  if (stashed_) return Miss();
  ++context_->stats->confirmations;
  confirm_posted_us_ = context_->now_us();
  return ReadWay(State::kConfirm, 0);
}

// The second half of R3: an unchanged home means that the key was nowhere while the ways were read.
Lookup::Action Lookup::OnConfirm() {
  const bool aged = context_->now_us() - home_posted_us_ > kConfirmationUsMax;
  if (bucket_->version() == home_version_ && !aged) return Miss();
  ++context_->stats->restarts;
  torn_alike_ = false;  // somebody writes here
  home_posted_us_ = confirm_posted_us_;
  bucket_state_ = State::kHome;  // what was READ is a new first READ of the home
  ++attempts_;
  return attempts_ > kImmediateRereads + kPausedRereads ? Action::kAskServer : OnHome();
}

Lookup::Action Lookup::OnKnownRecord(const RecordCopy& record) {
  return IsRemembered(record, known_stamp_, key_, &item_) ? Action::kHit : ForgetKnown();
}

// The record that the bucket meant, or back to the bucket.
Lookup::Action Lookup::OnRecord(const RecordCopy& record) {
  switch (CheckReferred(record, expected_version_, key_, &item_)) {
    case RecordVerdict::kTorn:
      ++context_->stats->torn_records;
      return Torn(record.bytes);
    case RecordVerdict::kOtherKey:
      return OnNotHere();
    case RecordVerdict::kItem:
      break;
  }
  context_->cache->Remember(hash_, Location::Record(want_.offset, want_.bytes, expected_version_));
  return Action::kHit;
}

Lookup::Action Lookup::FeedRecord(std::span<std::byte> bytes, std::span<std::byte> tail) {
  assert(bytes.size() + tail.size() == want_.bytes);
  const RecordCopy record{bytes, tail, context_->view->record_seed};
  return state_ == State::kKnownRecord ? OnKnownRecord(record) : OnRecord(record);
}

// R6: torn bytes are READ again, a torn record by way of its bucket: never loop on the record.
// Bytes that never change are no writer's work; the server is told to look.
Lookup::Action Lookup::Torn(std::span<const std::byte> bytes) {
  const uint64_t digest = verify::Checksum(bytes.data(), bytes.size(), want_.offset);
  torn_alike_ = torn_count_ == 0 || (torn_alike_ && digest == torn_digest_);
  torn_digest_ = digest;
  ++torn_count_;
  if (++attempts_ > kImmediateRereads + kPausedRereads) return Action::kAskServer;
  if (state_ == State::kRecord) {
    StartOver();
  } else {
    ++context_->stats->bucket_reads;
  }
  if (attempts_ <= kImmediateRereads) return Action::kRead;
  // Between half and all of 1, 2, 4 ... us: readers of one hot key must not come back in step.
  const uint64_t most = uint64_t{1} << (attempts_ - kImmediateRereads);
  const uint64_t jitter = verify::Mix(hash_ ^ context_->now_us());
  pause_us_ = static_cast<uint32_t>(most - Scale(jitter, most / 2 + 1));
  return Action::kPause;
}

}  // namespace plov::cuckoo
