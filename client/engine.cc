// Engine: life of the connections, replies, waiting.

#include "client/engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "fabric/random.h"

namespace plov {

using fabric::Clock;
using verify::Keep;
using verify::MessageReader;
using verify::Safeguard;

namespace {

// Request ids of their own for everything but writes, whose ids are their sequences.
constexpr uint64_t kControlIds = uint64_t{1} << 63;

constexpr std::chrono::microseconds kBackoffMin = std::chrono::milliseconds(1);
constexpr std::chrono::microseconds kBackoffMax = std::chrono::milliseconds(100);
constexpr std::chrono::seconds kAttemptMax{1};
constexpr int kTurnsPerPoll = 64;

}  // namespace

Engine::Engine(std::string_view uri, const ClientOptions& options)
    : uri_(uri),
      options_(options),
      client_id_(fabric::RandomId()),
      epoll_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      slots_(std::clamp<size_t>(options.window, 1, 64) + 1),
      cache_(options.location_cache_bytes),
      next_control_id_(kControlIds) {}

Engine::~Engine() {
  AbandonAll();
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

std::expected<std::unique_ptr<Engine>, Error> Engine::Connect(std::string_view uri,
                                                              const ClientOptions& options) {
  std::unique_ptr<Engine> engine(new Engine(uri, options));
  if (engine->epoll_fd_ < 0) return FailErrno("cannot create an epoll", errno);
  if (auto connected = engine->ConnectAll(engine->DeadlineFromNow()); !connected) {
    return std::unexpected(connected.error());
  }
  return engine;
}

// All shards or none: they are threads of one server.
std::expected<void, Error> Engine::ConnectAll(Deadline deadline) {
  std::vector<Connected> fresh;
  uint32_t shard_count = 1;
  for (uint32_t shard = 0; shard < shard_count; ++shard) {
    auto connected = ConnectShard(uri_, shard, client_id_, deadline);
    if (!connected) return std::unexpected(connected.error());
    shard_count = connected->view.shard_count;
    fresh.push_back(std::move(*connected));
  }
  Adopt(std::move(fresh));
  return {};
}

void Engine::Adopt(std::vector<Connected> fresh) {
  bool same_life = links_.size() == fresh.size();
  for (size_t i = 0; same_life && i < fresh.size(); ++i) {
    same_life = links_[i]->view.incarnation == fresh[i].view.incarnation ||
                !Keep(Safeguard::kOtherLifeNoticed);
  }
  if (!same_life) {
    std::vector<Write> unsent;
    for (const auto& link : links_) link->writes.Forsake(&unsent);
    queued_writes_.insert(queued_writes_.begin(), unsent.begin(), unsent.end());
    links_.clear();
    while (links_.size() < fresh.size()) links_.push_back(std::make_unique<Link>(client_id_));
    hash_seed_ = fresh[0].view.hash_seed;
  }
  // In the same life too: a server that took damaged memory over has dropped items whose records
  // may still be whole where they are remembered to be.
  if (Keep(Safeguard::kLocationsForgotten)) cache_.Clear();
  for (size_t i = 0; i < fresh.size(); ++i) {
    Link& link = *links_[i];
    link.connection = std::move(fresh[i].connection);
    link.region = link.connection->region();
    link.view = fresh[i].view;
    link.messages_in_flight = 0;
    link.reads_in_flight = 0;
    link.stale = false;
    link.confirm_due = true;
    stats_.retries += link.writes.Retry();
    scratch_.resize(link.connection->limits().message_bytes_max);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, link.connection->fd(), &event);
  }
  RestartSlots();
  for (uint32_t shard = 0; shard < shard_count(); ++shard) Confirm(shard);
}

bool Engine::alive() const {
  return std::ranges::all_of(links_, [](const auto& link) { return link->connection->alive(); });
}

bool Engine::Reconnect() {
  const Deadline now = Clock::now();
  if (now < next_attempt_) return false;
  if (auto connected = ConnectAll(now + std::min<Clock::duration>(options_.timeout, kAttemptMax));
      !connected) {
    down_ = connected.error();
    backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
    next_attempt_ = Clock::now() + backoff_;
    return false;
  }
  backoff_ = {};
  ++stats_.reconnects;
  if (awaited_control_id_ != 0) {
    awaited_control_id_ = 0;
    control_reply_ = Fail(Code::kUnavailable, "the server went away");
  }
  return true;
}

bool Engine::SendControl(Link* link, const verify::Request& request) {
  if (link->messages_in_flight >= kMessagesInFlightMax) return false;
  verify::MessageWriter message(scratch_, client_id_);
  message.Add(request);
  if (!link->connection->Send(message.Finish())) return false;
  ++link->messages_in_flight;
  return true;
}

void Engine::OnControlReply(const verify::Reply& reply) {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::kAsked && slot.ask_id == reply.request_id) {
      return OnAnswer(&slot, reply);
    }
  }
  if (reply.request_id != awaited_control_id_) return;
  awaited_control_id_ = 0;
  if (reply.status == Code::kOk) {
    control_reply_ = std::string(reply.value);
  } else {
    control_reply_ = std::unexpected(ErrorOfStatus(reply.status));
  }
}

bool Engine::ReceiveReplies(uint32_t shard) {
  Link* link = links_[shard].get();
  bool received = false;
  while (const auto message = link->connection->Receive()) {
    received = true;
    if (link->messages_in_flight > 0) --link->messages_in_flight;
    auto replies = MessageReader::Open(*message, client_id_, MessageReader::Holds::kReplies);
    if (replies && replies->superblock_version() > link->view.superblock_version) MarkStale(shard);
    while (replies) {
      const auto reply = replies->NextReply();
      if (!reply) break;
      if (reply->request_id >= kControlIds) {
        OnControlReply(*reply);
      } else {
        link->writes.OnReply(*reply);
      }
    }
  }
  return received;
}

bool Engine::Pump() {
  if (!alive()) return Reconnect();
  bool moved = StartQueuedGets();
  moved = DistributeWrites() || moved;
  moved = PostReads() || moved;
  moved = CollectReads() || moved;
  moved = StepSlots() || moved;
  for (uint32_t shard = 0; shard < shard_count(); ++shard) {
    Link* link = links_[shard].get();
    moved = Confirm(shard) || moved;
    moved =
        link->writes.Flush(link->connection.get(), scratch_, &link->messages_in_flight) || moved;
    moved = ReceiveReplies(shard) || moved;
  }
  if (moved) idle_since_ = {};
  return moved && alive();
}

Deadline Engine::NextEvent(Deadline otherwise) const {
  if (!alive()) otherwise = std::min(otherwise, next_attempt_);
  for (const auto& link : links_) otherwise = link->writes.EarliestDeadline(otherwise);
  for (const Slot& slot : slots_) {
    if (slot.state == Slot::State::kFree || slot.state == Slot::State::kDrained) continue;
    otherwise = std::min(otherwise, slot.deadline);
    // Rests are shorter than a sleep: stay awake.
    if (slot.state == Slot::State::kPaused) return {};
  }
  if (!queued_gets_.empty()) otherwise = std::min(otherwise, queued_gets_.front().deadline);
  if (!queued_writes_.empty()) otherwise = std::min(otherwise, queued_writes_.front().deadline);
  return otherwise;
}

void Engine::Expire(Deadline now) {
  ExpireSlots(now);
  ExpireQueued(now);
  const bool connected = alive();
  for (const auto& link : links_) link->writes.Expire(now, connected, down_);
}

bool Engine::ArmAll() {
  if (!alive()) return true;  // only time helps
  bool armed = true;
  for (const auto& link : links_) armed = link->connection->Arm() && armed;
  return armed;
}

void Engine::Idle(Deadline until) {
  const Deadline now = Clock::now();
  Expire(now);
  if (idle_since_ == Deadline{}) idle_since_ = now;
  // Asked once, before NextEvent asks: a server that dies from here on wakes us by its socket, and
  // is not slept through with the deadlines of a living one.
  const bool connected = alive();
  const Deadline wake = NextEvent(until);
  if (connected && now - idle_since_ < options_.spin) return;
  if (wake <= now) {
    ::sched_yield();
    return;
  }
  if (!ArmAll()) return;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(wake - now).count();
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  pollfd poll_fd{epoll_fd_, POLLIN, 0};
  // A dead connection stays readable; then only time helps.
  ::ppoll(&poll_fd, connected ? 1 : 0, &timeout, nullptr);
}

std::expected<std::string, Error> Engine::Control(uint32_t shard, verify::Operation operation) {
  const Deadline deadline = DeadlineFromNow();
  control_reply_.reset();
  bool sent = false;
  while (!control_reply_) {
    if (!sent && alive()) {
      verify::Request request;
      request.operation = operation;
      request.request_id = awaited_control_id_ = ++next_control_id_;
      sent = shard < links_.size() && SendControl(links_[shard].get(), request);
    }
    if (Pump()) continue;
    if (Clock::now() >= deadline) {
      awaited_control_id_ = 0;
      if (!alive()) return std::unexpected(down_);
      return Fail(Code::kTimeout, "the server does not answer (stopped or overloaded)");
    }
    Idle(deadline);
  }
  return std::move(*control_reply_);
}

// Bounded, since callbacks may start operations for ever.
size_t Engine::Poll() {
  more_ = true;
  for (int turn = 0; turn < kTurnsPerPoll && more_; ++turn) more_ = Pump() || !ArmAll();
  Expire(Clock::now());
  size_t left = queued_gets_.size() + queued_writes_.size() + busy_slots_;
  for (const auto& link : links_) left += link->writes.waiting();
  return left;
}

std::chrono::microseconds Engine::next_poll() const {
  const Deadline now = Clock::now();
  if (more_) return {};
  const Deadline wake = NextEvent(now + std::chrono::hours(1));
  return std::chrono::ceil<std::chrono::microseconds>(std::max(wake, now) - now);
}

// The last callbacks of what was left.
void Engine::AbandonAll() {
  closing_ = true;
  down_ = {Code::kUnavailable, "the client was destroyed"};
  for (const auto& link : links_) {
    link->connection.reset();
    link->region = {};
  }
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::kFree || slot.state == Slot::State::kDrained) continue;
    slot.sink.done(slot.sink.context, slot.sink.index, std::unexpected(down_));
  }
  for (const QueuedGet& get : std::exchange(queued_gets_, {})) {
    get.sink.done(get.sink.context, get.sink.index, std::unexpected(down_));
  }
  const auto queued = std::exchange(queued_writes_, {});
  std::vector<Write> unsent(queued.begin(), queued.end());
  for (const auto& link : links_) link->writes.Forsake(&unsent);
  for (const Write& write : unsent) {
    write.done(write.context, write.index, std::unexpected(down_));
  }
}

ClientStats Engine::stats() const {
  ClientStats stats = stats_;
  stats.bucket_reads = lookup_stats_.bucket_reads;
  stats.record_reads = lookup_stats_.record_reads;
  stats.reads = stats.bucket_reads + stats.record_reads;
  stats.known_reads = lookup_stats_.known_reads;
  stats.known_misses = lookup_stats_.known_misses;
  stats.torn_buckets = lookup_stats_.torn_buckets;
  stats.torn_records = lookup_stats_.torn_records;
  stats.confirmations = lookup_stats_.confirmations;
  stats.restarts = lookup_stats_.restarts;
  return stats;
}

}  // namespace plov
