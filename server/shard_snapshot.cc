#include "server/shard_snapshot.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "verify/mask.h"

namespace plov::server {

using cuckoo::TablePass;
using log::SnapshotBlock;
using log::SnapshotFeed;
using verify::Bucket;
using verify::BucketKind;

namespace {

// A slice: so many buckets are looked at, and so many bytes copied; some 10 us.
constexpr uint64_t kPlacesPerSlice = 32;
constexpr size_t kBytesPerSlice = size_t{32} << 10;

}  // namespace

bool ShardSnapshot::Step() {
  switch (feed_->state()) {
    case SnapshotFeed::State::kIdle:
    case SnapshotFeed::State::kAsked:
    case SnapshotFeed::State::kOver:
      return false;
    case SnapshotFeed::State::kWanted:
      Begin();
      return true;
    case SnapshotFeed::State::kRunning:
      return Read();
    case SnapshotFeed::State::kCancelled:
      Drop();
      feed_->Cancelled();
      return true;
  }
  return false;
}

// Rule S2: the batch of the oldest write that is in the log and not in the table; else the one that the next
// operation goes to.
void ShardSnapshot::Begin() {
  total_ = {};
  total_.last_version = store_->last_version();
  is_read_ = false;
  pass_.emplace(store_->table_to_read(), [this](const Bucket& bucket) { Meet(bucket); });
  feed_->Begin({.batch = log_->BeginSnapshot(store_->first_pending_batch()),
                .items = store_->table().stats().items});
}

// In a slice or in a write.
void ShardSnapshot::Meet(const Bucket& bucket) {
  if (bucket.kind() == BucketKind::kReference) {
    const verify::Reference reference = bucket.reference();
    store_->Hold(reference.offset, reference.record_bytes);
    verify::PrefetchLines(store_->region().data() + reference.offset, reference.record_bytes);
  }
  met_.push_back(bucket);
}

bool ShardSnapshot::Read() {
  if (!block_) block_ = feed_->TakeFree();
  if (!block_) return false;
  size_t budget = kBytesPerSlice;
  while (budget > 0 && !met_.empty()) {
    switch (CopyFirst(&budget)) {
      case Copy::kMore:
        return true;
      case Copy::kDone:
        TakeFirst();
        break;
      case Copy::kFull:
        GiveBlock();
        return true;
      case Copy::kDamaged:
        Fail();
        return true;
    }
  }
  if (budget == 0 || !met_.empty()) return true;
  if (!is_read_) is_read_ = ReadNext();
  if (!is_read_ || !met_.empty()) return true;
  if (log_->durable() < total_.needs_batch) return false;
  if (block_->operations > 0) GiveBlock();
  auto sessions = sessions_pass_->Take();
  Drop();
  feed_->End(total_, std::move(sessions));
  return true;
}

// True when nothing is left.
bool ShardSnapshot::ReadNext() {
  if (pass_) {
    const auto progress = pass_->Step(kPlacesPerSlice);
    if (progress == TablePass::Progress::kDamaged) Fail();
    if (progress != TablePass::Progress::kOver) return false;
    pass_.reset();
    sessions_pass_.emplace(sessions_);
  }
  if (sessions_pass_->Step()) return false;
  total_.sessions_are_all = sessions_pass_->are_all();
  // Rules S3, S4: the last write that anything in it can be of.
  total_.needs_batch = log_->RequestSync();
  total_.bucket_bytes = store_->table().item_bytes();
  total_.time_us = log_->latest_time_us();
  return true;
}

void ShardSnapshot::GiveBlock() { feed_->Give(*std::exchange(block_, std::nullopt)); }

// Room for the item, and its head. False: the block is to be given first.
bool ShardSnapshot::BeginItem(const Store::Hit& hit) {
  const verify::MaskedItem& item = hit.item;
  const size_t bytes = verify::LoggedBytes(item.key_bytes(), item.value_bytes());
  if (block_->bytes + bytes > block_->capacity) {
    if (block_->operations > 0) return false;
    *block_ = SnapshotBlock::OfBytes(verify::kSnapshotBlockHeadBytes + bytes);
  }
  std::array<char, verify::kKeyBytesMax> key;
  const verify::Logged operation{.version = item.version(),
                                 .flags = item.flags(),
                                 .expiry = item.expiry(),
                                 .key = item.CopyKey(key.data())};
  std::byte* at = block_->memory.get() + block_->bytes;
  item_at_ = block_->bytes + verify::EncodeLoggedHead(operation, item.value_bytes(), at);
  copied_ = 0;
  return true;
}

ShardSnapshot::Copy ShardSnapshot::CopyFirst(size_t* budget) {
  const Bucket& bucket = met_.front();
  const auto found = store_->HitOf(bucket);
  if (!found) return Copy::kDamaged;
  const Store::Hit& hit = *found;
  *budget -= std::min(*budget, sizeof(Bucket) + size_t{hit.record_bytes});
  if (hit.item.version() > total_.last_version) return Copy::kDone;
  const bool is_long = hit.item.value_bytes() > verify::kShortValueMax;
  if (!is_long && !store_->IsWhole(bucket)) return Copy::kDamaged;
  if (item_at_ == 0 && !BeginItem(hit)) return Copy::kFull;
  if (is_long) {
    if (const Copy copy = CopyLong(hit, budget); copy != Copy::kDone) return copy;
  } else if (hit.item.value_bytes() > 0) {
    verify::CopyMasked(block_->memory.get() + item_at_, hit.item.stored_value().data(),
                       hit.item.value_bytes(), hit.item.value_mask());
  }
  EndItem(hit);
  return Copy::kDone;
}

// A slice of the value, and of its digest.
ShardSnapshot::Copy ShardSnapshot::CopyLong(const Store::Hit& hit, size_t* budget) {
  *budget = 0;
  if (!digest_) digest_.emplace(store_->DigestOf(hit));
  const auto value = hit.item.stored_value();
  const size_t bytes = std::min(kBytesPerSlice, value.size() - copied_);
  verify::CopyMasked(block_->memory.get() + item_at_ + copied_, value.data() + copied_, bytes,
                     verify::MaskAt(hit.item.value_mask(), copied_));
  copied_ += bytes;
  if (!digest_->Go(kBytesPerSlice)) return Copy::kMore;
  const bool is_whole = store_->IsWhole(hit, digest_->Finish());
  digest_.reset();
  return is_whole ? Copy::kDone : Copy::kDamaged;
}

void ShardSnapshot::EndItem(const Store::Hit& hit) {
  const size_t end = item_at_ + hit.item.value_bytes();
  const size_t padded = verify::RoundUpToWord(end);
  std::memset(block_->memory.get() + end, 0, padded - end);
  block_->bytes = padded;
  ++block_->operations;
  item_at_ = 0;
  ++total_.items;
  total_.payload_bytes += hit.item.payload_bytes();
}

void ShardSnapshot::TakeFirst() {
  const Bucket& bucket = met_.front();
  if (bucket.kind() == BucketKind::kReference) store_->Release(bucket.reference().offset);
  met_.pop_front();
}

void ShardSnapshot::Fail() {
  Drop();
  feed_->Fail();
}

void ShardSnapshot::Drop() {
  pass_.reset();
  sessions_pass_.reset();
  while (!met_.empty()) TakeFirst();
  block_.reset();
  digest_.reset();
  item_at_ = 0;
}

}  // namespace plov::server
