#include "server/warnings.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace plov::server {

namespace {

// Below it a table has a bucket for any key that nobody has chosen.
constexpr uint64_t kCrowdedPercent = 80;

}  // namespace

void Warnings::TellHost(const Store& store) {
  const Region& region = store.region();
  host_episodes_ = region.host().episodes();
  spdlog::warn("shard {} gets no more memory than {} MiB of its {}: {}; {}",
               store.superblock().shard, region.committed_bytes() >> 20,
               region.budget_bytes() >> 20, store.evicts() ? "items make room" : "PUTs fail",
               region.WhyRefused());
}

void Warnings::Look(const Store& store) {
  LookHowFull(store);
  LookAtEviction(store);
  LookAtStash(store);
}

// A cache is meant to be full.
void Warnings::LookAtEviction(const Store& store) {
  if (store.stats().evicted == 0 || std::exchange(evicts_, true)) return;
  spdlog::info("shard {} is full: items that were not used lately make room (--evict)",
               store.superblock().shard);
}

void Warnings::LookHowFull(const Store& store) {
  if (store.region().host().refuses()) return;  // that is said, and not mended by --memory
  const auto percent = fullness_.Look(store.percent_full());
  if (!percent || store.evicts()) return;
  spdlog::warn("shard {} is {} % full ({} MiB): beyond 100 % PUTs fail; raise --memory",
               store.superblock().shard, *percent, store.region().budget_bytes() >> 20);
}

// Again when they are twice as many.
void Warnings::LookAtStash(const Store& store) {
  const cuckoo::TableStats stats = store.table().stats();
  if (stats.stashed == 0 || stats.stashed < 2 * stashed_) return;
  const uint64_t percent = (stats.items - stats.stashed) * 100 / store.table().capacity();
  if (percent >= kCrowdedPercent) return;
  stashed_ = stats.stashed;
  spdlog::warn(
      "shard {} holds {} items that found no bucket, though its table is {} % full: somebody "
      "stores keys that collide; GETs of these ask the server",
      store.superblock().shard, stats.stashed, percent);
}

}  // namespace plov::server
