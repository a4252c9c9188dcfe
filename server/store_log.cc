// The store's log: what of a write is appended to it, and how what it holds is restored.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "server/store.h"
#include "verify/mask.h"
#include "verify/record.h"

namespace plov::server {

using verify::ItemView;
using verify::Logged;
using verify::Operation;
using verify::Request;

namespace {

// Tables leave this part of the memory to inserts that are not published yet.
constexpr size_t kKeptForPending = 64;

}  // namespace

// The settled bytes of a value that was READ lie in its record, under the item's own mask.
void Store::CopyForLog(Writing* writing) {
  const Writing::Place& place = *writing->place;
  const size_t value_bytes = place.record_bytes - place.at;
  if (!writing->logged) {
    writing->logged = std::make_shared<log::Piece>(log::Piece::OfBytes(value_bytes));
    writing->copied_bytes = 0;
  }
  const size_t from = writing->copied_bytes;
  const size_t at = place.at + from;
  verify::CopyMasked(writing->logged->memory.get() + from, region_.data() + place.offset + at,
                     writing->settled_bytes - from, verify::MaskAt(writing->mask.word(), at));
  writing->copied_bytes = writing->settled_bytes;
}

void Store::LogPut(const Request& request, const ItemView& item, Writing* writing) {
  if (log_ == nullptr) return;
  const Logged operation{.kind = Logged::Kind::kPut,
                         .version = item.version,
                         .client_id = writing->client_id,
                         .sequence = request.sequence,
                         .flags = item.flags,
                         .expiry = item.expiry,
                         .key = request.key,
                         .value = request.value};
  if (request.rendezvous && !writing->logged) {  // a short one came under its own mask
    writing->settled_bytes = request.value_bytes;
    CopyForLog(writing);
  }
  if (writing->logged) {
    log_->Append(operation, std::move(*writing->logged));
    writing->logged.reset();
  } else {
    log_->Append(operation);
  }
  if (!keeps_tail()) return;
  tail_->Add({item.version, writing->client_id, request.sequence}, log_->last_batch());
  if (!tail_->announces()) tail_->SetPublished(item.version);
}

uint64_t Store::LogDelete(const Request& request, uint64_t client_id) {
  if (log_ == nullptr) return 0;
  const uint64_t version = NextVersion();
  AppendDelete(request, version, client_id);
  return version;
}

void Store::AppendDelete(const Request& request, uint64_t version, uint64_t client_id) {
  log_->Append({.kind = Logged::Kind::kDelete,
                .version = version,
                .client_id = client_id,
                .sequence = request.sequence,
                .key = request.key});
  if (keeps_tail()) {
    tail_->Add({version, client_id, request.sequence, request.key}, log_->last_batch());
  }
}

bool Store::TailHasRoom() {
  if (!keeps_tail()) return true;
  const bool has_room = tail_->HasRoom(log_->durable());
  if (tail_->is_half_full()) log_->RequestSync();
  return has_room;
}

// An item that the disk has not is gone all the same: what it replaced would be there again. False: the disk
// is to have it first.
bool Store::NoteExpired(const Target& target) {
  const uint64_t version = target.item.version();
  if (version <= tail_->durable_version()) return true;
  if (!TailHasRoom()) return false;
  std::array<char, verify::kKeyBytesMax> key;
  tail_->Add({.version = version, .key = target.item.CopyKey(key.data())}, log_->last_batch());
  return true;
}

Code Store::Restore(const Logged& operation, uint64_t now_us) {
  if (recovery_.warm && HasNewer(operation)) return Code::kOk;
  const Code status = Apply(operation, now_us);
  ForgetHistory();
  return status;
}

// Memory that was full with these items may be too small for them in another order, or in a table that has
// grown at other times. An item that has expired meanwhile is not stored, but what it replaced is gone.
Code Store::Apply(const Logged& operation, uint64_t now_us) {
  if (!Owns(operation.key)) return Code::kNoShard;
  superblock_.Pass(operation.version);
  region_.set_slack_bytes(region_.budget_bytes() / 100 * kExcessPercentMax);
  const bool has_expired = operation.expiry != 0 && operation.expiry <= UnixSeconds(now_us);
  const StoreStats before = stats_;
  restored_ = &operation;
  Request request;
  request.key = operation.key;
  WriteReply reply;
  if (operation.kind == Logged::Kind::kDelete || has_expired) {
    request.operation = Operation::kDelete;
    reply = Delete(request, now_us);
    if (reply.status == Code::kNotFound) reply.status = Code::kOk;
  } else {
    request.operation = Operation::kPut;
    request.flags = operation.flags;
    request.value = operation.value;
    reply = Write(request, now_us);
  }
  restored_ = nullptr;
  stats_.puts = before.puts;
  stats_.deletes = before.deletes;
  return reply.status;
}

bool Store::HasNewer(const Logged& operation) {
  cuckoo::Table::Slot slot;
  return table_->Find(HashOf(operation.key), operation.key, &slot) ==
             cuckoo::Table::FindResult::kFound &&
         items_.Of(slot.bucket).version() > operation.version;
}

void Store::LogTo(log::CommitLog* log, log::CommitMode mode, WarmTail* tail) {
  region_.set_slack_bytes(0);
  log_ = log;
  tail_ = tail;
  defers_ = mode == log::CommitMode::kStrict;
  // Until it is published every insert has a place in the stash, also while two tables take all other memory.
  if (defers_) growth_->set_kept_bytes(memory_.budget_bytes() / kKeptForPending);
}

void Store::EndLog() {
  while (!pending_.empty()) {
    if (const auto& place = pending_.first().place) GiveBack(*place);
    pending_.RemoveFirst();
  }
  log_ = nullptr;
  tail_ = nullptr;
  defers_ = false;
}

bool Store::MayWrite(const Request& request) {
  if (pending_.empty()) return true;
  PendingWrite* last = pending_.Last(HashOf(request.key));
  if (last == nullptr) return true;
  const bool asks = request.conditional || request.compares || request.operation != Operation::kPut;
  if (last->key != request.key || (asks && last->expiry != 0)) last->awaited = true;
  return !last->awaited;
}

// Rule D3, strict: the outcome is settled and in the log; the table changes once that is durable. Until then
// it decides what becomes of the key's next write.
std::optional<WriteReply> Store::Defer(const Request& request, uint64_t now_us,
                                       const Settled& settled, Writing* writing) {
  const auto& [target, item, view] = settled;
  // An insert must not fail when it is published: what finds no bucket then has a place in the stash
  // that nobody else takes.
  if (!target.found && !MakeStashRoom(request.key.size(), false)) {
    if (MakeRoom(&writing->room, 0, now_us)) return std::nullopt;
    Abandon(writing);
    return Refuse(Code::kNoSpace, target);
  }
  LogPut(request, view, writing);
  pending_.Add(PendingPut(request, settled, writing));
  return WriteReply{Code::kOk, view.version};
}

PendingWrite Store::PendingPut(const Request& request, const Settled& settled,
                               Writing* writing) const {
  const auto& [target, item, view] = settled;
  return {.batch = log_ == nullptr ? 0 : log_->last_batch(),
          .version = view.version,
          .hash = target.hash,
          .key = std::string(request.key),
          .item = item,
          .inserts = !target.found,
          .payload_bytes = verify::PayloadBytes(item),
          .expiry = view.expiry,
          .place = std::exchange(writing->place, std::nullopt)};
}

PendingWrite Store::PendingDelete(std::string_view key, uint64_t hash, uint64_t version) const {
  return {.batch = log_ == nullptr ? 0 : log_->last_batch(),
          .version = version,
          .hash = hash,
          .key = std::string(key),
          .item = std::nullopt,
          .inserts = false,
          .payload_bytes = 0,
          .expiry = 0,
          .place = std::nullopt};
}

bool Store::PublishDurable(size_t count_max) {
  if (pending_.empty()) return false;
  const uint64_t durable = log_->durable();
  size_t count = 0;
  while (count < count_max && pending_.first_batch() <= durable) {
    const size_t together = pending_.first().together;
    if (together > 1) {
      PublishTogether(together);
    } else {
      PublishFirst();
    }
    count += together;
  }
  return count > 0;
}

void Store::PublishFirst() {
  Publish(pending_.first());
  if (tail_ != nullptr) {
    tail_->SetPublished(pending_.first().version);
    tail_->SetDurable(pending_.first().version);
  }
  pending_.RemoveFirst();
}

// The slot is looked for anew, for records and buckets have moved since.
void Store::Publish(const PendingWrite& pending) {
  Target target{};
  target.hash = pending.hash;
  const auto found = table_->Find(target.hash, pending.key, &target.slot);
  target.found = found == cuckoo::Table::FindResult::kFound;
  if (target.found) target.item = items_.Of(target.slot.bucket);
  if (pending.item) {
    PublishPut(pending, target);
  } else if (target.found) {
    Erase(target);
    ++stats_.deletes;
  }
}

void Store::PublishPut(const PendingWrite& pending, const Target& target) {
  if (pending.place) records_.Unpin(pending.place->offset, pending.place->record_bytes);
  bool stored = true;
  if (target.found) {
    Overwrite(target, *pending.item);
  } else {
    publishes_ = true;
    stored = table_->Insert(target.hash, *pending.item);
    publishes_ = false;
  }
  if (stored) {
    ++stats_.puts;
    return Count(Change::kStored, pending.payload_bytes, pending.expiry);
  }
  ++stats_.corrupt;  // its home was damaged meanwhile
  if (pending.place) records_.Free(pending.place->offset, pending.place->record_bytes);
}

}  // namespace plov::server
