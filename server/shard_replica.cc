#include "server/shard_replica.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "fabric/random.h"

namespace plov::server {

using cluster::StreamMessage;

namespace {

// Of the time between two beats: how late one may be.
constexpr uint64_t kTicksPerBeat = 4;
// Messages that are taken before others get on, and before a tick.
constexpr int kMessagesPerStep = 64;
constexpr int kMessagesPerTick = 4096;
// Of the time in which a silent primary is suspected: a server that comes and goes takes over each time no more often.
constexpr uint64_t kSteadyPeriods = 10;
// Likewise: what servers that start together may need more or less of.
constexpr uint64_t kReturnPeriods = 10;

bool Has(const std::vector<cluster::Member>& members, const cluster::Member& one) {
  return std::ranges::find(members, one) != members.end();
}

cluster::ReplicaSettings SettingsOf(const ShardReplica::Options& options) {
  auto settings = cluster::SettingsOf(options.config);
  settings.has_log = options.has_log;
  if (options.has_log) settings.return_us = kReturnPeriods * settings.detect_us;
  settings.past_bytes = options.past_bytes;
  settings.past_bytes_max = options.past_bytes_max;
  return settings;
}

}  // namespace

ShardReplica::ShardReplica(const Server& server, ReplicaOwner* owner, Options options,
                           uint64_t now_us)
    : server_(server),
      owner_(owner),
      shard_(options.shard),
      stream_{options.config.cluster_id, options.shard},
      name_(options.self.server),
      waiting_bytes_max_(options.waiting_bytes_max),
      beat_us_(cluster::SettingsOf(options.config).beat_us),
      steady_us_(kSteadyPeriods * cluster::SettingsOf(options.config).detect_us),
      now_us_(now_us),
      tick_us_(now_us),
      links_epoll_(fabric::CreateEpoll({}).value_or(fabric::Fd())),
      replica_(std::move(options.self), SettingsOf(options), std::move(options.memory), this,
               now_us),
      port_(stream_, options.message_bytes_max,
            [this](const StreamMessage& message) { replica_.Receive(message, now_us_); }) {
  server_.agent->Read(shard_);
}

// What has arrived is received before a tick may take its sender for silent.
bool ShardReplica::Step(uint64_t now_us) {
  now_us_ = now_us;
  bool did = false;
  const int messages = now_us < tick_us_ ? kMessagesPerStep : kMessagesPerTick;
  for (int i = 0; i < messages && port_.Step(); ++i) did = true;
  if (port_.HasMoved()) replica_.HearPart(now_us);
  did |= replica_.GoOn();
  for (auto& [server, link] : links_) {
    did |= link.Step();
    if (link.HasMoved()) replica_.HearOf(server, now_us);
    if (link.TakeLoss()) replica_.Lost(server, now_us);
  }
  if (has_news_.load(std::memory_order_relaxed)) {
    TakeNews(now_us);
    did = true;
  }
  if (epoch_ != replica_.epoch()) OnEpoch(now_us);
  if (now_us < tick_us_) return did;
  // At the same times for all shards of a server, which wakes for all of them once.
  const uint64_t period_us = beat_us_ / kTicksPerBeat;
  tick_us_ = (now_us / period_us + 1) * period_us;
  if (leaves_.load(std::memory_order_relaxed)) {
    replica_.Leave(leaves_for_good_.load(std::memory_order_relaxed));
  }
  LookAtPreferred(now_us);
  replica_.Tick(now_us);
  if (leaves_.load(std::memory_order_relaxed)) {
    has_left_.store(replica_.has_left(), std::memory_order_relaxed);
  }
  return true;
}

std::vector<int> ShardReplica::fds() const {
  std::vector<int> fds = port_.fds();
  if (links_epoll_) fds.push_back(links_epoll_.get());
  return fds;
}

bool ShardReplica::Arm() {
  bool armed = !has_news_.load(std::memory_order_relaxed) && port_.Arm();
  for (auto& [server, link] : links_) armed = link.Arm() && armed;
  return armed;
}

// The flag goes down before there is a look: news that come after it put it up again.
void ShardReplica::TakeNews(uint64_t now_us) {
  has_news_.exchange(false, std::memory_order_acquire);
  while (true) {
    const auto news = server_.agent->Take(shard_);
    if (news.outcome && news.proposer == replica_.self().incarnation) {
      Tell(*news.outcome);
      replica_.Heard(*news.outcome, now_us);
    }
    if (news.held) replica_.Learn(*news.held, now_us);
    if (!news.outcome && !news.held) return;
  }
}

// Of each configuration the one that proposed it, and nobody else.
void ShardReplica::Tell(const cluster::Outcome& outcome) const {
  if (outcome.verdict != cluster::Verdict::kAccepted || !replica_.held()) return;
  const cluster::Shard& before = replica_.held()->shard;
  const cluster::Shard& now = outcome.held->shard;
  std::string what;
  if (before.primary != now.primary) what = " takes over from " + before.primary;
  for (const auto& member : before.in_sync) {
    if (!Has(now.in_sync, member)) what += " drops " + member.server;
  }
  std::string in_sync;
  for (const auto& member : now.in_sync) {
    if (!Has(before.in_sync, member)) what += " adds " + member.server;
    in_sync += (in_sync.empty() ? "" : ",") + member.server;
  }
  spdlog::info("shard {}: {}{}; in sync in epoch {}: {}", shard_, name_,
               what.empty() ? " begins" : what, now.epoch, in_sync);
}

// Whoever is the primary next does not wait until the others have connected to it.
void ShardReplica::OnEpoch(uint64_t now_us) {
  epoch_ = replica_.epoch();
  epoch_since_us_ = now_us;
  for (const auto& member : replica_.held()->shard.in_sync) {
    StreamLink* link = member.server == name_ ? nullptr : LinkTo(member.server);
    if (link != nullptr) link->Connect();
  }
}

void ShardReplica::LookAtPreferred(uint64_t now_us) {
  const uint64_t preferred = preferred_.load(std::memory_order_relaxed);
  if (preferred == 0 || preferred == replica_.self().incarnation) return;
  const bool is_steady = now_us >= epoch_since_us_ + steady_us_;
  if (is_steady || leaves_.load(std::memory_order_relaxed)) replica_.HandOverTo(preferred);
}

void ShardReplica::ShowOath(uint64_t epoch) {
  if (epoch == 0) return server_.oaths->ClearOath(shard_);
  server_.oaths->ShowOath(shard_, epoch, replica_.self().incarnation);
}

uint64_t ShardReplica::ComeBack(const char* why, const std::vector<cluster::Entry>& dropped) {
  owner_->Dropped(dropped);
  spdlog::info("shard {}: {}'s replica asks to join with what it has: {}", shard_, name_, why);
  return fabric::RandomId();
}

bool ShardReplica::CanPropose() const {
  return server_.coordinator->state().kind == cluster::State::Kind::kConnected;
}

void ShardReplica::Propose(const cluster::Held& base, const cluster::Shard& next) {
  server_.agent->Propose(shard_, replica_.self().incarnation, base, next);
}

void ShardReplica::Send(const std::string& server, const StreamMessage& message) {
  StreamLink* link = LinkTo(server);  // without one it is lost, as others are
  if (link != nullptr) link->Send(cluster::Encode(stream_, message));
}

StreamLink* ShardReplica::LinkTo(const std::string& server) {
  const auto found = links_.find(server);
  if (found != links_.end()) return &found->second;
  Dialer* dialer = server_.dialers->Find(server);
  if (dialer == nullptr) return nullptr;
  const uint32_t shard = StreamShardOf(shard_);
  return &links_.try_emplace(server, dialer, shard, links_epoll_.get(), waiting_bytes_max_)
              .first->second;
}

}  // namespace plov::server
