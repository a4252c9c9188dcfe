#include "server/cluster_replicas.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "cluster/planner.h"
#include "fabric/random.h"
#include "server/cluster_member.h"
#include "server/hosted_shards.h"

namespace plov::server {

namespace {

// How often one that rests is asked whether it is due.
constexpr std::chrono::seconds kRestPeriod{1};

// Some each second while no ZooKeeper is there; ClusterWatch says it once.
void LogLine(const char* line) { spdlog::debug("ZooKeeper's client: {}", line); }

std::expected<std::unique_ptr<cluster::Coordinator>, Error> Connect(
    const ReplicationOptions& options) {
  return cluster::Open(options.coordinator, {.auth_file = options.auth_file, .log = LogLine});
}

}  // namespace

std::expected<std::unique_ptr<ClusterReplicas>, Error> ClusterReplicas::Create(
    const Server& server) {
  std::unique_ptr<ClusterReplicas> replicas(new ClusterReplicas(server));
  if (auto opened = replicas->Open(); !opened) return std::unexpected(opened.error());
  return replicas;
}

std::expected<void, Error> ClusterReplicas::Open() {
  const ReplicationOptions& replication = *server_.options->replication;
  auto event = fabric::CreateEventFd();
  if (!event) return std::unexpected(event.error());
  event_ = std::move(*event);
  auto timer = fabric::CreateTimerFd();
  if (!timer) return std::unexpected(timer.error());
  timer_ = std::move(*timer);
  auto epoll = fabric::CreateEpoll({event_.get(), timer_.get()});
  if (!epoll) return std::unexpected(epoll.error());
  epoll_ = std::move(*epoll);
  auto page = Region::Create({.budget_bytes = kPageBytes});
  if (!page) return std::unexpected(page.error());
  if (!page->Commit(0, kPageBytes)) return Fail(Code::kNoSpace, page->WhyRefused());
  stream_page_.emplace(std::move(*page));
  auto connected = Connect(replication);
  if (!connected) return std::unexpected(connected.error());
  coordinator_ = std::make_unique<cluster::SharedCoordinator>(std::move(*connected));
  for (auto* user : {&of_agent_, &of_watch_}) {
    auto added = coordinator_->AddUser();
    if (!added) return std::unexpected(added.error());
    *user = std::move(*added);
  }
  if (!replication.cuts_file.empty()) {
    auto cuts = fabric::CutFile::Open(replication.cuts_file);
    if (!cuts) return std::unexpected(cuts.error());
    cuts_.emplace(std::move(*cuts));
  }
  dialers_ = std::make_unique<Dialers>(
      [this] {
        const std::lock_guard lock(mutex_);
        for (auto& [number, replica] : replicas_) replica.Wake();
      },
      [this](const std::string& server) { return ConnectorTo(server); });
  auto agent = cluster::ConfigurationAgent::Create(of_agent_.get(), replication.config.cluster_id,
                                                   [this](uint32_t number) { Wake(number); });
  if (!agent) return std::unexpected(agent.error());
  agent_ = std::move(*agent);
  if (!server_.options->log.folder.empty()) {
    auto logs = ReplicaLogs::Open(server_.options->log, server_.options->shards);
    if (!logs) return std::unexpected(logs.error());
    logs_ = std::move(*logs);
  }
  of_replicas_ = {
      .options = server_.options,
      .replica = {of_agent_.get(), agent_.get(), server_.service->oaths(), dialers_.get()},
      .stream_page = &*stream_page_,
      .listeners = server_.listeners,
      .threads = server_.threads,
      .admission = server_.admission,
      .commands = server_.commands,
      .logs = logs_.get(),
      .wake = [this] { fabric::Ring(event_.get()); }};
  store_ = StoreOptionsOf(*server_.options);
  store_.hash_seed = replication.config.hash_seed;
  slow_write_ = server_.options->slow_write;
  return {};
}

Dialer::Connector ClusterReplicas::ConnectorTo(const std::string& server) const {
  if (!cuts_) return fabric::Connection::Connect;
  const auto mine = cuts_->Find(server_.options->cluster->server_id);
  const auto other = cuts_->Find(server);
  if (!mine || !other) return fabric::Connection::Connect;
  return [cuts = fabric::CutSwitch(cuts_->table(), *mine), other = *other](
             std::string_view uri, const fabric::ConnectOptions& options) {
    return cuts.Connect(other, uri, options);
  };
}

std::expected<void, Error> ClusterReplicas::Start() {
  for (const auto& [number, slots] : server_.options->replication->placed) {
    placed_.emplace(number, slots);
    Host(number, slots);
  }
  if (logs_ != nullptr) idle_logs_ = logs_->Shards();
  for (const auto& [number, slots] : server_.options->replication->former) {
    if (idle_logs_.contains(number)) Host(number, slots);
  }
  for (auto& [number, replica] : replicas_) replica.Prepare({});
  for (auto& [number, replica] : replicas_) replica.AwaitPrepared();
  for (auto& [number, replica] : replicas_) {
    if (auto begun = replica.Begin(); !begun) return begun;
  }
  cluster::Server self{.cluster_id = server_.options->cluster->cluster_id,
                       .life = fabric::RandomId(),
                       .uris = {},
                       .zone = server_.options->replication->zone,
                       .memory_bytes = server_.options->memory_bytes,
                       .shards_max = server_.options->replication->shards_max};
  for (const auto& listener : *server_.listeners) self.uris.push_back(listener->uri());
  auto watch =
      ClusterWatch::Create(of_watch_.get(), {server_.options->cluster->server_id, std::move(self)},
                           [this] { fabric::Ring(event_.get()); });
  if (!watch) return std::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void ClusterReplicas::HandleEvents() {
  fabric::ClearEvent(event_.get());
  fabric::ClearEvent(timer_.get());
  const ClusterWatch::News news = watch_->Take();
  if (news.values) Follow(*news.values);
  if (news.values && news.are_recent && !leaves_) RemoveIdleLogs(*news.values);
  if (leaves_) return;
  RemoveEnded();
  for (const auto& [number, slots] : placed_) Host(number, slots);
  for (const auto& [number, held] : news.emptied) {
    if (!replicas_.contains(number)) continue;
    spdlog::info("shard {}: begins with nothing, in epoch {}", number, held.shard.epoch);
    replicas_.at(number).End();
    replicas_.at(number).Prepare(held);
  }
  bool rest = false;
  for (auto& [number, replica] : replicas_) {
    if (replica.has_ended()) replica.End();
    Begin(number, &replica);
    const bool is_away = !replica.is_alive() && !replica.is_preparing();
    if (is_away && replica.is_due()) replica.Prepare({});
    rest |= is_away && !replica.is_preparing();
  }
  fabric::SetTimer(timer_.get(), rest ? kRestPeriod : std::chrono::seconds{0});
}

void ClusterReplicas::RemoveEnded() {
  for (auto it = replicas_.begin(); it != replicas_.end();) {
    auto& [number, replica] = *it;
    const bool goes = !placed_.contains(number) && (!replica.is_alive() || replica.has_ended());
    if (!goes) {
      ++it;
      continue;
    }
    spdlog::info("shard {}: has no replica here any more", number);
    replica.End();
    const std::lock_guard lock(mutex_);
    it = replicas_.erase(it);
  }
}

// What fails is tried again after a rest.
void ClusterReplicas::Begin(uint32_t number, HostedReplica* replica) {
  if (auto begun = replica->Begin(); !begun) {
    spdlog::error("shard {}: has no replica here: {}", number, begun.error().message);
  }
}

void ClusterReplicas::Follow(const cluster::Values& values) {
  for (const auto& [id, server] : values.servers) {
    if (id != server_.options->cluster->server_id) dialers_->Set(id, server.uris);
  }
  PublishMap(values);
  if (leaves_) return;
  const auto placed = PlacedOn(values, server_.options->cluster->server_id);
  if (!placed) return spdlog::warn("the cluster's placement: {}", placed.error().message);
  placed_.clear();
  for (const auto& [shard, slots] : *placed) placed_.emplace(shard, slots);
  for (const auto& [number, placement] : values.placements) {
    if (replicas_.contains(number) && values.shards.contains(number)) {
      FollowPlacement(number, values);
    }
  }
}

void ClusterReplicas::RemoveIdleLogs(const cluster::Values& values) {
  std::erase_if(idle_logs_, [&](uint32_t number) {
    if (placed_.contains(number) || replicas_.contains(number)) return true;
    if (!cluster::IsAsPlaced(values, number)) return false;
    const auto& in_sync = values.shards.at(number).in_sync;
    const bool do_others_have_it = std::ranges::all_of(in_sync, [&](const cluster::Member& member) {
      return member.server != server_.options->cluster->server_id &&
             values.running.contains(member.server);
    });
    if (!do_others_have_it) return false;
    if (auto removed = logs_->Remove(number); !removed) {
      spdlog::warn("shard {}: {}", number, removed.error().message);
    } else {
      spdlog::info("shard {}: its log is removed: others have the shard now", number);
    }
    return true;
  });
}

void ClusterReplicas::Host(uint32_t number, const cuckoo::SlotRange& slots) {
  if (replicas_.contains(number)) return;
  const bool was_full = std::exchange(is_full_, replicas_.size() >= server_.options->shards_max());
  if (is_full_) {
    if (was_full) return;
    return spdlog::warn("shard {} is placed here, where there are {} already: --max-shards", number,
                        replicas_.size());
  }
  StoreOptions store = store_;
  store.shard = number;
  store.slots = slots;
  const std::lock_guard lock(mutex_);
  replicas_.try_emplace(number, *of_replicas_, store, slow_write_);
}

void ClusterReplicas::FollowPlacement(uint32_t number, const cluster::Values& values) {
  HostedReplica& replica = replicas_.at(number);
  const auto& wanted = values.placements.at(number).servers;
  const auto& in_sync = values.shards.at(number).in_sync;
  const auto member_of = [&](const std::string& server) {
    return std::ranges::find(in_sync, server, &cluster::Member::server);
  };
  const auto first = member_of(wanted.front());
  replica.Prefer(first == in_sync.end() ? 0 : first->incarnation);
  const bool are_all_in_sync = std::ranges::all_of(
      wanted, [&](const std::string& server) { return member_of(server) != in_sync.end(); });
  if (!placed_.contains(number) && are_all_in_sync) replica.Leave(true);
}

void ClusterReplicas::Wake(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto replica = replicas_.find(number);
  if (replica != replicas_.end()) replica->second.Wake();
}

// Until there is a newer one readers have the former, which is true of the epochs that it names.
void ClusterReplicas::PublishMap(const cluster::Values& values) {
  auto map = MapOf(values);
  std::expected<void, Error> published;
  if (!map) {
    published = std::unexpected(map.error());
  } else if (*map != map_) {
    published = server_.service->Publish(*map);
    if (published) map_ = std::move(*map);
  }
  const std::string trouble = published ? "" : published.error().message;
  if (!published && trouble != trouble_) spdlog::warn("the map of the cluster: {}", trouble);
  trouble_ = trouble;
}

void ClusterReplicas::Leave() {
  leaves_ = true;
  for (auto& [number, replica] : replicas_) replica.Leave(false);
}

bool ClusterReplicas::has_left() {
  return std::ranges::all_of(replicas_, [](auto& one) { return one.second.has_left(); });
}

void ClusterReplicas::End() {
  watch_.reset();
  agent_.reset();
  for (auto& [number, replica] : replicas_) {
    if (replica.is_last() && logs_ == nullptr) {
      spdlog::warn("shard {}: no other server has its items, which are lost: plov cluster force",
                   number);
    }
    replica.Withdraw();
  }
  dialers_.reset();
}

void ClusterReplicas::ForEachShard(const std::function<void(Shard*)>& use) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, replica] : replicas_) replica.ForShard(use);
}

void ClusterReplicas::KeepSlow(std::chrono::microseconds threshold) {
  slow_write_ = threshold;
  for (auto& [number, replica] : replicas_) replica.KeepSlow(threshold);
}

void ClusterReplicas::RaiseBudget(size_t bytes) {
  store_.memory_bytes = bytes;
  for (auto& [number, replica] : replicas_) replica.RaiseBudget(bytes);
  fabric::Ring(event_.get());
}

}  // namespace plov::server
