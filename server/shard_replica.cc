#include "server/shard_replica.h"

#include <algorithm>

namespace plov::server {

using cluster::StreamMessage;

namespace {

// Of the time between two beats: how late one may be.
constexpr uint64_t kTicksPerBeat = 4;
// Messages that are taken before others get on, and before a tick.
constexpr int kMessagesPerStep = 64;
constexpr int kMessagesPerTick = 4096;

}  // namespace

ShardReplica::ShardReplica(const Server& server, ReplicaOwner* owner, Options options,
                           uint64_t now_us)
    : server_(server),
      owner_(owner),
      shard_(options.shard),
      stream_{options.config.cluster_id, options.shard},
      self_(options.self),
      waiting_bytes_max_(options.waiting_bytes_max),
      beat_us_(cluster::SettingsOf(options.config).beat_us),
      now_us_(now_us),
      tick_us_(now_us),
      replica_(std::move(options.self), cluster::SettingsOf(options.config),
               std::move(options.memory), this, now_us),
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
  for (auto& [server, link] : links_) did |= link.Step();
  if (has_news_.load(std::memory_order_relaxed)) {
    TakeNews(now_us);
    did = true;
  }
  if (now_us < tick_us_) return did;
  tick_us_ = now_us + beat_us_ / kTicksPerBeat;
  replica_.Tick(now_us);
  return true;
}

bool ShardReplica::has_waiting() const {
  return std::ranges::any_of(links_,
                             [](const auto& link) { return link.second.waiting_bytes() > 0; });
}

// The flag goes down before there is a look: news that come after it put it up again.
void ShardReplica::TakeNews(uint64_t now_us) {
  has_news_.exchange(false, std::memory_order_acquire);
  while (true) {
    const auto news = server_.agent->Take(shard_);
    if (news.outcome && news.proposer == self_.incarnation) replica_.Heard(*news.outcome, now_us);
    if (news.held) replica_.Learn(*news.held, now_us);
    if (!news.outcome && !news.held) return;
  }
}

void ShardReplica::ShowOath(uint64_t epoch) {
  if (epoch == 0) return server_.oaths->ClearOath(shard_);
  server_.oaths->ShowOath(shard_, epoch, self_.incarnation);
}

bool ShardReplica::CanPropose() const {
  return server_.coordinator->state().kind == cluster::State::Kind::kConnected;
}

void ShardReplica::Propose(const cluster::Held& base, const cluster::Shard& next) {
  server_.agent->Propose(shard_, self_.incarnation, base, next);
}

void ShardReplica::Send(const std::string& server, const StreamMessage& message) {
  auto link = links_.find(server);
  if (link == links_.end()) {
    Dialer* dialer = server_.dialers->Find(server);
    if (dialer == nullptr) return;  // it is lost, as others are
    const uint32_t shard = StreamShardOf(shard_);
    link = links_.try_emplace(server, dialer, shard, waiting_bytes_max_).first;
  }
  link->second.Send(cluster::Encode(stream_, message));
}

}  // namespace plov::server
