#include "server/shard.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "cuckoo/hash.h"

namespace plov::server {

using fabric::PeerId;
using fabric::PortEvent;
using verify::MessageReader;
using verify::MessageWriter;
using verify::Operation;
using verify::Reply;
using verify::Request;

namespace {

// What clients cause is logged the 1st, 2nd, 4th, 8th ... time: no client can fill the log.
bool IsWorthALine(uint64_t count) { return std::has_single_bit(count); }

// Records that are held for one client.
constexpr size_t kHeldMax = 128;

// Requests between two looks at what may be worth a warning.
constexpr uint64_t kLookEvery = 1024;

// A longer record that a client suspects is verified in slices.
constexpr size_t kVerifiedAtOnce =
    verify::RecordBytes(verify::kKeyBytesMax, verify::kShortValueMax);

// Between two times that a busy shard brings its counters up to date.
constexpr uint64_t kPublishPeriodUs = 1000;

// Of messages that are done, whose memory is kept.
constexpr size_t kIdleBatchesMax = 64;

}  // namespace

Shard::Shard(std::unique_ptr<Store> store, const ClientTimeouts& timeouts, const Slice& slice)
    : store_(std::move(store)),
      timeouts_(timeouts),
      slice_(slice),
      sessions_(store_->recovery().warm),
      page_(store_->region().data()) {
  page_.Set(verify::Counter::kStartedAtUs, store_->UnixUs(MonotonicUs()));
  Publish();
}

bool Shard::Turn() {
  if (NeedsTicks()) Tick();
  bool worked = Step();
  if (log_ != nullptr) worked = StepLog() || worked;
  worked = worked || store_->OnIdle();
  warnings_.LookAtHost(*store_);
  if (budget_wanted_.load(std::memory_order_relaxed) != 0) {
    store_->RaiseBudget(budget_wanted_.exchange(0, std::memory_order_relaxed));
    worked = true;
  }
  if (worked) {
    is_unpublished_ = true;
  } else if (is_unpublished_) {
    Publish();
  }
  return worked;
}

int Shard::SleepMs() const {
  if (writes_wait_) return kWaitMs;
  return NeedsTicks() ? kTickMs : -1;
}

std::vector<int> Shard::fds() const {
  std::vector<int> fds;
  for (const Endpoint& endpoint : endpoints_) fds.push_back(endpoint.port->fd());
  return fds;
}

bool Shard::Arm() {
  bool armed = true;
  for (const Endpoint& endpoint : endpoints_) armed = endpoint.port->Arm() && armed;
  counters_.sleeps += armed ? 1 : 0;
  return armed;
}

void Shard::Disarm() {
  for (const Endpoint& endpoint : endpoints_) endpoint.port->Disarm();
}

bool Shard::OnClientsCore() {
  bool is_here = false;
  for (const Endpoint& endpoint : endpoints_) is_here = endpoint.port->OnPeersCore() || is_here;
  return is_here;
}

void Shard::Wake() {
  for (const Endpoint& endpoint : endpoints_) endpoint.port->Wake();
}

bool Shard::Step() {
  bool worked = false;
  for (Endpoint& endpoint : endpoints_) worked = StepEndpoint(&endpoint) || worked;
  return StepBatch() || worked;
}

// False when all batches wait.
bool Shard::StepBatch() {
  writes_wait_ = false;
  for (size_t left = waiting_.size(); left > 0; --left) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    const auto it = next.endpoint->peers.find(next.peer);
    if (it == next.endpoint->peers.end()) continue;  // it is gone
    GoOn(it->second.batch.get());
    const Outcome outcome = Serve(next.endpoint, next.peer, &it->second);
    if (outcome != Outcome::kWaits && outcome != Outcome::kLogs && outcome != Outcome::kAsks) {
      return true;
    }
    writes_wait_ = writes_wait_ || outcome == Outcome::kWaits;
  }
  return false;
}

bool Shard::StepEndpoint(Endpoint* endpoint) {
  const auto event = endpoint->port->Poll();
  if (!event) return false;
  switch (event->kind) {
    case PortEvent::Kind::kOpened:
      Open(endpoint, *event);
      break;
    case PortEvent::Kind::kMessage:
      OnMessage(endpoint, *event);
      break;
    case PortEvent::Kind::kReadDone:
      OnReadDone(endpoint, *event);
      break;
    case PortEvent::Kind::kClosed:
      Drop(endpoint, event->peer);
      break;
    case PortEvent::Kind::kProgress:
      break;
  }
  return true;
}

// A client that returns ends its own former connection first: what that one had sent and nobody had
// read is dropped, so a retry cannot be overtaken by its original.
void Shard::Open(Endpoint* endpoint, const PortEvent& event) {
  const SessionOwner owner(event.client_id, event.user);
  if (const auto former = connected_.find(owner); former != connected_.end()) {
    const auto [other, id] = former->second;
    other->port->Close(id);
    Drop(other, id);
  }
  connected_.insert_or_assign(owner, std::pair(endpoint, event.peer));
  confirmations_.Add(0);
  const uint64_t logged_owner = log_ == nullptr ? 0 : LoggedOwner(owner, log_->id());
  endpoint->peers.try_emplace(event.peer, Peer{owner,
                                               logged_owner,
                                               event.may_write,
                                               sessions_.Enter(owner, logged_owner),
                                               nullptr,
                                               {},
                                               0});
}

void Shard::Abandon(Peer* peer) {
  if (peer->batch != nullptr) {
    store_->Abandon(&peer->batch->writing);
    if (peer->batch->suspect) store_->Release(peer->batch->suspect->record_offset);
    EndBatch(peer);
  }
  ReleaseHeld(peer, UINT64_MAX);
}

void Shard::Drop(Endpoint* endpoint, PeerId id) {
  const auto it = endpoint->peers.find(id);
  if (it == endpoint->peers.end()) return;
  Abandon(&it->second);
  sessions_.Leave(it->second.owner);
  connected_.erase(it->second.owner);
  confirmations_.Remove(it->second.confirmed_version);
  endpoint->peers.erase(it);
  ReleaseConfirmed();
}

void Shard::ReleaseHeld(Peer* peer, uint64_t until_us) {
  std::erase_if(peer->held, [this, until_us](const Held& held) {
    if (held.until_us > until_us) return false;
    store_->Release(held.offset);
    --holds_;
    return true;
  });
}

// Reads ahead in a message, with a reader of its own.
void Shard::Prefetch(MessageReader requests) const {
  std::array<std::string_view, Store::kPrefetchedMax> keys;
  size_t count = 0;
  while (count < keys.size() && requests.remaining() > 0) {
    const auto request = requests.NextRequest();
    if (!request) break;
    keys[count++] = request->key;
  }
  store_->Prefetch(std::span(keys).first(count));
}

void Shard::OnMessage(Endpoint* endpoint, const PortEvent& event) {
  Peer& peer = endpoint->peers.at(event.peer);
  ++counters_.messages;
  const uint64_t now_us = MonotonicUs();
  if (is_unpublished_ && now_us - published_at_us_ >= kPublishPeriodUs) Publish();
  peer.batch = TakeBatch();
  peer.batch->times.Begin(now_us);
  if (!peer.batch->Open(event.message, peer.owner.client_id))
    return DropForGarbage(endpoint, event.peer);
  if (!peer.batch->requests().heading().keeps_held) ReleaseHeld(&peer, UINT64_MAX);
  Serve(endpoint, event.peer, &peer);
}

std::unique_ptr<Batch> Shard::TakeBatch() {
  if (idle_batches_.empty()) return std::make_unique<Batch>();
  auto batch = std::move(idle_batches_.back());
  idle_batches_.pop_back();
  return batch;
}

// The memory of some is kept.
void Shard::EndBatch(Peer* peer) {
  if (idle_batches_.size() < kIdleBatchesMax) idle_batches_.push_back(std::move(peer->batch));
  peer->batch.reset();
}

// A slice, and what comes of it.
Shard::Outcome Shard::Serve(Endpoint* endpoint, PeerId id, Peer* peer) {
  const Outcome outcome = HandleSome(endpoint, id, peer);
  peer->batch->times.Rest(CauseOf(outcome, *peer->batch));
  switch (outcome) {
    case Outcome::kDone:
      Finish(endpoint, id, peer);
      break;
    case Outcome::kAgain:
    case Outcome::kWaits:
    case Outcome::kLogs:
    case Outcome::kAsks:
      waiting_.push_back({endpoint, id});
      break;
    case Outcome::kReads:
      break;
    case Outcome::kBroken:
      DropForGarbage(endpoint, id);
      break;
  }
  return outcome;
}

Shard::Outcome Shard::HandleSome(Endpoint* endpoint, PeerId id, Peer* peer) {
  Batch& batch = *peer->batch;
  const uint32_t requests_end = batch.handled + slice_.requests;
  const uint64_t work_end = store_->work() + slice_.work_bytes;
  while (batch.request || batch.requests().remaining() > 0) {
    if (batch.handled == requests_end || store_->work() >= work_end) return Outcome::kAgain;
    if (!batch.request && !BeginNext(&batch)) return Outcome::kBroken;
    const Outcome outcome = Handle(endpoint, id, peer);
    if (outcome != Outcome::kDone) return outcome;
    batch.EndRequest();
    ++batch.handled;
  }
  return batch.handled > 0 ? Outcome::kDone : Outcome::kBroken;
}

bool Shard::BeginNext(Batch* batch) {
  verify::MessageReader& requests = batch->requests();
  if (batch->handled % Store::kPrefetchedMax == 0 && requests.remaining() > 1) Prefetch(requests);
  batch->request = requests.NextRequest();
  if (!batch->request) return false;
  if (++counters_.requests % kLookEvery == 0) warnings_.Look(*store_);
  // A rendezvous travels alone: its reply is the message's.
  return !batch->request->rendezvous || requests.remaining() + batch->handled == 0;
}

void Shard::DropForGarbage(Endpoint* endpoint, PeerId id) {
  ++counters_.protocol_errors;
  if (IsWorthALine(counters_.protocol_errors)) {
    spdlog::warn("dropped a client that sent garbage (client id {:016x}; {} so far)",
                 endpoint->peers.at(id).owner.client_id, counters_.protocol_errors);
  }
  endpoint->port->Close(id);
  Drop(endpoint, id);
}

// Rule D4: what the replies say is durable before anybody is told.
void Shard::Finish(Endpoint* endpoint, PeerId id, Peer* peer) {
  if (log_ != nullptr && peer->batch->rests_on != 0) {
    peer->batch->times.Rest(verify::Cause::kDisk);
    unsettled_.push_back({endpoint, id});
  } else {
    SendReplies(endpoint, id, peer);
  }
}

void Shard::SendReplies(Endpoint* endpoint, PeerId id, Peer* peer) {
  // One that has just connected can have READ a superblock whose table is gone since.
  if (peer->confirmed_version != 0 &&
      peer->confirmed_version < store_->growth().released_version()) {
    ++counters_.dropped_unconfirmed;
    endpoint->port->Close(id);
    return Drop(endpoint, id);
  }
  Batch& batch = *peer->batch;
  endpoint->port->Send(id, batch.replies->Finish({.answered = store_->superblock().version,
                                                  .clock_us = batch.clock_us}));
  if (batch.write.operation != Operation::kPing) CountTime(&batch);
  EndBatch(peer);
}

Shard::Outcome Shard::Handle(Endpoint* endpoint, PeerId id, Peer* peer) {
  Batch& batch = *peer->batch;
  const Request& request = *batch.request;
  // Every request after this one keeps room for a reply without a value. The count is the client's
  // word.
  const size_t kept = std::min(batch.replies->room(),
                               size_t{batch.requests().remaining()} * verify::kReplyHeadBytes);
  const size_t room = batch.replies->room() - kept;
  Reply reply;
  reply.request_id = request.request_id;
  Outcome outcome = Outcome::kDone;
  if (verify::IsForWriters(request.operation) && !peer->may_write) {
    reply.status = Code::kPermission;
  } else if (verify::IsWrite(request.operation)) {
    outcome = HandleWrite(endpoint, id, peer, &reply);
  } else if (request.rendezvous) {
    reply.status = Code::kProtocol;
  } else if (request.operation == Operation::kGet) {
    outcome = HandleGet(peer, room, &reply);
  } else if (request.operation == Operation::kConfirm) {
    Confirm(peer, std::max(peer->confirmed_version, request.expected_version));
    TakeReport(request.value);
    ReleaseConfirmed();
    batch.clock_us = store_->UnixUs(MonotonicUs());
  } else if (request.operation == Operation::kStats) {
    cpu_at_us_ = 0;
    Publish();
  } else if (request.operation == Operation::kSync) {
    AnswerSync(&batch, &reply);
  } else if (request.operation == Operation::kSnapshot) {
    AnswerSnapshot(&reply);
  } else if (request.operation == Operation::kAdminister) {
    outcome = HandleCommand(peer, room, &reply);
  }
  if (outcome != Outcome::kDone) return outcome;
  return batch.replies->Add(reply) ? Outcome::kDone : Outcome::kBroken;
}

// What a client of ours asks another shard for is not stored here, where no GET would look for it.
bool Shard::IsOurs(std::string_view key) const {
  const verify::Superblock& superblock = store_->superblock();
  return superblock.shard_count == 1 || cuckoo::ShardOf(cuckoo::HashKey(key, superblock.hash_seed),
                                                        superblock.shard_count) == superblock.shard;
}

Shard::Outcome Shard::HandleWrite(Endpoint* endpoint, PeerId id, Peer* peer, Reply* reply) {
  const Request& request = *peer->batch->request;
  if (!IsOurs(request.key)) return Outcome::kBroken;
  peer->batch->write = {request.operation, request.value_bytes, request.key};
  WriteReply write;
  bool rests = log_ != nullptr && commit_mode_ != log::CommitMode::kAsync;
  if (!Answered(peer, request, &write)) {
    const uint64_t now_us = peer->batch->times.slice_us();
    const Growth& growth = store_->growth();
    peer->batch->writing.room.may_wait =
        growth.draining() && peer->confirmed_version >= growth.awaited_version();
    peer->batch->writing.client_id = peer->logged_owner;
    Outcome outcome = AskLog(peer, &write);
    if (outcome != Outcome::kDone) return outcome;
    if (write.status != Code::kOk) {  // nothing is written until the disk is
      rests = false;
      store_->Abandon(&peer->batch->writing);
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
  if (rests) peer->batch->rests_on = log_->last_batch();
  reply->status = write.status;
  reply->version = write.version;
  return Outcome::kDone;
}

Shard::Outcome Shard::Applied(const std::optional<WriteReply>& applied, const Batch& batch,
                              WriteReply* write) const {
  if (!applied) return batch.writing.room.waits() ? Outcome::kWaits : Outcome::kAgain;
  *write = *applied;
  return Outcome::kDone;
}

// A value that the server READs: a place for it, the READ, its digest when it is long, the item.
Shard::Outcome Shard::HandleLarge(Endpoint* endpoint, PeerId id, Peer* peer, WriteReply* write) {
  Batch& batch = *peer->batch;
  const Request& request = *batch.request;
  Store::Writing& writing = batch.writing;
  const uint64_t now_us = batch.times.slice_us();
  if (request.operation == Operation::kDelete) {
    *write = {Code::kProtocol, 0};
    return Outcome::kDone;
  }
  if (!writing.place) {
    const auto status = store_->Prepare(request, now_us, &writing);
    if (!status) return Applied(std::nullopt, batch, write);
    if (*status != Code::kOk) {
      *write = store_->Refusal(*status);
      return Outcome::kDone;
    }
    endpoint->port->Read(id, {.offset = request.staging_offset,
                              .bytes = request.value_bytes,
                              .shared = writing.place->shared,
                              .masks = writing.arrival_masks.data(),
                              .shared_offset = writing.place->at,
                              .tag = request.request_id});
    return Outcome::kReads;
  }
  if (request.value_bytes > verify::kShortValueMax && !writing.value_digest) {
    if (!batch.digest) batch.digest.emplace(store_->DigestOf(writing));
    store_->Settle(&writing, slice_.work_bytes);
    if (!batch.digest->Go(slice_.work_bytes)) return Outcome::kAgain;
    writing.value_digest = batch.digest->Finish();
  }
  return Applied(store_->Commit(request, now_us, &writing), batch, write);
}

void Shard::OnReadDone(Endpoint* endpoint, const PortEvent& event) {
  const auto it = endpoint->peers.find(event.peer);
  if (it == endpoint->peers.end() || it->second.batch == nullptr) return;
  Peer& peer = it->second;
  GoOn(peer.batch.get());
  if (event.ok) {
    Serve(endpoint, event.peer, &peer);
    return;
  }
  Batch& batch = *peer.batch;
  store_->Abandon(&batch.writing);
  Reply reply;
  reply.request_id = batch.request->request_id;
  reply.status = Code::kProtocol;
  peer.session->Remember(batch.request->sequence, {Code::kProtocol, 0});
  batch.replies->Add(reply);
  Finish(endpoint, event.peer, &peer);
}

bool Shard::Answered(Peer* peer, const Request& request, WriteReply* reply) {
  if (request.sequence == 0) {
    *reply = {Code::kProtocol, 0};
    return true;
  }
  switch (peer->session->Find(request.sequence, request.retry, reply)) {
    case Session::State::kNew:
      return false;
    case Session::State::kDone:
      ++counters_.retries_answered;
      return true;
    case Session::State::kForgotten:
      *reply = {Code::kUnknown, 0};
      return true;
  }
  return false;
}

Shard::Outcome Shard::HandleGet(Peer* peer, size_t room, Reply* reply) {
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
  if (request.suspect && IsWorthALine(++counters_.suspicions)) {
    spdlog::warn("a client reports bytes that fail their seal unchanged; looking ({} so far)",
                 counters_.suspicions);
  }
  const auto hit =
      store_->Get(request.key, MonotonicUs(), request.suspect ? kVerifiedAtOnce : room);
  if (!hit) {
    reply->status = hit.error();
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

// A slice of a long value that a client suspects. kBroken: it is damaged.
Shard::Outcome Shard::Verify(Batch* batch) {
  const Store::Hit& hit = *batch->suspect;
  if (!batch->digest) batch->digest.emplace(store_->DigestOf(hit));
  if (!batch->digest->Go(slice_.work_bytes)) return Outcome::kAgain;
  return store_->IsWhole(hit, batch->digest->Finish()) ? Outcome::kDone : Outcome::kBroken;
}

// A value that does not fit in the message stays where it is: the client READs it there, and it is
// kept for it.
void Shard::ReplyGet(Peer* peer, const Store::Hit& hit, size_t room, Reply* reply) {
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
  if (peer->held.size() == kHeldMax) ReleaseHeld(peer, peer->held.front().until_us);
  reply->held = true;
  reply->record_offset = hit.record_offset;
  reply->record_bytes = hit.record_bytes;
  store_->Hold(hit.record_offset, hit.record_bytes);
  peer->held.push_back({hit.record_offset, MonotonicUs() + timeouts_.hold_us});
  ++holds_;
}

}  // namespace plov::server
