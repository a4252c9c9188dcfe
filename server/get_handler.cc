#include "server/get_handler.h"

#include <spdlog/spdlog.h>

#include <vector>

#include "server/clock.h"
#include "verify/record.h"

namespace plov::server {

using verify::Reply;
using verify::Request;
using Outcome = Batch::Outcome;

namespace {

// Records that are held for one client.
constexpr size_t kHeldMax = 128;

}  // namespace

Batch::Outcome GetHandler::Handle(Peer* peer, size_t room, Reply* reply) {
  Batch& batch = *peer->batch;
  const Request& request = *batch.request;
  if (batch.suspect) {
    const Outcome outcome = Verify(&batch);
    if (outcome == Outcome::kAgain) return outcome;
    if (outcome == Outcome::kDone) {
      ReplyGet(peer, *batch.suspect, room, reply);
    } else {
      reply->status = Code::kCorrupt;
    }
    store_->Release(batch.suspect->record_offset);
    return Outcome::kDone;
  }
  if (request.suspect && IsWorthALine(++counters_->suspicions)) {
    spdlog::warn("a client reports bytes that fail their seal unchanged; looking ({} so far)",
                 counters_->suspicions);
  }
  const auto hit =
      store_->Get(request.key, MonotonicUs(), request.suspect ? Store::kVerifiedAtOnce : room);
  if (!hit) {
    reply->status = hit.error();
    if (hit.error() == Code::kNotFound) reply->version = store_->settled_version();
    return Outcome::kDone;
  }
  if (request.suspect && hit->item.value_bytes() > verify::kShortValueMax) {
    batch.suspect = *hit;
    store_->Hold(hit->record_offset, hit->record_bytes);
    return Outcome::kAgain;
  }
  ReplyGet(peer, *hit, room, reply);
  return Outcome::kDone;
}

Batch::Outcome GetHandler::Scan(Peer* peer, size_t room, Reply* reply) {
  VectorScan& scan = peer->batch->vector_scan;
  if (!scan.is_open()) {
    const auto refusal = scan.Open(*peer->batch->request, room, store_, MonotonicUs());
    if (refusal) {
      reply->status = refusal->status;
      reply->version = refusal->version;
      return Outcome::kDone;
    }
  }
  const auto status = scan.Go(slices_->now().work_bytes);
  if (!status) return Outcome::kAgain;
  reply->status = *status;
  if (*status != Code::kOk) return Outcome::kDone;
  reply->version = scan.version();
  reply->value = scan.value();
  reply->value_bytes = static_cast<uint32_t>(reply->value.size());
  return Outcome::kDone;
}

// A slice of a long value that a client suspects. kBroken: it is damaged.
Batch::Outcome GetHandler::Verify(Batch* batch) {
  const Store::Hit& hit = *batch->suspect;
  if (!batch->digest) batch->digest.emplace(store_->DigestOf(hit));
  if (!batch->digest->Go(slices_->now().work_bytes)) return Outcome::kAgain;
  return store_->IsWhole(hit, batch->digest->Finish()) ? Outcome::kDone : Outcome::kBroken;
}

// A value that does not fit in the message stays where it is: the client READs it there, and it is
// kept for it.
void GetHandler::ReplyGet(Peer* peer, const Store::Hit& hit, size_t room, Reply* reply) {
  const size_t value_bytes = hit.item.value_bytes();
  reply->version = hit.item.version();
  reply->flags = hit.item.flags();
  reply->expiry = hit.item.expiry();
  reply->value_bytes = static_cast<uint32_t>(value_bytes);
  if (verify::ReplyBytes(value_bytes) <= room) {
    value_.resize(value_bytes);
    reply->value = hit.item.CopyValue(value_.data());
    return;
  }
  if (hit.record_bytes == 0) {  // inline: there is no record to hold
    reply->value_bytes = 0;
    reply->status = Code::kTooLarge;
    return;
  }
  // More than a client's window of lookups is no honest client's; it loses the oldest.
  if (peer->held.size() == kHeldMax) Release(peer, peer->held.front().until_us);
  reply->held = true;
  reply->record_offset = hit.record_offset;
  reply->record_bytes = hit.record_bytes;
  store_->Hold(hit.record_offset, hit.record_bytes);
  peer->held.push_back({hit.record_offset, MonotonicUs() + hold_us_});
  ++holds_;
}

void GetHandler::Release(Peer* peer, uint64_t until_us) {
  std::erase_if(peer->held, [this, until_us](const Held& held) {
    if (held.until_us > until_us) return false;
    store_->Release(held.offset);
    --holds_;
    return true;
  });
}

void GetHandler::Abandon(Peer* peer) {
  if (peer->batch != nullptr && peer->batch->suspect) {
    store_->Release(peer->batch->suspect->record_offset);
  }
  Release(peer, UINT64_MAX);
}

}  // namespace plov::server
