#include "server/cluster_service.h"

#include <utility>

#include "fabric/random.h"

namespace plov::server {

namespace {

// Of polls until there is nothing to do.
constexpr int kRoundsMax = 1000;

}  // namespace

std::expected<std::unique_ptr<ClusterService>, Error> ClusterService::Create(
    const ClusterView& view) {
  auto region = ClusterRegion::Create(view.cluster_id, fabric::RandomId());
  if (!region) return std::unexpected(region.error());
  if (!view.map.shards.empty()) {
    auto published = (*region)->Publish(view.map);
    if (!published) return std::unexpected(published.error());
  }
  auto epoll = fabric::CreateEpoll({});
  if (!epoll) return std::unexpected(epoll.error());
  return std::unique_ptr<ClusterService>(
      new ClusterService(view, std::move(*region), std::move(*epoll)));
}

std::expected<void, Error> ClusterService::ExposeOn(fabric::Listener* listener) {
  const Region& region = region_->region();
  auto port =
      listener->Expose(fabric::kShardMax, {.region = region.memory(), .region_fd = region.fd()});
  if (!port) return std::unexpected(port.error());
  if (auto watched = fabric::Watch(epoll_.get(), (*port)->fd()); !watched) return watched;
  ports_.push_back(*port);
  Take(*port);
  return {};
}

void ClusterService::ShowOaths() {
  for (const verify::ClusterMap::Shard& shard : view_.map.shards) {
    const verify::ClusterMap::Member& primary = shard.in_sync[shard.primary];
    if (view_.map.servers[primary.server].id != view_.server_id) continue;
    region_->ShowOath(shard.number, shard.epoch, primary.incarnation);
  }
}

void ClusterService::HandleEvents() {
  for (fabric::Port* port : ports_) {
    port->Disarm();
    Take(port);
  }
}

// There is nothing to say to who sends messages. A device that fails cannot be armed, until its port has noticed.
void ClusterService::Take(fabric::Port* port) {
  using Kind = fabric::PortEvent::Kind;
  for (int round = 0; round < kRoundsMax; ++round) {
    while (const auto event = port->Poll()) {
      const bool is_reader = event->kind == Kind::kOpened && event->reads_only;
      if (!is_reader && event->kind != Kind::kClosed) port->Close(event->peer);
    }
    if (port->Arm()) return;
  }
}

}  // namespace plov::server
