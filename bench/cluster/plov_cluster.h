// PlovCluster: a cluster of plov that is measured: three servers, two replicas of each shard, three ZooKeepers.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "bench/cluster/subject.h"
#include "torture/own_cluster.h"

namespace plov::bench {

inline constexpr uint32_t kHarmedShard = 0;  // whose primary it is

class PlovCluster final : public Subject {
 public:
  // folder: there already, as is log, that of their logs; empty: they have none. Errors: as of OwnCluster::Start.
  static std::expected<std::unique_ptr<PlovCluster>, Error> Start(const std::string& plovd,
                                                                  const std::string& folder,
                                                                  const std::string& log);
  ~PlovCluster() override;

  std::string uri() const { return cluster_->uri(); }
  std::expected<std::unique_ptr<SubjectClient>, Error> Connect() const override;
  bool Can(Harm) const override { return true; }
  std::expected<void, Error> Do(Harm harm) override;
  std::expected<void, Error> Mend(Harm harm) override;

 private:
  explicit PlovCluster(std::unique_ptr<torture::OwnCluster> cluster)
      : cluster_(std::move(cluster)) {}

  std::unique_ptr<torture::OwnCluster> cluster_;
  size_t victim_ = 0;
};

}  // namespace plov::bench
