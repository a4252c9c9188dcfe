#include "server/shard.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plov::server {

using fabric::PeerId;
using fabric::PortEvent;
using verify::MessageReader;
using verify::Operation;
using verify::Reply;
using verify::Request;

namespace {

// Requests between two looks at what may be worth a warning.
constexpr uint64_t kLookEvery = 1024;

// Of messages that are done, whose memory is kept.
constexpr size_t kIdleBatchesMax = 64;

}  // namespace

Shard::Shard(std::unique_ptr<Store> store, const ClientTimeouts& timeouts, const Slices& slices)
    : store_(std::move(store)),
      timeouts_(timeouts),
      slices_(slices),
      sessions_(store_->recovery().warm),
      gets_(store_.get(), &slices_, timeouts.hold_us, &counters_),
      writes_(store_.get(), &slices_, &counters_),
      flush_(store_.get()),
      page_(store_->region().data()),
      publisher_(store_.get(), &page_),
      slow_log_(store_.get(), &page_) {
  page_.Set(verify::Counter::kStartedAtUs, store_->UnixUs(MonotonicUs()));
  Publish();
}

bool Shard::Turn() {
  bool worked;
  {
    const auto turn = TakeTurn();
    worked = TurnAlone();
  }
  return StepTogether() || worked;
}

bool Shard::TurnAlone() {
  if (NeedsTicks()) Tick();
  bool worked = Step();
  if (flush_.is_wanted()) {
    worked = flush_.Step(MonotonicUs(), slices_.now().requests) || worked;
  }
  if (commit_ != nullptr) worked = StepCommit() || worked;
  worked = worked || store_->OnIdle() ||
           (store_->sweeps_when_idle() && store_->SweepSome(MonotonicUs()));
  warnings_.LookAtHost(*store_);
  if (budget_wanted_.load(std::memory_order_relaxed) != 0) {
    store_->RaiseBudget(budget_wanted_.exchange(0, std::memory_order_relaxed));
    worked = true;
  }
  if (worked) {
    publisher_.Touch();
  } else if (publisher_.has_moved()) {
    Publish();
  }
  return worked;
}

// The oldest COMMIT of several shards. Its peer and batch are no sibling's business.
bool Shard::StepTogether() {
  for (; !given_up_.empty(); given_up_.pop_front()) given_up_.front().GiveUpInTurns();
  if (awaits_turns_.empty()) return false;
  const Waiting next = awaits_turns_.front();
  awaits_turns_.pop_front();
  Peer* peer = next.peer();
  if (peer == nullptr || peer->batch == nullptr) return true;
  Transaction& transaction = peer->batch->transaction;
  peer->batch->GoOn(MonotonicUs());
  transaction.GoInTurns(MonotonicUs(), peer->batch->writing.room.may_wait);
  const bool waits = !transaction.answer() && transaction.waits();
  const auto turn = TakeTurn();
  writes_wait_ = writes_wait_ || waits;
  Serve(next.endpoint, next.id, peer);
  return !waits;
}

Siblings::Sibling Shard::AsSibling() {
  return {.store = store_.get(), .turn = &turn_, .on_commit = [this] {
            publisher_.Touch();
            if (sleeps_) Wake();
          }};
}

int Shard::SleepMs() const {
  const auto turn = TakeTurn();
  int sleep_ms = commit_ != nullptr ? commit_->SleepMs() : -1;
  const auto at_most = [&](int ms) { sleep_ms = sleep_ms < 0 ? ms : std::min(sleep_ms, ms); };
  if (writes_wait_) at_most(kWaitMs);
  if (NeedsTicks()) at_most(kTickMs);
  if (flush_.is_wanted()) at_most(flush_.SleepMs(MonotonicUs()));
  return sleep_ms;
}

std::vector<int> Shard::fds() const {
  std::vector<int> fds = commit_ != nullptr ? commit_->fds() : std::vector<int>();
  for (const Endpoint& endpoint : endpoints_) fds.push_back(endpoint.port->fd());
  return fds;
}

// A sibling's COMMIT that has come since the last turn is work.
bool Shard::Arm() {
  const auto turn = TakeTurn();
  const bool has_work = siblings_ != nullptr && publisher_.has_moved();
  bool armed = !has_work && (commit_ == nullptr || commit_->Arm());
  for (const Endpoint& endpoint : endpoints_) armed = endpoint.port->Arm() && armed;
  counters_.sleeps += armed ? 1 : 0;
  sleeps_ = armed;
  return armed;
}

void Shard::Disarm(std::span<const int> readable) {
  const auto turn = TakeTurn();
  sleeps_ = false;
  if (commit_ != nullptr) commit_->Disarm(readable);
  for (const Endpoint& endpoint : endpoints_) fabric::Disarm(endpoint.port, readable);
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
    Peer* peer = next.peer();
    if (peer == nullptr) continue;  // it is gone
    peer->batch->GoOn(MonotonicUs());
    const Outcome outcome = Serve(next.endpoint, next.id, peer);
    if (outcome != Outcome::kWaits && outcome != Outcome::kLogs && outcome != Outcome::kAsks) {
      return true;
    }
    writes_wait_ = writes_wait_ || outcome == Outcome::kWaits;
  }
  return false;
}

bool Shard::StepCommit() {
  bool worked = commit_->Step();
  while (const auto next = commit_->NextSettled()) {
    SendReplies(next->endpoint, next->id, next->peer());
    worked = true;
  }
  return commit_->StepSnapshot() || worked;
}

void Shard::CloseClients() {
  for (Endpoint& endpoint : endpoints_) {
    while (!endpoint.peers.empty()) {
      const PeerId id = endpoint.peers.begin()->first;
      endpoint.port->Close(id);
      Drop(&endpoint, id);
    }
  }
  flush_.Forget();
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
// read is dropped, so a retry cannot be overtaken by its original. One that only READs is nobody's in
// particular; it never confirms a table, so it is let go when one is to be freed. Who administers a replica that serves no
// clients gets no item there. Who never writes has READ how old what it gets may be.
void Shard::Open(Endpoint* endpoint, const PortEvent& event) {
  const SessionOwner owner(event.client_id, event.user);
  const bool serves = commit_ == nullptr || commit_->serves();
  if (event.reads_only || event.never_writes || (event.administers && !serves)) {
    confirmations_.Add(0);
    endpoint->peers.try_emplace(
        event.peer,
        Peer{.owner = owner, .may_write = event.may_write, .never_writes = event.never_writes});
    return;
  }
  if (!serves) return endpoint->port->Close(event.peer);
  if (const auto former = connected_.find(owner); former != connected_.end()) {
    const auto [other, id] = former->second;
    other->port->Close(id);
    Drop(other, id);
  }
  connected_.insert_or_assign(owner, std::pair(endpoint, event.peer));
  confirmations_.Add(0);
  const uint64_t logged_owner = commit_ != nullptr ? commit_->LoggedOwnerOf(owner) : 0;
  endpoint->peers.try_emplace(event.peer, Peer{.owner = owner,
                                               .logged_owner = logged_owner,
                                               .may_write = event.may_write,
                                               .session = sessions_.Enter(owner, logged_owner)});
}

void Shard::Abandon(Peer* peer) {
  gets_.Abandon(peer);
  if (peer->batch == nullptr) return;
  store_->Abandon(&peer->batch->writing);
  Transaction& transaction = peer->batch->transaction;
  if (transaction.is_of_several()) given_up_.push_back(std::move(transaction));
  peer->batch->EndRequest();
  EndBatch(peer);
}

void Shard::Drop(Endpoint* endpoint, PeerId id) {
  const auto it = endpoint->peers.find(id);
  if (it == endpoint->peers.end()) return;
  Abandon(&it->second);
  if (it->second.session != nullptr) {
    sessions_.Leave(it->second.owner);
    connected_.erase(it->second.owner);
  }
  confirmations_.Remove(it->second.confirmed_version);
  endpoint->peers.erase(it);
  ReleaseConfirmed();
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
  if (publisher_.IsDue(now_us)) Publish();
  slices_.OnMessage(&peer, now_us);
  peer.batch = TakeBatch();
  peer.batch->times.Begin(now_us);
  if (!peer.batch->Open(event.message, peer.owner.client_id))
    return DropForGarbage(endpoint, event.peer);
  if (!peer.batch->requests().heading().keeps_held) gets_.Release(&peer, UINT64_MAX);
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
  peer->batch->Rest(outcome);
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
    case Outcome::kTurns:
      awaits_turns_.push_back({endpoint, id});
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
  const Slice& slice = slices_.now();
  const uint32_t requests_end = batch.handled + slice.requests;
  const uint64_t work_end = store_->work() + slice.work_bytes;
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

// Rules D4 and S8: what the replies say is so for good before anybody is told.
void Shard::Finish(Endpoint* endpoint, PeerId id, Peer* peer) {
  if (commit_ != nullptr && commit_->Holds(*peer->batch)) {
    peer->batch->Rest(Outcome::kLogs);
    commit_->Wait({endpoint, id});
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
  if (batch.write.operation != Operation::kPing) {
    batch.GoOn(MonotonicUs());
    slow_log_.Count(batch);
  }
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
  if (!verify::IsKnown(request.operation)) {
    reply.status = Code::kProtocol;
  } else if (verify::IsForWriters(request.operation) && !peer->may_write) {
    reply.status = Code::kPermission;
  } else if (request.operation == Operation::kGet && peer->never_writes) {
    outcome = gets_.Handle(peer, room, &reply);
  } else if (verify::IsOfItems(request.operation) && peer->session == nullptr) {
    reply.status = Code::kUnavailable;
  } else if (verify::IsWrite(request.operation)) {
    outcome = writes_.Handle(endpoint, id, peer, &reply);
  } else if (request.rendezvous) {
    reply.status = Code::kProtocol;
  } else if (request.operation == Operation::kGet) {
    batch.tells_of_items = true;
    outcome = gets_.Handle(peer, room, &reply);
  } else if (verify::IsOfVector(request.operation)) {
    batch.tells_of_items = true;
    outcome = gets_.Scan(peer, room, &reply);
  } else if (request.operation == Operation::kConfirm) {
    Confirm(peer, std::max(peer->confirmed_version, request.expected_version));
    TakeReport(request.value);
    ReleaseConfirmed();
    batch.clock_us = store_->UnixUs(MonotonicUs());
    reply.number = store_->evicts() ? 1 : 0;
  } else if (request.operation == Operation::kStats) {
    publisher_.LookAtCpu();
    Publish();
  } else if (request.operation == Operation::kSync && commit_ != nullptr) {
    batch.tells_of_items = true;
    commit_->AnswerSync(&batch, &reply);
  } else if (request.operation == Operation::kSnapshot && commit_ != nullptr) {
    commit_->AnswerSnapshot(&reply);
  } else if (request.operation == Operation::kSync || request.operation == Operation::kSnapshot) {
    reply.status = Code::kInvalidArgument;
  } else if (request.operation == Operation::kFlush) {
    flush_.Answer(&batch, &reply);
  } else if (request.operation == Operation::kAdminister) {
    outcome = HandleCommand(peer, room, &reply);
  }
  if (outcome != Outcome::kDone) return outcome;
  return batch.replies->Add(reply) ? Outcome::kDone : Outcome::kBroken;
}

void Shard::OnReadDone(Endpoint* endpoint, const PortEvent& event) {
  const auto it = endpoint->peers.find(event.peer);
  if (it == endpoint->peers.end() || it->second.batch == nullptr) return;
  Peer& peer = it->second;
  peer.batch->GoOn(MonotonicUs());
  if (event.ok) {
    Serve(endpoint, event.peer, &peer);
    return;
  }
  Reply reply;
  reply.request_id = peer.batch->request->request_id;
  writes_.Fail(&peer, &reply);
  peer.batch->replies->Add(reply);
  Finish(endpoint, event.peer, &peer);
}

void Shard::Publish() {
  ClientTotals clients{.connected = 0,
                       .refused = admission_ == nullptr ? 0 : admission_->refused(),
                       .bytes = sessions_.bytes(),
                       .sessions = sessions_.size()};
  for (const Endpoint& endpoint : endpoints_) {
    clients.connected += endpoint.peers.size();
    clients.bytes += endpoint.port->connection_bytes();
  }
  publisher_.Publish(counters_, clients);
  if (commit_ != nullptr) commit_->PublishTo(&page_);
}

}  // namespace plov::server
