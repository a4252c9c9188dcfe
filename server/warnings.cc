#include "server/warnings.h"

#include <spdlog/spdlog.h>

namespace plov::server {

void Warnings::TellHost(const Store& store) {
  const Region& region = store.region();
  host_episodes_ = region.host().episodes();
  spdlog::warn("shard {} gets no more memory than {} MiB of its {}: PUTs fail; {}",
               store.superblock().shard, region.committed_bytes() >> 20,
               region.budget_bytes() >> 20, region.WhyRefused());
}

void Warnings::Look(const Store& store) { LookHowFull(store); }

void Warnings::LookHowFull(const Store& store) {
  if (store.region().host().refuses()) return;  // that is said, and not mended by --memory
  const auto percent = fullness_.Look(store.percent_full());
  if (!percent) return;
  spdlog::warn("shard {} is {} % full ({} MiB): beyond 100 % PUTs fail; raise --memory",
               store.superblock().shard, *percent, store.region().budget_bytes() >> 20);
}

}  // namespace plov::server
