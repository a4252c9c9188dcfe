#include "server/store.h"

#include <algorithm>
#include <array>
#include <span>

#include "verify/record.h"

namespace plov::server {

using verify::Bucket;
using verify::BucketKind;
using verify::ItemView;
using verify::Operation;
using verify::Request;

namespace {

// Writes pay for looking at this many buckets while items with an expiry are stored.
constexpr size_t kSweepPerWrite = 2;

}  // namespace

// An item lives at least its time, so the second is rounded up; at most what the format holds.
ItemView Store::ItemOf(const Request& request, uint64_t version, uint64_t now_us) const {
  uint64_t expiry = 0;
  if (request.ttl_seconds != 0) {
    expiry = (UnixUs(now_us) + 999'999) / 1'000'000 + request.ttl_seconds;
  }
  return {request.key, request.value, version, request.flags,
          static_cast<uint32_t>(std::min<uint64_t>(expiry, UINT32_MAX))};
}

ItemView Store::ItemOf(const Bucket& bucket) const {
  if (bucket.kind() == BucketKind::kInline) return *bucket.inline_item(options_.bucket_bytes);
  return verify::OwnRecord(region_.data(), bucket.reference().offset);
}

// From sealed bytes, so that a damaged record does not spoil the accounts.
uint64_t Store::PayloadBytes(const Bucket& bucket) const {
  if (bucket.kind() == BucketKind::kReference) {
    return bucket.reference().record_bytes - verify::kRecordHeaderBytes;
  }
  const ItemView item = ItemOf(bucket);
  return item.key.size() + item.value.size();
}

bool Store::IsWhole(const Bucket& bucket) const {
  if (bucket.kind() != BucketKind::kReference) return true;
  const verify::Reference reference = bucket.reference();
  return verify::ParseRecord({region_.data() + reference.offset, reference.record_bytes},
                             record_seed_)
      .has_value();
}

// What a damaged record says is not believed where it would hide an item: its key, for a GET that
// finds nothing under the hash, and its expiry. Writes heal other damage by replacing the record.
bool Store::MeetsDamage(Operation operation, const Target& target) {
  if (target.found) {
    const bool relies = operation == Operation::kGet || !target.present;
    return relies && !IsWhole(target.slot.bucket);
  }
  if (operation != Operation::kGet) return false;
  return table_->AnyOf(target.hash, [this, &target](const Bucket& bucket) {
    return bucket.kind() == BucketKind::kReference && bucket.reference().hash == target.hash &&
           !IsWhole(bucket);
  });
}

Code Store::Aim(const Request& request, uint64_t now_us, Target* target) {
  if (request.key.empty() || request.key.size() > verify::kKeyBytesMax) {
    return Code::kInvalidArgument;
  }
  target->hash = HashOf(request.key);
  const auto verdict = table_->Find(target->hash, request.key, &target->slot);
  if (verdict == cuckoo::Table::Verdict::kCorrupt) return Code::kCorrupt;
  target->found = verdict == cuckoo::Table::Verdict::kFound;
  if (target->found) target->item = ItemOf(target->slot.bucket);
  target->present = target->found && !IsExpired(target->item, now_us);
  if (MeetsDamage(request.operation, *target)) return Code::kCorrupt;
  const bool needs_presence = request.conditional || request.operation == Operation::kReplace;
  if (needs_presence && !target->present) return Code::kNotFound;
  if (request.operation == Operation::kAdd && target->present) return Code::kExists;
  if (request.conditional && target->item.version != request.expected_version) {
    return Code::kVersionMismatch;
  }
  return Code::kOk;
}

void Store::Foresee(std::span<const std::string_view> keys) const {
  std::array<uint64_t, kForeseenMax> hashes;
  const size_t count = std::min(keys.size(), hashes.size());
  for (size_t i = 0; i < count; ++i) hashes[i] = HashOf(keys[i]);
  table_->PrefetchItems(std::span(hashes).first(count));
}

WriteReply Store::Refuse(Code status, const Target& target) {
  if (status == Code::kCorrupt) ++stats_.corrupt;
  if (status == Code::kNoSpace) ++stats_.no_space;
  const bool tells_version = status == Code::kExists || status == Code::kVersionMismatch;
  return {status, tells_version ? target.item.version : 0};
}

void Store::Count(Change change, uint64_t payload_bytes, uint32_t expiry) {
  const uint64_t one = expiry != 0 ? 1 : 0;
  if (change == Change::kStored) {
    stats_.payload_bytes += payload_bytes;
    expiring_items_ += one;
  } else {
    stats_.payload_bytes -= payload_bytes;
    // A damaged record may say that it expires when it does not.
    expiring_items_ -= std::min(one, expiring_items_);
  }
}

void Store::Retract(const Target& target) {
  if (!target.found) return;
  Count(Change::kGone, PayloadBytes(target.slot.bucket), target.item.expiry);
  if (target.slot.bucket.kind() != BucketKind::kReference) return;
  verify::RetractLive(
      verify::WordsAt(region_.data(), target.slot.bucket.reference().offset + verify::kWordBytes));
}

void Store::FreeOld(const Target& target) {
  if (!target.found || target.slot.bucket.kind() != BucketKind::kReference) return;
  const verify::Reference reference = target.slot.bucket.reference();
  FreeRecord(reference.offset, reference.record_bytes);
}

// W3 for an overwrite: the old record's `live` to 0, then the bucket, then (by the caller) the
// acknowledgement; the old memory is freed last.
Code Store::Replace(const Target& target, const Bucket& item, uint64_t now_us) {
  if (!target.found) {
    if (table_->Insert(target.hash, item)) return Code::kOk;
    if (growth_->Hurry() && table_->Insert(target.hash, item)) return Code::kOk;
    if (expiring_items_ == 0) return Code::kNoSpace;
    Sweep(kSweepWhenFull, now_us);
    return table_->Insert(target.hash, item) ? Code::kOk : Code::kNoSpace;
  }
  Retract(target);
  table_->Replace(target.slot, item);
  FreeOld(target);
  return Code::kOk;
}

WriteReply Store::Write(const Request& request, uint64_t now_us) {
  if (expiring_items_ > 0) Sweep(kSweepPerWrite, now_us);
  if (request.value.size() > options_.value_bytes_max) return {Code::kTooLarge, 0};
  const ItemView fits = ItemOf(request, 0, now_us);
  if (!verify::InlineFits(fits, options_.bucket_bytes)) {
    const auto prepared = Prepare(request, now_us);
    if (!prepared) return {prepared.error(), 0};
    verify::WriteRecordValue(prepared->shared, request.key.size(), request.value);
    return Commit(*prepared, request, now_us);
  }
  Work(0);
  Target target{};
  if (const Code status = Aim(request, now_us, &target); status != Code::kOk) {
    return Refuse(status, target);
  }
  const ItemView item = ItemOf(request, NextVersion(), now_us);
  Bucket bucket;
  bucket.SetInline(item, options_.bucket_bytes);
  if (const Code status = Replace(target, bucket, now_us); status != Code::kOk) {
    return Refuse(status, target);
  }
  ++stats_.puts;
  Count(Change::kStored, item.key.size() + item.value.size(), item.expiry);
  return {Code::kOk, item.version};
}

std::expected<Store::Prepared, Code> Store::Prepare(const Request& request, uint64_t now_us) {
  if (request.key.empty() || request.key.size() > verify::kKeyBytesMax) {
    return std::unexpected(Code::kInvalidArgument);
  }
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  if (value_bytes > options_.value_bytes_max) return std::unexpected(Code::kTooLarge);
  const size_t record_bytes = verify::RecordBytes(request.key.size(), value_bytes);
  Work(record_bytes);
  const auto offset = AllocateRecord(record_bytes, now_us);
  if (!offset) {
    ++stats_.no_space;
    return std::unexpected(Code::kNoSpace);
  }
  if (request.rendezvous) records_.Pin(*offset, record_bytes);
  return Prepared{*offset, verify::WordsAt(region_.data(), *offset),
                  verify::kRecordHeaderBytes + request.key.size(), record_bytes,
                  request.rendezvous};
}

void Store::Abandon(const Prepared& prepared) {
  if (prepared.pinned) records_.Unpin(prepared.offset, prepared.record_bytes);
  records_.Free(prepared.offset, prepared.record_bytes);
}

// The version is drawn here and not in Prepare, so that versions of a key grow in the order of its
// writes.
WriteReply Store::Commit(const Prepared& prepared, const Request& request, uint64_t now_us) {
  Target target{};
  if (const Code status = Aim(request, now_us, &target); status != Code::kOk) {
    Abandon(prepared);
    return Refuse(status, target);
  }
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  const ItemView item = ItemOf(request, NextVersion(), now_us);
  verify::WriteRecordHead(prepared.shared, item, value_bytes);
  verify::SealRecord(prepared.shared, prepared.record_bytes, record_seed_);
  Bucket bucket;
  bucket.SetReference(
      {target.hash, item.version, prepared.offset, static_cast<uint32_t>(prepared.record_bytes), 0},
      options_.bucket_bytes);
  if (const Code status = Replace(target, bucket, now_us); status != Code::kOk) {
    Abandon(prepared);
    return Refuse(status, target);
  }
  if (prepared.pinned) records_.Unpin(prepared.offset, prepared.record_bytes);
  ++stats_.puts;
  Count(Change::kStored, item.key.size() + value_bytes, item.expiry);
  return {Code::kOk, item.version};
}

void Store::Erase(const Target& target) {
  Retract(target);
  table_->Erase(target.hash, target.slot);
  FreeOld(target);
}

WriteReply Store::Delete(const Request& request, uint64_t now_us) {
  Work(0);
  Target target{};
  if (const Code status = Aim(request, now_us, &target); status != Code::kOk) {
    return Refuse(status, target);
  }
  if (!target.found) return {Code::kNotFound, 0};
  const uint64_t version = target.item.version;
  Erase(target);
  ++stats_.deletes;
  return target.present ? WriteReply{Code::kOk, version} : WriteReply{Code::kNotFound, 0};
}

// A reader that could not verify comes here, so everything is verified as it would.
std::expected<Store::Hit, Code> Store::Get(std::string_view key, uint64_t now_us) {
  ++stats_.fallback_gets;
  Target target{};
  Request request;
  request.operation = Operation::kGet;
  request.key = key;
  if (const Code status = Aim(request, now_us, &target); status != Code::kOk) {
    return std::unexpected(Refuse(status, target).status);
  }
  if (!target.present) return std::unexpected(Code::kNotFound);
  if (target.slot.bucket.kind() == BucketKind::kInline) {
    hit_ = target.slot.bucket;
    return Hit{ItemOf(hit_), 0, 0};
  }
  const verify::Reference reference = target.slot.bucket.reference();
  return Hit{target.item, reference.offset, reference.record_bytes};
}

// Frees expired items, a few buckets at a time, round and round.
void Store::Sweep(size_t buckets, uint64_t now_us) {
  for (size_t i = 0; i < buckets; ++i) {
    if (++sweep_at_ >= table_->current().geometry().bucket_count) sweep_at_ = 0;
    SweepBucket(sweep_at_, now_us);
  }
}

void Store::SweepBucket(uint64_t index, uint64_t now_us) {
  cuckoo::Table& table = table_->current();
  const auto bucket = table.Load(index);
  if (!bucket) return;
  if (bucket->kind() != BucketKind::kInline && bucket->kind() != BucketKind::kReference) return;
  const ItemView item = ItemOf(*bucket);
  if (!IsExpired(item, now_us) || !IsWhole(*bucket)) return;
  const uint64_t hash = table.HashOf(*bucket);
  const auto ways = cuckoo::WaysOf(hash, table.geometry().bucket_count);
  const auto way = static_cast<uint32_t>(std::ranges::find(ways, index) - ways.begin());
  if (way != 0 && !table.Load(ways[0])) return;  // a damaged home cannot un-list it
  Erase({hash, true, false, {&table, index, way, *bucket}, item});
  ++stats_.expired;
}

}  // namespace plov::server
