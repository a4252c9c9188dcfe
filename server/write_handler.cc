#include "server/write_handler.h"

#include <utility>

#include "verify/number.h"

namespace plov::server {

using fabric::PeerId;
using verify::Operation;
using verify::Reply;
using verify::Request;
using Outcome = Batch::Outcome;

Batch::Outcome WriteHandler::Handle(Endpoint* endpoint, PeerId id, Peer* peer, Reply* reply) {
  const Request& request = *peer->batch->request;
  // Another shard's is not stored here, where no GET would look for it.
  if (!store_->Owns(request.key)) return Outcome::kBroken;
  peer->batch->write = {request.operation, request.value_bytes, request.key};
  WriteReply write;
  bool rests = commit_ != nullptr;
  if (!Answered(peer, request, &write)) {
    const uint64_t now_us = peer->batch->times.slice_us();
    const Growth& growth = store_->growth();
    peer->batch->writing.room.may_wait =
        growth.draining() && peer->confirmed_version >= growth.awaited_version();
    peer->batch->writing.client_id = peer->logged_owner;
    Outcome outcome = Ask(peer, &write);
    if (outcome != Outcome::kDone) return outcome;
    if (write.status != Code::kOk) {  // nothing is written until the disk is
      rests = false;
      store_->Abandon(&peer->batch->writing);
    } else if (request.operation == Operation::kCommit) {
      outcome = Commit(peer->batch.get(), &write);
    } else if (Modification::Is(request)) {
      outcome = Modify(peer, &write);
    } else if (request.rendezvous) {
      outcome = HandleLarge(endpoint, id, peer, &write);
    } else if (request.operation == Operation::kDelete) {
      write = store_->Delete(request, now_us, peer->logged_owner);
    } else {
      outcome =
          Applied(store_->Write(request, now_us, &peer->batch->writing), *peer->batch, &write);
    }
    if (outcome != Outcome::kDone) return outcome;
    peer->session->Remember(request.sequence, write);
  }
  if (rests) {
    peer->batch->rests_on = commit_->rests_on();
    peer->batch->tells_of_items = true;
  }
  reply->status = write.status;
  reply->version = write.version;
  reply->number = static_cast<uint64_t>(write.number.value_or(0));
  return Outcome::kDone;
}

// Whether log or replicas take it now; else why not.
Batch::Outcome WriteHandler::Ask(Peer* peer, WriteReply* refusal) {
  const Request& request = *peer->batch->request;
  if (request.operation != Operation::kCommit) {
    return commit_ == nullptr ? Outcome::kDone : commit_->Ask(request, refusal);
  }
  Transaction& transaction = peer->batch->transaction;
  if (!transaction.is_open() && !transaction.Open(request, peer->logged_owner, store_, siblings_)) {
    *refusal = {Code::kProtocol, 0};
    return Outcome::kDone;
  }
  if (commit_ == nullptr) return Outcome::kDone;
  if (!transaction.is_of_several()) return commit_->AskTogether(transaction.together(), refusal);
  *refusal = {Code::kInvalidArgument, verify::kOneShardOnly};
  return Outcome::kDone;
}

Batch::Outcome WriteHandler::Commit(Batch* batch, WriteReply* write) {
  Transaction& transaction = batch->transaction;
  if (transaction.is_of_several()) {
    if (!transaction.answer()) return Outcome::kTurns;
    *write = *transaction.answer();
    return Outcome::kDone;
  }
  const auto applied = transaction.Go(batch->times.slice_us(), batch->writing.room.may_wait);
  if (!applied) return transaction.waits() ? Outcome::kWaits : Outcome::kAgain;
  *write = *applied;
  return Outcome::kDone;
}

// By a PUT over the version that it was made of. Where another write came between, it is made anew: that one got on.
Batch::Outcome WriteHandler::Modify(Peer* peer, WriteReply* write) {
  Batch& batch = *peer->batch;
  Modification& modification = batch.modification;
  const uint64_t now_us = batch.times.slice_us();
  if (!modification.is_made()) {
    if (const auto refusal = modification.Make(*batch.request, store_, now_us)) {
      *write = *refusal;
      return Outcome::kDone;
    }
  }
  const Request& put = modification.put();
  Outcome outcome = commit_ != nullptr ? commit_->Ask(put, write) : Outcome::kDone;
  if (outcome != Outcome::kDone) return outcome;
  if (write->status != Code::kOk) {
    store_->Abandon(&batch.writing);
    return Outcome::kDone;
  }
  outcome = modification.is_long()
                ? StoreLong(&batch, put, write)
                : Applied(store_->Write(put, now_us, &batch.writing), batch, write);
  if (outcome != Outcome::kDone) return outcome;
  if (modification.IsOvertaken(*write)) {
    modification.Reset();
    batch.digest.reset();
    batch.writing = {};
    return Outcome::kAgain;
  }
  if (write->status == Code::kOk) write->number = modification.number();
  return Outcome::kDone;
}

// kDone: the value has a place, or `write` says why it has none.
Batch::Outcome WriteHandler::GivePlace(Batch* batch, const Request& request, WriteReply* write) {
  const auto status = store_->Prepare(request, batch->times.slice_us(), &batch->writing);
  if (!status) return Applied(std::nullopt, *batch, write);
  if (*status != Code::kOk) *write = store_->Refusal(*status);
  return Outcome::kDone;
}

// A place for it, the value, its digest, the item.
Batch::Outcome WriteHandler::StoreLong(Batch* batch, const Request& request, WriteReply* write) {
  Store::Writing& writing = batch->writing;
  if (!writing.place) {
    const Outcome outcome = GivePlace(batch, request, write);
    if (!writing.place) return outcome;
  }
  const auto status = batch->modification.Fill(&writing, slices_->now().work_bytes);
  if (!status) return Outcome::kAgain;
  if (*status != Code::kOk) {
    store_->Abandon(&writing);
    *write = {*status, 0};
    return Outcome::kDone;
  }
  return CommitLarge(batch, request, write);
}

Batch::Outcome WriteHandler::Applied(const std::optional<WriteReply>& applied, const Batch& batch,
                                     WriteReply* write) const {
  if (!applied) return batch.writing.room.waits() ? Outcome::kWaits : Outcome::kAgain;
  *write = *applied;
  return Outcome::kDone;
}

// A value that the server READs: a place for it, the READ, its digest when it is long, the item.
Batch::Outcome WriteHandler::HandleLarge(Endpoint* endpoint, PeerId id, Peer* peer,
                                         WriteReply* write) {
  Batch& batch = *peer->batch;
  const Request& request = *batch.request;
  Store::Writing& writing = batch.writing;
  if (request.operation == Operation::kDelete) {
    *write = {Code::kProtocol, 0};
    return Outcome::kDone;
  }
  if (!writing.place) {
    const Outcome outcome = GivePlace(&batch, request, write);
    if (!writing.place) return outcome;
    endpoint->port->Read(id, {.offset = request.staging_offset,
                              .bytes = request.value_bytes,
                              .shared = writing.place->shared,
                              .masks = writing.arrival_masks.data(),
                              .shared_offset = writing.place->at,
                              .tag = request.request_id});
    return Outcome::kReads;
  }
  return CommitLarge(&batch, request, write);
}

Batch::Outcome WriteHandler::CommitLarge(Batch* batch, const Request& request, WriteReply* write) {
  Store::Writing& writing = batch->writing;
  if (request.value_bytes > verify::kShortValueMax && !writing.value_digest) {
    if (!batch->digest) batch->digest.emplace(store_->DigestOf(writing));
    const uint64_t work_bytes = slices_->now().work_bytes;
    store_->Settle(&writing, work_bytes);
    if (!batch->digest->Go(work_bytes)) return Outcome::kAgain;
    writing.value_digest = batch->digest->Finish();
  }
  return Applied(store_->Commit(request, batch->times.slice_us(), &writing), *batch, write);
}

bool WriteHandler::Answered(Peer* peer, const Request& request, WriteReply* reply) {
  if (request.sequence == 0) {
    *reply = {Code::kProtocol, 0};
    return true;
  }
  switch (peer->session->Find(request.sequence, request.retry, reply)) {
    case Session::State::kNew:
      return false;
    case Session::State::kDone:
      ++counters_->retries_answered;
      if (request.operation == Operation::kIncrement) {
        FindNumber(request, peer->batch->times.slice_us(), reply);
      }
      return true;
    case Session::State::kForgotten:
      *reply = {Code::kUnknown, 0};
      return true;
  }
  return false;
}

// A session that was restored from a snapshot has no number: the item has it, where nobody has written it since.
void WriteHandler::FindNumber(const Request& request, uint64_t now_us, WriteReply* reply) {
  if (reply->status != Code::kOk || reply->number) return;
  const auto hit = store_->Current(request.key, now_us, Store::kVerifiedAtOnce);
  if (hit && hit->item.version() == reply->version) {
    reply->number = verify::NumberOf(hit->item.value());
  }
  if (!reply->number) *reply = {Code::kUnknown, 0};
}

void WriteHandler::Fail(Peer* peer, Reply* reply) {
  store_->Abandon(&peer->batch->writing);
  reply->status = Code::kProtocol;
  peer->session->Remember(peer->batch->request->sequence, {Code::kProtocol, 0});
}

}  // namespace plov::server
