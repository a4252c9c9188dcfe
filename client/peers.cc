#include "client/peers.h"

#include <algorithm>
#include <utility>

#include "fabric/random.h"

namespace plov {

using fabric::Clock;

namespace {

// Of a server of its own, which has all that there is.
constexpr std::chrono::seconds kAttemptMax{1};
// Of each shard of a cluster, when a client starts: the others wait.
constexpr std::chrono::milliseconds kFirstAttemptMax{200};
// Attempts that get no answer have one part of so many of the time.
constexpr int kRestParts = 10;
constexpr std::chrono::milliseconds kAskMax{50};
// Between two questions for the map that did not help: a configuration follows another within milliseconds, or the time in
// which a server is taken for dead.
constexpr Clock::duration kBetweenAsksMin = std::chrono::milliseconds(4);
constexpr Clock::duration kBetweenAsksMax = std::chrono::milliseconds(50);
// A reply takes less, but for a primary whose members change.
constexpr std::chrono::milliseconds kBetweenLooks{10};

constexpr auto kNoMember = "none of the cluster's shards is on the server at ";

}  // namespace

Peers::Peers(const ClientOptions& options, Callbacks* callbacks)
    : options_(options), callbacks_(callbacks), first_replica_(fabric::RandomId() >> 32) {}

std::expected<std::unique_ptr<Peers>, Error> Peers::Connect(const std::string& uri,
                                                            const ClientOptions& options,
                                                            Callbacks* callbacks,
                                                            Deadline deadline) {
  std::unique_ptr<Peers> peers(new Peers(options, callbacks));
  auto seeds = Cluster::SeedsOf(uri);
  const auto connected = seeds.empty() ? peers->ConnectServer(uri, deadline)
                                       : peers->ConnectCluster(std::move(seeds), deadline);
  if (!connected) return std::unexpected(connected.error());
  return peers;
}

std::expected<void, Error> Peers::ConnectServer(const std::string& uri, Deadline deadline) {
  auto peer =
      std::make_unique<Peer>(Target{.uris = {uri}}, 0, options_, oath_links_.get(), callbacks_);
  const auto connected = peer->Attempt(deadline);
  if (!connected) return ConnectMember(uri, connected.error(), deadline);
  Reserve(peer->shard_count());
  peers_.push_back(std::move(peer));
  OnChanged(peers_.front().get());
  return {};
}

// An administrator of a cluster's server is let in where only its own shards are.
std::expected<void, Error> Peers::ConnectMember(const std::string& uri, const Error& error,
                                                Deadline deadline) {
  if (!options_.administers || error.code != Code::kInvalidArgument) return std::unexpected(error);
  member_ = uri;
  if (!ConnectCluster({uri}, deadline)) return std::unexpected(error);
  if (live_.empty()) return Fail(Code::kUnavailable, kNoMember + uri);
  return {};
}

std::expected<void, Error> Peers::ConnectCluster(const std::vector<std::string>& seeds,
                                                 Deadline deadline) {
  auto cluster = Cluster::Join(seeds, deadline);
  if (!cluster) return std::unexpected(std::move(cluster.error()));
  if (auto opened = oath_links_->Open(); !opened) return opened;
  cluster_ = std::move(*cluster);
  AddPeers();
  ConnectAll(deadline);
  return {};
}

// Whoever administers a server has all shards that it holds, and items of none.
Target Peers::TargetOf(const Cluster::Shard& shard) const {
  if (has_ages()) return AnyReplicaOf(shard);
  if (member_.empty()) return shard.target;
  Target target{.part = shard.target.part};
  for (const Oaths::Expected& member : shard.target.oaths) {
    if (std::ranges::count(member.uris, member_) > 0) target.uris = member.uris;
  }
  return target;
}

// One after the other, each time from the same one on; clients begin with different ones. A primary without replicas has
// nobody to tell how old it is: it is seen to be the primary.
Target Peers::AnyReplicaOf(const Cluster::Shard& shard) const {
  const auto& members = shard.target.oaths;
  if (members.size() == 1) return shard.target;
  Target target{.part = shard.target.part,
                .epoch = shard.epoch,
                .max_age_us = static_cast<uint64_t>(options_.max_age.count())};
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& uris =
        members[(first_replica_ + shard.target.part->shard + i) % members.size()].uris;
    target.uris.insert(target.uris.end(), uris.begin(), uris.end());
  }
  return target;
}

void Peers::AddPeers() {
  const auto& shards = cluster_->shards();
  options_.location_cache_bytes /= shards.size();
  hash_seed_ = shards.front().target.part->hash_seed;
  shard_count_ = static_cast<uint32_t>(shards.size());
  Reserve(shard_count_);
  for (const Cluster::Shard& shard : shards) {
    slots_.resize(size_t{shard.slot_last} + 1, static_cast<uint16_t>(peers_.size()));
    const auto first = static_cast<uint32_t>(peers_.size());
    peers_.push_back(
        std::make_unique<Peer>(TargetOf(shard), first, options_, oath_links_.get(), callbacks_));
  }
}

// What cannot be reached now is tried again later. A server that does not answer is waited for once.
void Peers::ConnectAll(Deadline deadline) {
  const Peer* silent = nullptr;
  for (const auto& peer : peers_) {
    const Deadline now = Clock::now();
    if (now >= deadline) break;
    if (!IsWanted(*peer)) continue;
    if (silent != nullptr && silent->target().uris == peer->target().uris) continue;
    static_cast<void>(peer->Attempt(std::min(deadline, now + kFirstAttemptMax)));
    if (peer->is_silent()) silent = peer.get();
  }
  for (const auto& peer : peers_) Enter(peer.get());
  FindLive();
  FindNextTry();
}

void Peers::Reserve(size_t shard_count) {
  shards_.resize(std::max(shards_.size(), shard_count));
  live_.reserve(shards_.size());
}

void Peers::Enter(Peer* peer) {
  Life& life = peer->life();
  for (uint32_t i = 0; i < peer->shard_count(); ++i) {
    shards_[peer->first_shard() + i] = {peer->is_up() ? life.links()[i].get() : nullptr,
                                        &life.writes()[i], peer};
  }
}

// The next life of a server of its own may have another hash and other shards.
void Peers::OnChanged(Peer* peer) {
  if (!cluster_ && peer->is_up()) {
    shard_count_ = peer->shard_count();
    hash_seed_ = peer->life().links().front()->view().hash_seed;
  }
  Enter(peer);
  FindLive();
  FindNextTry();
}

void Peers::FindLive() {
  live_.clear();
  for (uint32_t shard = 0; shard < shard_count_; ++shard) {
    if (Link* link = shards_[shard].link) live_.push_back({link, shard});
  }
  loads_ = std::ranges::none_of(live_, [](const Live& one) {
    return one.link->region().empty() || !one.link->oaths().loads();
  });
}

void Peers::FindNextTry() {
  next_try_ = Deadline::max();
  for (const auto& peer : peers_) {
    if (!peer->is_up()) next_try_ = std::min(next_try_, TryTime(*peer));
    if (Rests(*peer)) next_try_ = std::min(next_try_, next_ask_);
  }
}

Deadline Peers::TryTime(const Peer& peer) const {
  if (!IsWanted(peer)) return Deadline::max();
  return peer.is_silent() ? std::max(peer.next_attempt(), rest_end_) : peer.next_attempt();
}

bool Peers::Rests(const Peer& peer) const {
  return cluster_ && !peer.is_up() && peer.is_silent() && IsWanted(peer);
}

Peer* Peers::NextToTry(Deadline now) {
  // Others may have taken over from one that is not tried for a while.
  if (now >= next_try_ && now >= next_ask_ &&
      std::ranges::any_of(peers_, [this](const auto& peer) { return Rests(*peer); })) {
    AskCluster();
    FindNextTry();
  }
  for (size_t i = 0; now >= next_try_ && i < peers_.size(); ++i) {
    last_tried_ = (last_tried_ + 1) % peers_.size();
    Peer* peer = peers_[last_tried_].get();
    if (!peer->is_up() && TryTime(*peer) <= now) return peer;
  }
  return nullptr;
}

Deadline Peers::AttemptEnd(const Peer& peer, Deadline now) const {
  const std::chrono::microseconds most = cluster_ ? peer.attempt_max() : kAttemptMax;
  return now + std::min(options_.timeout, most);
}

void Peers::AfterAttempt(const Peer& peer, Deadline begun) {
  if (!cluster_) return FindNextTry();
  for (const auto& other : peers_) {
    if (other->is_up() || other->target().uris != peer.target().uris) continue;
    other->TryNext(peer.is_up() ? Deadline{} : peer.next_attempt());
  }
  const Deadline now = Clock::now();
  if (peer.is_up()) between_asks_ = {};
  if (!peer.is_up() && now >= next_ask_) AskCluster();
  if (peer.is_silent()) rest_end_ = Clock::now() + kRestParts * (now - begun);
  FindNextTry();
}

void Peers::AskCluster() {
  const Deadline end = Clock::now() + std::min<Clock::duration>(options_.timeout, kAskMax);
  const auto& shards = cluster_->AskAny(end);
  for (size_t i = 0; i < peers_.size(); ++i) peers_[i]->MoveTo(TargetOf(shards[i]));
  between_asks_ = std::clamp(2 * between_asks_, kBetweenAsksMin, kBetweenAsksMax);
  next_ask_ = Clock::now() + between_asks_;
}

void Peers::LookAtOaths(Deadline now) {
  if (!cluster_) return;
  oath_links_->Sweep();
  const bool is_due = now >= next_look_;
  if (is_due) next_look_ = now + kBetweenLooks;
  for (const Live& one : live_) {
    const Oaths& oaths = one.link->oaths();
    if (!oaths.alive()) one.link->Depose();
    if (!is_due || !one.link->awaits_reply()) continue;
    if (loads_ && one.link->has_age()) one.link->IsNewEnough(BootUs());
    if (!oaths.StoodLast(loads_)) one.link->Depose();
    if (!loads_) oaths.Want(oath_links_->round());
  }
}

Deadline Peers::NextEvent(Deadline otherwise) const {
  const bool looks = cluster_ && std::ranges::any_of(live_, [](const Live& one) {
                       return one.link->awaits_reply();
                     });
  return std::min({otherwise, next_try_, looks ? next_look_ : Deadline::max()});
}

void Peers::AddTo(ClientStats* stats) const {
  if (cluster_) stats->map_fetches += cluster_->fetches();
  for (const auto& peer : peers_) peer->AddTo(stats);
}

}  // namespace plov
