// ClusterService: brings a server's readers its ClusterRegion, beside the shards, on every listener.
//
// Threads: one, the listeners'.
#pragma once

#include <expected>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/os.h"
#include "server/cluster_region.h"
#include "server/cluster_view.h"

namespace plov::server {

class ClusterService {
 public:
  // The map is published, if there is one. view: outlives it. kNoSpace, kTooLarge, kSystem.
  static std::expected<std::unique_ptr<ClusterService>, Error> Create(const ClusterView& view);

  // Under fabric::kShardMax, before the first client comes; the listener goes first. Errors as of Expose.
  std::expected<void, Error> ExposeOn(fabric::Listener* listener);

  // Of the view's map, the shards whose primary this server is serve from now on: shows their oaths.
  void ShowOaths();
  // As of ClusterRegion.
  std::expected<void, Error> Publish(verify::ClusterMap map) {
    return region_->Publish(std::move(map));
  }
  ClusterRegion* oaths() { return region_.get(); }

  // Readers come, and who does more than READ goes: HandleEvents has work when fd() is readable.
  int fd() const { return epoll_.get(); }
  void HandleEvents();

  const Region& region() const { return region_->region(); }

 private:
  ClusterService(const ClusterView& view, std::unique_ptr<ClusterRegion> region, fabric::Fd epoll)
      : view_(view), region_(std::move(region)), epoll_(std::move(epoll)) {}
  static void Take(fabric::Port* port);

  const ClusterView& view_;
  std::unique_ptr<ClusterRegion> region_;
  fabric::Fd epoll_;
  std::vector<fabric::Port*> ports_;  // of each listener
};

}  // namespace plov::server
