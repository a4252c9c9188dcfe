#include "server/store.h"

#include <algorithm>
#include <array>
#include <span>

#include "verify/record.h"

namespace plov::server {

using verify::Bucket;
using verify::BucketKind;
using verify::ItemView;
using verify::MaskedItem;
using verify::Operation;
using verify::Request;

// An item lives at least its time, so the second is rounded up; at most what the format holds.
ItemView Store::ItemOf(const Request& request, uint64_t now_us) const {
  uint64_t expiry = restored_ != nullptr ? restored_->expiry : request.expiry;
  if (request.ttl_seconds != 0) {
    expiry = (UnixUs(now_us) + 999'999) / 1'000'000 + request.ttl_seconds;
  }
  return {request.key, request.value, 0, request.flags,
          static_cast<uint32_t>(std::min<uint64_t>(expiry, UINT32_MAX))};
}

std::optional<Store::Hit> Store::HitOf(const Bucket& bucket) const {
  const MaskedItem item = items_.Of(bucket);
  if (bucket.kind() != BucketKind::kReference) return Hit{item, 0, 0};
  const verify::Reference reference = bucket.reference();
  const bool is_meant =
      item.version() == reference.version &&
      verify::RecordBytes(item.key_bytes(), item.value_bytes()) == reference.record_bytes;
  if (!is_meant) return std::nullopt;
  return Hit{item, reference.offset, reference.record_bytes};
}

// What a damaged record says is not believed where it would hide an item: its key, for a GET that
// finds nothing under the hash, and its expiry. Writes heal other damage by replacing the record,
// and Get looks for itself.
bool Store::MeetsDamage(Operation operation, const Target& target) {
  if (target.found) {
    return !target.present && !IsWhole(target.slot.bucket);
  }
  if (operation != Operation::kGet) return false;
  return table_->AnyOf(target.hash, [this, &target](const Bucket& bucket) {
    return bucket.kind() == BucketKind::kReference && bucket.reference().hash == target.hash &&
           !IsWhole(bucket);
  });
}

Code Store::FindPublished(const Request& request, uint64_t now_us, Target* target) {
  const auto found = table_->Find(target->hash, request.key, &target->slot);
  if (found == cuckoo::Table::FindResult::kCorrupt) return Code::kCorrupt;
  target->found = found == cuckoo::Table::FindResult::kFound;
  if (target->found) {
    target->item = items_.Of(target->slot.bucket);
    target->version = target->item.version();
  }
  target->present =
      target->found && !OwnItems::IsExpired(target->item.expiry(), UnixSeconds(now_us));
  return MeetsDamage(request.operation, *target) ? Code::kCorrupt : Code::kOk;
}

Code Store::FindTarget(const Request& request, uint64_t now_us, Target* target) {
  if (request.key.empty() || request.key.size() > verify::kKeyBytesMax) {
    return Code::kInvalidArgument;
  }
  target->hash = HashOf(request.key);
  const bool writes = request.operation != Operation::kGet;
  if (const PendingWrite* pending = writes ? pending_.Last(target->hash) : nullptr) {
    target->present = target->found = pending->item.has_value();
    target->version = pending->version;
  } else if (const Code status = FindPublished(request, now_us, target); status != Code::kOk) {
    return status;
  }
  const bool needs_presence = request.conditional || request.operation == Operation::kReplace;
  if (needs_presence && !target->present) return Code::kNotFound;
  if (request.operation == Operation::kAdd && target->present) return Code::kExists;
  if (request.conditional && target->version != request.expected_version) {
    return Code::kVersionMismatch;
  }
  return Code::kOk;
}

Code Store::Find(Operation operation, std::string_view key, uint64_t now_us, Target* target) {
  Request request;
  request.operation = operation;
  request.key = key;
  const Code status = FindTarget(request, now_us, target);
  return status == Code::kOk ? status : Refuse(status, *target).status;
}

void Store::Prefetch(std::span<const std::string_view> keys) const {
  std::array<uint64_t, kPrefetchedMax> hashes;
  const size_t count = std::min(keys.size(), hashes.size());
  for (size_t i = 0; i < count; ++i) hashes[i] = HashOf(keys[i]);
  table_->PrefetchItems(std::span(hashes).first(count));
}

WriteReply Store::Refuse(Code status, const Target& target) {
  if (status == Code::kCorrupt) ++stats_.corrupt;
  if (status == Code::kNoSpace) ++stats_.no_space;
  const bool tells_version = status == Code::kExists || status == Code::kVersionMismatch;
  return tells_version ? WriteReply{status, target.version} : Refusal(status);
}

WriteReply Store::Refusal(Code status) const {
  const bool host_is_full = status == Code::kNoSpace && region_.host().refuses();
  return {status, host_is_full ? verify::kHostIsFull : 0};
}

WriteReply Store::RefuseForOther() {
  ++stats_.no_space;
  return {Code::kNoSpace, 0};
}

void Store::Count(Change change, uint64_t payload_bytes, uint32_t expiry) {
  if (change == Change::kStored) {
    stats_.payload_bytes += payload_bytes;
    sweeper_->OnStored(expiry);
  } else {
    stats_.payload_bytes -= payload_bytes;
    sweeper_->OnGone(expiry);
  }
}

void Store::Retract(const Target& target) {
  if (!target.found) return;
  Count(Change::kGone, verify::PayloadBytes(target.slot.bucket), target.item.expiry());
  if (target.slot.bucket.kind() == BucketKind::kReference) Retract(target.slot.bucket.reference());
}

void Store::FreeOld(const Target& target) {
  if (!target.found || target.slot.bucket.kind() != BucketKind::kReference) return;
  const verify::Reference reference = target.slot.bucket.reference();
  if (rewrites_.keeps()) return free_later_.push_back(reference);
  Free(reference);
}

// W3 for an overwrite: the old record's `live` to 0, then the bucket, then (by the caller) the
// acknowledgement; the old memory is freed last.
void Store::Overwrite(const Target& target, const Bucket& item) {
  Retract(target);
  table_->Replace(target.slot, item);
  FreeOld(target);
}

// nullopt: again.
std::optional<Code> Store::Replace(const Target& target, const Bucket& item, uint64_t now_us,
                                   RoomSearch* room) {
  if (!target.found) return Insert(target.hash, item, now_us, room);
  Overwrite(target, item);
  return Code::kOk;
}

std::optional<Code> Store::Insert(uint64_t hash, const Bucket& item, uint64_t now_us,
                                  RoomSearch* room) {
  if (room->tried != Chances()) {
    const uint64_t stashed = table_->stash().size();
    const bool stored = table_->Insert(hash, item);
    if (!stored || table_->stash().size() != stashed) {  // no path was found
      work_bytes_ += cuckoo::kPathNodesMax * table_->item_bytes();
    }
    if (stored) return Code::kOk;
    room->tried = Chances();
  }
  if (MakeRoom(room, 0, now_us)) return std::nullopt;
  return Code::kNoSpace;
}

WriteReply Store::Write(const Request& request, uint64_t now_us) {
  Writing writing;
  std::optional<WriteReply> reply;
  while (!reply) reply = Write(request, now_us, &writing);
  return *reply;
}

std::optional<WriteReply> Store::Write(const Request& request, uint64_t now_us, Writing* writing) {
  if (request.value.size() > options_.value_bytes_max) return WriteReply{Code::kTooLarge, 0};
  if (!writing->place) {
    if (FitsInline(request, now_us)) return WriteInline(request, now_us, writing);
    const auto status = Prepare(request, now_us, writing);
    if (!status) return std::nullopt;
    if (*status != Code::kOk) return Refusal(*status);
    verify::WriteRecordValue(writing->place->shared, request.key.size(), request.value,
                             writing->mask);
  }
  return Commit(request, now_us, writing);
}

Bucket Store::InlineItem(const Request& request, uint64_t now_us, ItemView* item) {
  *item = ItemOf(request, now_us);
  item->version = NextVersion();
  item->mask = masks_.Next();
  Bucket bucket;
  bucket.SetInline(*item, verify::kBucketBytesMax);
  return bucket;
}

std::optional<WriteReply> Store::WriteInline(const Request& request, uint64_t now_us,
                                             Writing* writing) {
  SweepIfDue(kSweepPerWrite, now_us);
  if (!Work(&writing->room, 0) || StillFull(&writing->room, now_us)) return std::nullopt;
  Target target{};
  if (const Code status = FindTarget(request, now_us, &target); status != Code::kOk) {
    return Refuse(status, target);
  }
  ItemView item;
  const Bucket bucket = InlineItem(request, now_us, &item);
  return Apply(request, now_us, {target, bucket, item}, writing);
}

std::optional<WriteReply> Store::Apply(const Request& request, uint64_t now_us,
                                       const Settled& settled, Writing* writing) {
  if (defers_) return Defer(request, now_us, settled, writing);
  const auto& [target, item, view] = settled;
  if (keeps_tail()) tail_->Intend(view.version, writing->client_id, request.sequence);
  const auto status = Replace(target, item, now_us, &writing->room);
  if (!status) return std::nullopt;
  if (*status != Code::kOk) {
    Abandon(writing);
    return Refuse(*status, target);
  }
  LogPut(request, view, writing);
  if (writing->place) {
    records_.Unpin(writing->place->offset, writing->place->record_bytes);
    writing->place.reset();
  }
  ++stats_.puts;
  Count(Change::kStored, verify::PayloadBytes(item), view.expiry);
  return WriteReply{Code::kOk, view.version};
}

void Store::Erase(const Target& target) {
  Retract(target);
  table_->Erase(target.hash, target.slot);
  FreeOld(target);
}

WriteReply Store::Delete(const Request& request, uint64_t now_us, uint64_t client_id) {
  RoomSearch share;
  Work(&share, 0);
  Target target{};
  if (const Code status = FindTarget(request, now_us, &target); status != Code::kOk) {
    if (status == Code::kNotFound && target.found) EraseExpired(target);
    return Refuse(status, target);
  }
  if (!target.found) return {Code::kNotFound, 0};
  if (!target.present) {
    EraseExpired(target);
    return {Code::kNotFound, 0};
  }
  const uint64_t own_version = LogDelete(request, client_id);
  if (defers_) {
    pending_.Add(PendingDelete(request.key, target.hash, own_version));
  } else {
    Erase(target);
    ++stats_.deletes;
  }
  return {Code::kOk, target.version};
}

// A reader that could not verify comes here, so everything is verified as it would.
std::expected<Store::Hit, Code> Store::Get(std::string_view key, uint64_t now_us,
                                           size_t verified_bytes_max) {
  ++stats_.fallback_gets;
  Target target{};
  if (const Code status = Find(Operation::kGet, key, now_us, &target); status != Code::kOk) {
    return std::unexpected(status);
  }
  if (!target.present) {
    if (target.found) EraseExpired(target);  // it was verified, which is not to be done again
    return std::unexpected(Code::kNotFound);
  }
  return VerifiedHit(target.slot.bucket, verified_bytes_max);
}

std::expected<Store::Hit, Code> Store::Current(std::string_view key, uint64_t now_us,
                                               size_t verified_bytes_max) {
  Target target{};
  if (const Code status = Find(Operation::kPut, key, now_us, &target); status != Code::kOk) {
    return std::unexpected(status);
  }
  if (!target.present) return std::unexpected(Code::kNotFound);
  const PendingWrite* pending = pending_.Last(target.hash);
  return VerifiedHit(pending != nullptr ? *pending->item : target.slot.bucket, verified_bytes_max);
}

std::expected<Store::Hit, Code> Store::VerifiedHit(const Bucket& bucket,
                                                   size_t verified_bytes_max) {
  if (bucket.kind() == BucketKind::kInline) {
    hit_ = bucket;
    return Hit{items_.Of(hit_), 0, 0};
  }
  const verify::Reference reference = bucket.reference();
  if (reference.record_bytes <= verified_bytes_max) {
    work_bytes_ += reference.record_bytes;
    if (!IsWhole(bucket)) {
      ++stats_.corrupt;
      return std::unexpected(Code::kCorrupt);
    }
  }
  return Hit{items_.Of(bucket), reference.offset, reference.record_bytes};
}

void Store::SweepIfDue(size_t buckets, uint64_t now_us) {
  const uint64_t now_seconds = UnixSeconds(now_us);
  if (sweeper_->due(now_seconds)) work_bytes_ += sweeper_->Sweep(buckets, now_seconds);
}

void Store::EraseExpired(const Target& target) {
  if (pending_.Last(target.hash) != nullptr) return;  // it is about to be replaced
  if (keeps_tail() && !NoteExpired(target)) return;
  Erase(target);
  ++stats_.expired;
}

}  // namespace plov::server
