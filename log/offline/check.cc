#include "log/offline/check.h"

#include <algorithm>
#include <utility>

namespace plov::log::offline {

namespace {

// Whether a server starts on what lies from its snapshot on; what it comes to if not all of the log is whole.
std::expected<Ending, Error> WalkAsAServer(Disk* disk, const Shard& shard, const Ending& all) {
  if (all.damage) return WalkLog(disk, shard.files, shard.AsAServer(), nullptr);
  Ending ending = all;
  const auto opened = Walk::Open(disk, shard.files, shard.AsAServer());
  if (!opened) return std::unexpected(opened.error());
  if (!*opened) ending.damage = opened->error();
  return ending;
}

bool Holds(const Report& report, const Shard& shard) {
  return report.operations > 0 ||
         std::ranges::any_of(shard.snapshots,
                             [](const Snapshot& snapshot) { return snapshot.footer.items > 0; });
}

}  // namespace

std::expected<Report, Error> CheckShard(Disk* disk, const Shard& shard, const Visit& visit) {
  Report report{.shard = shard.number,
                .segments = shard.files.segments.size(),
                .snapshots = shard.files.snapshots.size(),
                .torn = {},
                .damages = {}};
  if (shard.foreign) report.damages.push_back(*shard.foreign);
  for (const Snapshot& snapshot : shard.snapshots) {
    if (snapshot.damage) report.damages.push_back(*snapshot.damage);
  }
  auto all = WalkLog(disk, shard.files, shard.FromOldest(), visit);
  if (!all) return std::unexpected(all.error());
  auto restored = WalkAsAServer(disk, shard, *all);
  if (!restored) return std::unexpected(restored.error());
  if (all->damage) report.damages.push_back(*all->damage);
  if (restored->damage && (!all->damage || all->damage->Line() != restored->damage->Line())) {
    report.damages.push_back(*restored->damage);
  }
  report.starts = !restored->damage && !shard.foreign;
  const Ending& end = restored->damage ? *all : *restored;
  report.first_batch = all->first_batch != 0 ? all->first_batch : end.first_batch;
  report.last_batch = report.first_batch == 0 ? 0 : end.end.next_batch - 1;
  report.operations = std::max(all->operations, end.operations);
  report.first_version = all->first_version != 0 ? all->first_version : end.first_version;
  report.last_version = std::max(all->last_version, end.last_version);
  report.torn = restored->torn;
  return report;
}

Damage AllMissing(Disk* disk, uint32_t shard) {
  return {.file = disk->PathOf(SegmentName(shard, 1)),
          .what = "all files of shard " + std::to_string(shard) + " are missing"};
}

std::expected<std::vector<Report>, Error> Check(Disk* disk, const Visit& visit) {
  const auto shards = Look(disk, visit);
  if (!shards) return std::unexpected(shards.error());
  std::vector<Report> reports;
  bool holds_any = false;
  for (const Shard& shard : shards->present) {
    auto report = CheckShard(disk, shard, visit);
    if (!report) return std::unexpected(report.error());
    holds_any = holds_any || Holds(*report, shard);
    reports.push_back(*std::move(report));
  }
  // A server that was killed at its first start has not begun all of them.
  for (const uint32_t shard : shards->missing) {
    if (!holds_any) break;
    reports.push_back(
        {.shard = shard, .torn = {}, .damages = {AllMissing(disk, shard)}, .starts = false});
  }
  std::ranges::sort(reports, {}, &Report::shard);
  return reports;
}

}  // namespace plov::log::offline
