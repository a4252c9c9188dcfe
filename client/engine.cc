#include "client/engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "client/server_pages.h"
#include "verify/counters.h"
#include "verify/slow_writes.h"

namespace plov {

using fabric::Clock;

namespace {

// A shorter rest is not worth a sleep.
constexpr std::chrono::microseconds kSleepMin{50};
// What a server that is not stopped takes for a reply, but for a slow disk.
constexpr Clock::duration kReplyTime = std::chrono::milliseconds(5);
constexpr int kTurnsPerPoll = 64;
// Lone GETs between two looks at the clock, whether the server is to be told of them.
constexpr uint64_t kGetsPerLook = 64;
// Turns of a busy GetMany before everything else gets one.
constexpr size_t kTurnsPerPump = 64;
// Turns that bring something, one after the other, before deadlines are looked at. Without it a
// server that always has one more message would keep a call for ever.
constexpr uint32_t kTurnsPerExpire = 256;
// Replies of a shard that are taken in one turn: as many as its messages in flight can hold.
constexpr uint32_t kRepliesPerTurn = 4096;

constexpr auto kLifeOver =
    "the server died or restarted with this write under way: whether it was applied cannot be told";
constexpr auto kClosed =
    "the client was closed with this write under way: whether it was applied cannot be told";

constexpr auto kNoLog = "this server keeps no log (plovd --log)";
constexpr auto kNotDurable =
    "not everything is durable yet: the server's disk is behind or fails, or the server is stopped";
constexpr auto kLifeOverUnsynced =
    "the server died or restarted after writes that no Sync had told of: whether its log has them "
    "cannot be told";

// Runs at the end of a scope, also when memory runs out in it.
template <typename Body>
struct Finally {
  Body body;
  ~Finally() { body(); }
};
template <typename Body>
Finally(Body) -> Finally<Body>;

}  // namespace

Engine::Engine(std::string_view uri, const ClientOptions& options)
    : uri_(uri),
      options_(options),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      gets_(options.window, &callbacks_),
      writes_(&callbacks_),
      started_(&gets_, &writes_, &callbacks_),
      flushes_(options.timeout, &callbacks_),
      spin_(options.spin),
      reports_(options.report_period) {}

std::expected<std::unique_ptr<Engine>, Error> Engine::Connect(std::string_view uri,
                                                              const ClientOptions& options) {
  std::unique_ptr<Engine> engine(new Engine(uri, options));
  if (!engine->epoll_) return FailErrno("cannot create an epoll", errno);
  auto peers =
      Peers::Connect(engine->uri_, options, &engine->callbacks_, engine->DeadlineFromNow());
  if (!peers) return std::unexpected(peers.error());
  engine->gets_.Reserve((*peers)->shard_count());
  engine->peers_ = std::move(*peers);
  engine->has_items_ = !engine->peers_->is_member();
  engine->writes_.Attach(engine->peers_.get());
  engine->started_.Attach(engine->peers_.get());
  if (engine->peers_->is_cluster()) engine->Watch(engine->peers_->oath_links().fd());
  for (const auto& peer : engine->peers_->all()) engine->Attach(peer.get());
  return engine;
}

Engine::~Engine() {
  if (peers_ == nullptr) return;
  const Error closed{Code::kUnavailable, "the client was closed"};
  started_.Close(closed);
  gets_.Close(closed);
  flushes_.Close(closed);
  writes_.Close(closed, kClosed);
}

void Engine::Attach(Peer* peer) {
  gets_.Attach(peers_.get(), *peer);
  if (!peer->is_up()) return;
  for (const auto& link : peer->life().links()) Watch(link->connection().fd());
}

void Engine::Watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

// Nothing of a former life is left: gets and writes are given the next one at once.
void Engine::BringUp(Peer* peer, std::unique_ptr<Life> next) {
  if (next == nullptr) {
    retries_ += Writes::Retry(&peer->life());
  } else {
    peers_->Reserve(peer->first_shard() + next->links().size());
    gets_.Reserve(peer->first_shard() + next->links().size());
    writes_.Detach(&peer->life(), kLifeOver);
    peer->Begin(std::move(next));
  }
  peers_->OnChanged(peer);
  ++reconnects_;
  Attach(peer);
}

bool Engine::Reconnect() {
  if (peers_->all_up()) return false;
  const Deadline now = Clock::now();
  Peer* peer = peers_->NextToTry(now);
  if (peer == nullptr) return false;
  auto next = peer->Attempt(peers_->AttemptEnd(*peer, now));
  if (next) BringUp(peer, std::move(*next));
  peers_->AfterAttempt(*peer, now);
  return next.has_value();
}

void Engine::TakeDown(Peer* peer) {
  for (uint32_t i = 0; i < peer->shard_count(); ++i) {
    const uint32_t shard = peer->first_shard() + i;
    bool moved = false;
    TakeReplies({peers_->link(shard), shard}, &moved);
  }
  gets_.Detach(*peer);
  controls_.OnDown(*peer);
  flushes_.AskAgain();
  for (const auto& link : peer->life().links()) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link->connection().fd(), nullptr);
  }
  peer->TakeDown();
  peers_->OnChanged(peer);
}

bool Engine::TakeDead() {
  if (!is_reset_ && peers_->alive()) return false;
  bool any = false;
  for (const auto& peer : peers_->all()) {
    if (!peer->is_up() || (peer->alive() && !is_reset_)) continue;
    TakeDown(peer.get());
    any = true;
  }
  is_reset_ = false;
  return any;
}

void Engine::Reset() noexcept { is_reset_ = true; }

void Engine::OnReply(const Peers::Live& one, const verify::Reply& reply) {
  if (reply.request_id < kControlIds) return peers_->writes(one.shard).OnReply(reply);
  if (controls_.OnReply(one.shard, reply) || flushes_.OnReply(one.shard, reply)) return;
  gets_.OnAnswer(one.link, reply);
}

void Engine::TakeReplies(const Peers::Live& one, bool* moved) {
  for (uint32_t taken = 0; taken < kRepliesPerTurn; ++taken) {
    const auto reply = one.link->NextReply();
    if (!reply) return;
    OnReply(one, *reply);
    *moved = true;
  }
}

bool Engine::Pump() {
  if (++turns_ % kTurnsPerExpire == 0) {
    const Deadline now = Clock::now();
    Expire(now);
    for (const Peers::Live& one : peers_->live()) Report(one.link, now);
  }
  bool moved = TakeDead();
  moved = Reconnect() || moved;
  moved = gets_.Tend() || moved;
  moved = writes_.Distribute() || moved;
  moved = flushes_.Turn(*peers_) || moved;
  // What has been READ is confirmed before more writes go: the server may have no room until then.
  for (const Peers::Live& one : peers_->live()) moved = one.link->Refresh() || moved;
  moved = gets_.Turn() || moved;
  if (peers_->loads()) moved = gets_.Collect() || moved;
  for (const Peers::Live& one : peers_->live()) {
    moved = one.link->Confirm() || moved;
    moved = peers_->writes(one.shard).Flush(one.link) || moved;
    TakeReplies(one, &moved);
  }
  if (moved) {
    spin_.End();
    slept_for_reply_ = false;
  }
  return moved;
}

Deadline Engine::NextEvent(Deadline otherwise) const {
  return flushes_.NextEvent(writes_.NextEvent(gets_.NextEvent(peers_->NextEvent(otherwise))));
}

void Engine::Expire(Deadline now) {
  peers_->LookAtOaths(now);
  TakeDead();
  gets_.Expire(now);
  writes_.Expire(now);
  flushes_.Expire(*peers_, now);
}

bool Engine::ArmAll() {
  bool armed = peers_->oath_links().Arm();
  for (const Peers::Live& one : peers_->live()) armed = one.link->connection().Arm() && armed;
  return armed;
}

// Of those that owe a reply.
bool Engine::OnServersCore() {
  bool is_here = false;
  for (const Peers::Live& one : peers_->live()) {
    is_here = one.link->OnServersCore() || is_here;
  }
  return is_here;
}

void Engine::Report(Link* link, Deadline now) {
  reports_.Tell(link, now, [this] {
    ClientStats all;
    AddTo(&all);
    return all;
  });
}

// Once in a wait, for the usual time of a reply, where there is only one link that can bring one. A
// server that ends is noticed after that.
bool Engine::SleepForReply(Clock::duration left) {
  if (std::exchange(slept_for_reply_, true)) return false;
  Link* only = nullptr;
  for (const Peers::Live& one : peers_->live()) {
    if (!one.link->awaits_reply()) continue;
    if (only != nullptr) return false;
    only = one.link;
  }
  return only != nullptr && only->connection().SleepForMessage(std::min(left, kReplyTime));
}

void Engine::Idle(Deadline until) {
  const Deadline now = Clock::now();
  Expire(now);
  const Deadline wake = NextEvent(until);
  if (!peers_->live().empty() && spin_.GoesOn(now, OnServersCore())) return;
  if (wake < now + kSleepMin) {
    ::sched_yield();
    return;
  }
  if (SleepForReply(wake - now)) return spin_.End();
  if (!ArmAll()) return;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(wake - now).count();
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  pollfd poll_fd{epoll_.get(), POLLIN, 0};
  // A server that died since Expire looked has made it readable.
  ::ppoll(&poll_fd, 1, &timeout, nullptr);
  spin_.End();
}

void Engine::AwaitStarted(std::string_view key) {
  while (started_.Has(key)) {
    if (!Pump()) Idle(DeadlineFromNow());
  }
}

void Engine::AwaitStarted(std::span<const std::string_view> keys) {
  if (started_.count() == 0) return;
  for (const std::string_view key : keys) AwaitStarted(key);
}

// The common case takes one turn after the other; whatever is rare goes the general way.
void Engine::GoAlone(plov::Get* get) {
  if (get->ended()) return;
  if (get->state == plov::Get::State::kParked) return;
  if (gets_.begun() % kGetsPerLook == 0) Report(get->link, Clock::now());
  if (!is_reset_ && peers_->loads() && get->link->quiet()) gets_.GoAlone(get);
}

Client::GetResult Engine::Get(std::string_view key, std::optional<std::span<std::byte>> into,
                              std::optional<Deadline> deadline) {
  if (started_.count() > 0) AwaitStarted(key);
  plov::Get* get = gets_.Begin(key, into);
  const Finally end{[this] { gets_.EndLone(); }};
  GoAlone(get);
  if (!get->ended()) get->deadline = deadline ? *deadline : DeadlineFromNow();
  while (!get->ended()) {
    if (!Pump()) Idle(get->deadline);
  }
  return gets_.ResultOf(get);
}

std::optional<Client::GetResult> Engine::TryGet(std::string_view key) {
  if (is_reset_ || !peers_->loads() || started_.Has(key)) return std::nullopt;
  plov::Get* get = gets_.Begin(key, std::nullopt);
  const Finally end{[this] { gets_.EndLone(); }};
  GoAlone(get);
  if (!get->ended()) return std::nullopt;
  return gets_.ResultOf(get);
}

// One that is too old is left for another.
std::expected<std::chrono::microseconds, Error> Engine::Age(std::string_view key) {
  if (!KeyIsGood(key)) return std::unexpected(BadKey());
  if (!peers_->has_ages()) return std::chrono::microseconds(0);
  const Deadline deadline = DeadlineFromNow();
  AwaitGets(deadline);
  const uint32_t shard = ShardOf(key);
  while (true) {
    if (auto up = AwaitShard(shard, deadline); !up) return std::unexpected(up.error());
    Link* link = peers_->link(shard);
    if (!link->has_age()) return std::chrono::microseconds(0);
    const auto age_us = link->ReadAge(deadline);
    if (age_us) return std::chrono::microseconds(*age_us);
    if (Clock::now() >= deadline) return std::unexpected(age_us.error());
    link->Depose();
  }
}

std::expected<ServerTime, Error> Engine::Time(std::string_view key) {
  if (!KeyIsGood(key)) return std::unexpected(BadKey());
  Link* link = peers_->link(ShardOf(key));
  if (link == nullptr || !link->alive() || is_reset_) {
    return Fail(Code::kUnavailable, "there is no connection to the server");
  }
  const uint64_t now_us = BootUs();
  link->RefreshClock(now_us);
  const ServerClock::Bounds bounds = link->clock().At(now_us);
  return ServerTime{bounds.earliest_us, bounds.latest_us};
}

void Engine::GetMany(std::span<const std::string_view> keys,
                     void (*done)(void*, size_t, Client::GetResult), void* context,
                     std::span<Evidence> evidence) {
  HasMemory([&] { AwaitStarted(keys); });
  Gets::Many many{.keys = keys,
                  .done = done,
                  .context = context,
                  .evidence = evidence,
                  .deadline = DeadlineFromNow()};
  gets_.BeginMany(&many);
  const Finally end{[this] { gets_.EndMany(); }};
  const auto go_on = [&] {
    if (!gets_.has_groups()) gets_.BeginKeys();
    bool moved = Pump();
    for (size_t turns = 0; turns < kTurnsPerPump && many.left > 0 && gets_.Turn(); ++turns) {
      moved = true;
    }
    if (moved) {
      many.deadline = DeadlineFromNow();
    } else if (many.left > 0) {
      Idle(NextEvent(many.deadline));
    }
  };
  while (many.left > 0 && !callbacks_.failed()) {
    if (!HasMemory(go_on)) gets_.FailMany(NoMemory());
  }
}

bool Engine::HasMemory(auto&& body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    Reset();
    return false;
  }
}

WriteResult Engine::DoWrite(Write write, std::optional<Deadline> deadline) {
  if (started_.count() > 0) AwaitStarted(write.key);
  std::optional<WriteResult> result;
  write.done = [](void* context, size_t, WriteResult got) {
    *static_cast<std::optional<WriteResult>*>(context) = std::move(got);
  };
  write.context = &result;
  write.deadline = deadline ? *deadline : DeadlineFromNow();
  writes_.Queue(write);
  const Finally end{[&] {
    if (!result) writes_.Forget(&result);
  }};
  while (!result) {
    const bool has_memory = HasMemory([&] {
      if (!Pump()) Idle(write.deadline);
    });
    if (!has_memory) writes_.Cancel(&result);
  }
  return std::move(*result);
}

// Who READs needs no reply with a value: it was this one when its expiry changed, or all begins anew.
Client::GetResult Engine::GetAndTouch(std::string_view key, Lifetime ttl) {
  if (ttl.duration().count() < 0) return std::unexpected(BadTtl());
  const Deadline deadline = DeadlineFromNow();
  while (true) {
    auto got = Get(key, std::nullopt, deadline);
    if (!got || !*got) return got;
    auto touched = DoWrite(MakeTouch(key, ttl, (*got)->version), deadline);
    if (touched) {
      (*got)->version = touched->version;
      return got;
    }
    if (touched.error().code == Code::kNotFound) return std::nullopt;
    const bool is_over = touched.error().code != Code::kVersionMismatch || Clock::now() >= deadline;
    if (is_over) return std::unexpected(std::move(touched.error()));
  }
}

void Engine::WriteMany(size_t count, const std::function<Write(size_t)>& make,
                       const std::function<void(size_t, WriteResult)>& done) {
  struct Tally {
    const std::function<void(size_t, WriteResult)>* done;
    size_t left;
    bool moved;  // something has ended otherwise than by its deadline
  } tally{&done, count, true};
  const Finally end{[&] {
    if (tally.left > 0) writes_.Forget(&tally);
  }};
  size_t next = 0;
  Deadline deadline;  // of items that begin now: a server that answers none of them has it once
  const auto go_on = [&] {
    if (std::exchange(tally.moved, false)) deadline = DeadlineFromNow();
    for (; next < count && writes_.queued() < kWritesMax; ++next) {
      Write write = make(next);
      if (started_.count() > 0) AwaitStarted(write.key);
      write.index = next;
      write.context = &tally;
      write.deadline = deadline;
      write.done = [](void* tally_context, size_t index, WriteResult result) {
        auto* mine = static_cast<Tally*>(tally_context);
        --mine->left;
        const bool is_late = !result && (result.error().code == Code::kTimeout ||
                                         result.error().code == Code::kUnavailable);
        mine->moved = mine->moved || !is_late;
        (*mine->done)(index, std::move(result));
      };
      writes_.Queue(write);
    }
    if (!Pump()) Idle(deadline);
  };
  while (tally.left > 0 && !callbacks_.failed()) {
    if (HasMemory(go_on)) continue;
    writes_.Cancel(&tally);
    for (; next < count && !callbacks_.failed(); ++next) {
      callbacks_.Run([&] { done(next, std::unexpected(NoMemory())); });
      --tally.left;
    }
  }
}

Controls::Result Engine::Control(const verify::Request& request, Controls::To to) {
  const Deadline deadline = DeadlineFromNow();
  controls_.Begin(request, to);
  const Finally end{[this] { controls_.End(); }};
  while (!controls_.done()) {
    TakeDead();
    controls_.Send(*peers_);
    const bool moved = Pump();
    if (controls_.done()) break;
    if (Clock::now() >= deadline) {
      if (const Error* why = controls_.WhyNotAsked(*peers_)) return std::unexpected(*why);
      return Fail(Code::kTimeout, "the server does not answer (stopped or overloaded)");
    }
    if (!moved) Idle(deadline);
  }
  return controls_.Take();
}

// The present life of a server can vouch only for what it has acknowledged itself.
std::expected<void, Error> Engine::Sync() {
  for (const auto& peer : peers_->all()) peer->BeginSync();
  const auto replies = Control(verify::Operation::kSync);
  if (!replies) {
    const Code code = replies.error().code;
    if (code == Code::kInvalidArgument) return Fail(code, kNoLog);
    return Fail(code, code == Code::kTimeout ? kNotDurable : replies.error().message);
  }
  bool is_lost = false;
  for (const auto& peer : peers_->all()) is_lost = peer->EndSync() || is_lost;
  if (is_lost) return Fail(Code::kUnknown, kLifeOverUnsynced);
  return {};
}

Client::FlushResult Engine::Flush(std::chrono::seconds delay) {
  std::optional<Client::FlushResult> result;
  flushes_.Start(delay, [&result](Client::FlushResult got) { result = std::move(got); });
  const auto go_on = [this] {
    if (!Pump()) Idle(Deadline::max());
  };
  while (!result) {
    if (!HasMemory(go_on)) flushes_.Close(NoMemory());
  }
  return std::move(*result);
}

std::expected<ScanSummary, Error> Engine::Scan(ScanCallback* item, std::optional<uint64_t> from) {
  if (gets_.under_way() > 0) return Fail(Code::kInvalidArgument, "a scan needs no GET under way");
  plov::Scan scan(peers_.get(), options_.timeout, &callbacks_, item,
                  [this](uint32_t shard) { return AwaitShard(shard, DeadlineFromNow()); });
  return from ? scan.RunFrom(*from) : scan.Run();
}

void Engine::AwaitGets(Deadline deadline) {
  while (gets_.under_way() > 0) {
    if (!Pump()) Idle(deadline);
  }
}

std::expected<void, Error> Engine::AwaitShard(uint32_t shard, Deadline deadline) {
  while (shard < shard_count()) {
    Link* link = peers_->link(shard);
    if (link != nullptr && link->alive() && !is_reset_) return {};
    const bool moved = Pump();
    const Error* down = shard < shard_count() ? peers_->down(shard) : nullptr;
    if (down != nullptr && Clock::now() >= deadline) return std::unexpected(*down);
    if (!moved) Idle(deadline);
  }
  return Fail(Code::kUnavailable, "the server was restarted with fewer shards");
}

std::expected<std::vector<std::string>, Error> Engine::ServerStats(Freshness freshness) {
  if (freshness == Freshness::kNow) {
    const auto asked = Control(verify::Operation::kStats);
    if (!asked) return std::unexpected(asked.error());
  }
  std::vector<std::string> texts;
  const auto read = ReadPages(verify::kCountersOffset, verify::kPageBytes,
                              [&texts](const Link& link, std::span<const std::byte> page) {
                                return AppendStats(page, link.clock().At(BootUs()), &texts);
                              });
  if (!read) return std::unexpected(read.error());
  return texts;
}

std::expected<std::vector<SlowWrite>, Error> Engine::SlowWrites() {
  std::vector<SlowWrite> all;
  const auto read = ReadPages(verify::kSlowWritesOffset, verify::kSlowWritesBytes,
                              [&all](const Link& link, std::span<const std::byte> pages) {
                                return AppendSlowWrites(link.shard(), pages, &all);
                              });
  if (!read) return std::unexpected(read.error());
  return all;
}

std::expected<void, Error> Engine::ReadPages(
    uint64_t offset, uint32_t bytes,
    const std::function<std::expected<void, Error>(const Link&, std::span<const std::byte>)>&
        take) {
  const Deadline deadline = DeadlineFromNow();
  AwaitGets(deadline);
  for (uint32_t shard = 0; shard < shard_count(); ++shard) {
    if (!peers_->is_wanted(shard)) continue;
    if (auto up = AwaitShard(shard, deadline); !up) return up;
    Link* link = peers_->link(shard);
    const auto pages = link->ReadNow(offset, bytes, deadline);
    if (!pages) return std::unexpected(pages.error());
    if (auto taken = take(*link, *pages); !taken) return taken;
  }
  return {};
}

// Bounded, since callbacks may start operations for ever.
size_t Engine::Poll() {
  more_ = true;
  for (int turn = 0; turn < kTurnsPerPoll && more_; ++turn) more_ = Pump() || !ArmAll();
  Expire(Clock::now());
  return started();
}

std::chrono::microseconds Engine::next_poll() const {
  if (more_) return {};
  const Deadline now = Clock::now();
  const Deadline wake = NextEvent(now + std::chrono::hours(1));
  return std::chrono::ceil<std::chrono::microseconds>(std::max(wake, now) - now);
}

void Engine::AddTo(ClientStats* stats) const {
  stats->reconnects += reconnects_;
  stats->retries += retries_;
  gets_.AddTo(stats);
  peers_->AddTo(stats);
}

}  // namespace plov
