#include "server/shard.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

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

// Requests between two looks at how full the memory is.
constexpr uint64_t kFullnessEvery = 1024;

}  // namespace

Shard::Shard(std::unique_ptr<Store> store, uint32_t spin_us, const Patience& patience)
    : store_(std::move(store)),
      spin_us_(spin_us),
      patience_(patience),
      epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      sessions_(store_->recovery().warm),
      started_us_(MonotonicUs()) {}

Shard::~Shard() {
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

std::expected<void, Error> Shard::AddPort(fabric::Port* port) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, port->fd(), &event) != 0) {
    return FailErrno("cannot watch a port", errno);
  }
  gates_.push_back({port, {}});
  return {};
}

void Shard::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (const Gate& gate : gates_) gate.port->Wake();
}

void Shard::Run() {
  uint64_t idle_since_us = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (Turn()) {
      idle_since_us = 0;
      continue;
    }
    const uint64_t now_us = MonotonicUs();
    if (idle_since_us == 0) idle_since_us = now_us;
    if (now_us - idle_since_us >= spin_us_) {
      Sleep();
      idle_since_us = 0;
    }
  }
}

bool Shard::Turn() {
  if (NeedsTicks()) Tick();
  return Step() || store_->OnIdle();
}

void Shard::Sleep() {
  bool armed = true;
  for (const Gate& gate : gates_) armed = gate.port->Arm() && armed;
  if (armed) {
    ++counters_.sleeps;
    // A client may be gone for good without dying: then only the clock helps.
    epoll_event event;
    ::epoll_wait(epoll_fd_, &event, 1, NeedsTicks() ? static_cast<int>(kTickMs) : -1);
  }
  for (const Gate& gate : gates_) gate.port->Disarm();
}

bool Shard::Step() {
  bool worked = false;
  for (Gate& gate : gates_) worked = StepGate(&gate) || worked;
  return worked;
}

bool Shard::StepGate(Gate* gate) {
  const auto event = gate->port->Poll();
  if (!event) return false;
  switch (event->kind) {
    case PortEvent::Kind::kOpened:
      Open(gate, *event);
      break;
    case PortEvent::Kind::kMessage:
      OnMessage(gate, *event);
      break;
    case PortEvent::Kind::kReadDone:
      OnReadDone(gate, *event);
      break;
    case PortEvent::Kind::kClosed:
      Drop(gate, event->peer);
      break;
  }
  return true;
}

// A client that returns ends its own former connection first: what that one had sent and nobody had
// read is dropped, so a retry cannot be overtaken by its original.
void Shard::Open(Gate* gate, const PortEvent& event) {
  for (Gate& other : gates_) {
    for (const auto& [id, peer] : other.peers) {
      if (peer.client_id != event.client_id) continue;
      const PeerId former = id;
      other.port->Close(former);
      Drop(&other, former);
      break;
    }
  }
  gate->peers.try_emplace(event.peer,
                          Peer{event.client_id, sessions_.Enter(event.client_id), nullptr, {}, 0});
}

void Shard::Abandon(Peer* peer) {
  if (peer->fetch != nullptr) store_->Abandon(peer->fetch->prepared);
  peer->fetch.reset();
  ReleaseHeld(peer, UINT64_MAX);
}

void Shard::Drop(Gate* gate, PeerId id) {
  const auto it = gate->peers.find(id);
  if (it == gate->peers.end()) return;
  Abandon(&it->second);
  sessions_.Leave(it->second.client_id);
  gate->peers.erase(it);
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

void Shard::LookHowFull() {
  const auto percent = fullness_.Look(store_->percent_full());
  if (!percent) return;
  spdlog::warn("shard {} is {} % full ({} MiB): beyond 100 % PUTs fail; raise --memory",
               store_->superblock().shard, *percent, store_->region().budget_bytes() >> 20);
}

// Reads ahead in a message, with a reader of its own.
void Shard::Foresee(MessageReader requests) const {
  std::array<std::string_view, Store::kForeseenMax> keys;
  size_t count = 0;
  while (count < keys.size() && requests.remaining() > 0) {
    const auto request = requests.NextRequest();
    if (!request) break;
    keys[count++] = request->key;
  }
  store_->Foresee(std::span(keys).first(count));
}

void Shard::OnMessage(Gate* gate, const PortEvent& event) {
  Peer& peer = gate->peers.at(event.peer);
  ++counters_.messages;
  auto requests =
      MessageReader::Open(event.message, peer.client_id, MessageReader::Holds::kRequests);
  if (requests && !requests->heading().keeps_held) ReleaseHeld(&peer, UINT64_MAX);
  MessageWriter replies(reply_, peer.client_id);
  bool sound = requests.has_value();
  for (uint32_t done = 0; sound && requests->remaining() > 0; ++done) {
    if (done % Store::kForeseenMax == 0 && requests->remaining() > 1) Foresee(*requests);
    const auto request = requests->NextRequest();
    // A rendezvous travels alone: its reply is the message's.
    sound = request.has_value() &&
            (!request->rendezvous || requests->remaining() + replies.count() == 0);
    if (!sound) break;
    if (++counters_.requests % kFullnessEvery == 0) LookHowFull();
    sound = Handle(gate, event.peer, &peer, *request, &replies, requests->remaining());
    if (peer.fetch != nullptr) return;  // answered when the value has arrived
  }
  if (!sound || replies.count() == 0) {
    ++counters_.protocol_errors;
    if (IsWorthALine(counters_.protocol_errors)) {
      spdlog::warn("dropped a client that sent garbage (client id {:016x}; {} so far)",
                   peer.client_id, counters_.protocol_errors);
    }
    gate->port->Close(event.peer);
    Drop(gate, event.peer);
    return;
  }
  // One that has just connected can have READ a superblock whose table is gone since.
  if (peer.confirmed_version != 0 && peer.confirmed_version < store_->growth().released_version()) {
    ++counters_.dropped_unconfirmed;
    gate->port->Close(event.peer);
    return Drop(gate, event.peer);
  }
  gate->port->Send(event.peer, replies.Finish(HeadingOfReplies()));
}

verify::Heading Shard::HeadingOfReplies() {
  return {.answered = store_->superblock().version, .clock_us = std::exchange(clock_us_, 0)};
}

bool Shard::Handle(Gate* gate, PeerId id, Peer* peer, const Request& request,
                   MessageWriter* replies, uint32_t remaining) {
  if (request.rendezvous) {
    WriteReply write;
    if (StartFetch(gate, id, peer, request, &write)) return true;
    Reply reply;
    reply.request_id = request.request_id;
    reply.status = write.status;
    reply.version = write.version;
    return replies->Add(reply);
  }
  // Every request after this one keeps room for a reply without a value. The count is the client's
  // word.
  const size_t kept = std::min(replies->room(), size_t{remaining} * verify::kReplyHeadBytes);
  const size_t room = replies->room() - kept;
  return replies->Add(ReplyTo(peer, request, room));
}

bool Shard::Answered(Peer* peer, const Request& request, WriteReply* reply) {
  if (request.sequence == 0) {
    *reply = {Code::kProtocol, 0};
    return true;
  }
  switch (peer->session->Judge(request.sequence, request.retry, reply)) {
    case Session::Verdict::kNew:
      return false;
    case Session::Verdict::kDone:
      ++counters_.retries_answered;
      return true;
    case Session::Verdict::kForgotten:
      *reply = {Code::kUnknown, 0};
      return true;
  }
  return false;
}

bool Shard::StartFetch(Gate* gate, PeerId id, Peer* peer, const Request& request,
                       WriteReply* reply) {
  if (!verify::IsWrite(request.operation) || request.operation == Operation::kDelete) {
    *reply = {Code::kProtocol, 0};
    return false;
  }
  if (Answered(peer, request, reply)) return false;
  const auto prepared = store_->Prepare(request, MonotonicUs());
  if (!prepared) {
    *reply = {prepared.error(), 0};
    peer->session->Remember(request.sequence, *reply);
    return false;
  }
  peer->fetch = std::make_unique<Fetch>(Fetch{request, std::string(request.key), *prepared});
  peer->fetch->request.key = peer->fetch->key;
  gate->port->Read(id, {.offset = request.staging_offset,
                        .bytes = request.value_bytes,
                        .shared = prepared->shared,
                        .shared_offset = prepared->at,
                        .tag = request.request_id});
  return true;
}

void Shard::OnReadDone(Gate* gate, const PortEvent& event) {
  const auto it = gate->peers.find(event.peer);
  if (it == gate->peers.end() || it->second.fetch == nullptr) return;
  Peer& peer = it->second;
  const std::unique_ptr<Fetch> fetch = std::move(peer.fetch);
  WriteReply write{Code::kProtocol, 0};
  if (event.ok) {
    write = store_->Commit(fetch->prepared, fetch->request, MonotonicUs());
  } else {
    store_->Abandon(fetch->prepared);
  }
  peer.session->Remember(fetch->request.sequence, write);
  Reply reply;
  reply.request_id = fetch->request.request_id;
  reply.status = write.status;
  reply.version = write.version;
  MessageWriter replies(reply_, peer.client_id);
  replies.Add(reply);
  gate->port->Send(event.peer, replies.Finish(HeadingOfReplies()));
}

Reply Shard::ReplyTo(Peer* peer, const Request& request, size_t room) {
  Reply reply;
  reply.request_id = request.request_id;
  if (verify::IsWrite(request.operation)) {
    WriteReply write;
    if (!Answered(peer, request, &write)) {
      const uint64_t now_us = MonotonicUs();
      write = request.operation == Operation::kDelete ? store_->Delete(request, now_us)
                                                      : store_->Write(request, now_us);
      peer->session->Remember(request.sequence, write);
    }
    reply.status = write.status;
    reply.version = write.version;
  } else if (request.operation == Operation::kGet) {
    ReplyGet(peer, request, room, &reply);
  } else if (request.operation == Operation::kConfirm) {
    peer->confirmed_version = std::max(peer->confirmed_version, request.expected_version);
    ReleaseConfirmed();
    clock_us_ = store_->UnixUs(MonotonicUs());
  } else if (request.operation == Operation::kStats) {
    stats_text_ = StatsText();
    reply.value = stats_text_;
    reply.value_bytes = static_cast<uint32_t>(stats_text_.size());
    if (verify::EncodedBytes(reply) > room) {
      reply.value = {};
      reply.value_bytes = 0;
      reply.status = Code::kTooLarge;
    }
  }
  return reply;
}

// A value that does not fit in the message stays where it is: the client READs it there, and it is
// kept for it.
void Shard::ReplyGet(Peer* peer, const Request& request, size_t room, Reply* reply) {
  if (request.suspect && IsWorthALine(++counters_.suspicions)) {
    spdlog::warn("a client reports bytes that fail their seal unchanged; looking ({} so far)",
                 counters_.suspicions);
  }
  const uint64_t now_us = MonotonicUs();
  const auto hit = store_->Get(request.key, now_us);
  if (!hit) {
    reply->status = hit.error();
    return;
  }
  reply->version = hit->item.version;
  reply->flags = hit->item.flags;
  reply->expiry = hit->item.expiry;
  reply->value_bytes = static_cast<uint32_t>(hit->item.value.size());
  reply->value = hit->item.value;
  if (verify::EncodedBytes(*reply) <= room) return;
  reply->value = {};
  if (hit->record_bytes == 0) {  // inline: there is no record to hold
    reply->value_bytes = 0;
    reply->status = Code::kTooLarge;
    return;
  }
  // More than a client's window of lookups is no honest client's; it loses the oldest.
  if (peer->held.size() == kHeldMax) ReleaseHeld(peer, peer->held.front().until_us);
  reply->held = true;
  reply->record_offset = hit->record_offset;
  reply->record_bytes = hit->record_bytes;
  store_->Hold(hit->record_offset, hit->record_bytes);
  peer->held.push_back({hit->record_offset, now_us + patience_.hold_us});
  ++holds_;
}

}  // namespace plov::server
