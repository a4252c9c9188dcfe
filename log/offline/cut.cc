#include "log/offline/cut.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

#include "log/offline/copier.h"
#include "log/offline/padded_disk.h"
#include "log/offline/scan.h"

namespace plov::log::offline {

namespace {

// A start leaves out so many versions (plov-log(5)); that of a segment whose head is damaged is not known.
constexpr uint64_t kVersionsOfAStart = uint64_t{1} << 30;

struct Reach {
  ShardFiles files;  // segments that can be trusted, from the start on
  Ending ending;
  std::optional<Damage> damage;  // in the last of them; nullopt: none
};

// How far the log can be trusted from a place on.
std::expected<Reach, Error> ReachFrom(Disk* disk, const Shard& shard, Walk::Start start) {
  start.needs = 0;
  Reach reach;
  reach.files.segments = {shard.files.segments.lower_bound(start.segment),
                          shard.files.segments.end()};
  while (!reach.files.segments.empty()) {
    auto ending = WalkLog(disk, reach.files, start, nullptr);
    if (!ending) return std::unexpected(ending.error());
    reach.ending = *std::move(ending);
    reach.damage = reach.ending.damage;
    if (!reach.damage) break;
    // Damage of batches leaves those before; that of a head or of a file's name leaves the files before.
    const uint64_t damaged = SegmentOf(*reach.damage);
    const auto behind = reach.damage->offset > 0 ? reach.files.segments.upper_bound(damaged)
                                                 : reach.files.segments.lower_bound(damaged);
    const bool changes = behind != reach.files.segments.end();
    reach.files.segments.erase(behind, reach.files.segments.end());
    if (reach.damage->offset > 0 || !changes) break;
  }
  return reach;
}

std::expected<verify::LogHead, Error> HeadOf(Disk* disk, uint32_t shard, uint64_t segment) {
  return ReadHead(disk, SegmentName(shard, segment), verify::LogFile::kSegment);
}

// Its head is whole, or the walk had not come there.
bool IsShort(Disk* disk, uint32_t shard, uint64_t segment) { return !HeadOf(disk, shard, segment); }

// Counts the whole operations that are left out, and sees their versions.
void SeeBehind(Disk* disk, const Shard& shard, const verify::LogId& id, Cutting* cutting,
               uint64_t* floor) {
  uint64_t last_counted = cutting->last_batch;
  for (const uint64_t number : shard.files.segments) {
    if (number < *cutting->files.segments.rbegin()) continue;
    auto file = disk->Open(SegmentName(shard.number, number), Disk::Mode::kRead);
    if (!file) continue;
    Window window(file->get());
    const auto head =
        verify::CheckLogHead(verify::LogFile::kSegment, window.At(0, verify::kLogBlockBytes));
    *floor = head ? std::max(*floor, head->floor) : *floor + kVersionsOfAStart;
    ScanSegment(&window, {.id = id, .number = head ? head->number : number}, verify::kLogBlockBytes,
                [&](const Walk::Batch& batch) {
                  *floor = std::max(*floor, batch.head.last_version + 1);
                  const bool counts = batch.head.kind == verify::BatchHead::Kind::kOperations &&
                                      batch.head.number > last_counted;
                  if (counts) cutting->operations_lost += batch.head.operations;
                  if (counts) last_counted = batch.head.number;
                  return true;
                });
  }
  for (const Snapshot& snapshot : shard.snapshots) {
    if (!snapshot.damage) *floor = std::max(*floor, snapshot.footer.last_version + 1);
  }
}

std::expected<void, Error> EndBehind(Disk* disk, const Shard& shard, const Reach& reach,
                                     Cutting* cutting) {
  const uint64_t last = *cutting->files.segments.rbegin();
  const auto head = HeadOf(disk, shard.number, last);
  if (!head) return std::unexpected(head.error());
  if (reach.damage && reach.damage->offset > 0 && SegmentOf(*reach.damage) == last) {
    cutting->cut_segment = last;
    cutting->cut_offset = reach.damage->offset;
  }
  uint64_t floor = reach.ending.end.last_version + 1;
  SeeBehind(disk, shard, head->id, cutting, &floor);
  cutting->next = *head;
  cutting->next->number = last + 1;
  cutting->next->first_batch = reach.ending.end.next_batch;
  cutting->next->chain = reach.ending.end.chain;
  cutting->next->floor = floor;
  cutting->next->file_bytes = kNextSegmentBytes;
  cutting->next->life = 0;  // no memory is of this log
  return {};
}

// From the newest snapshot that is whole, and whose log goes as far as it needs; else from the beginning.
std::expected<std::optional<Cutting>, Error> PlanFrom(Disk* disk, const Shard& shard,
                                                      const Snapshot* base) {
  PaddedDisk padded(disk);
  Walk::Start start{.shard = shard.number, .segment = 1, .batch = 1};
  if (base != nullptr) {
    start.segment = base->number;
    start.batch = base->head.first_batch;
  }
  const auto reach = ReachFrom(&padded, shard, start);
  if (!reach) return std::unexpected(reach.error());
  const LogEnd& end = reach->ending.end;
  if (reach->files.segments.empty()) return std::nullopt;
  if (base != nullptr && end.next_batch <= base->footer.needs_batch) return std::nullopt;
  Cutting cutting{.shard = shard.number,
                  .files = reach->files,
                  .damages = {},
                  .next = {},
                  .last_batch = end.next_batch - 1,
                  .last_version = end.last_version};
  if (base != nullptr) {
    cutting.files.snapshots.insert(base->number);
    cutting.last_version = std::max(cutting.last_version, base->footer.last_version);
  }
  // What is not kept lies before what is: nothing is cut.
  const uint64_t last = *reach->files.segments.rbegin();
  const bool is_cut = reach->damage.has_value() || last != *shard.files.segments.rbegin() ||
                      IsShort(disk, shard.number, last);
  if (!is_cut) return cutting;
  if (auto ended = EndBehind(&padded, shard, *reach, &cutting); !ended) {
    return std::unexpected(ended.error());
  }
  return cutting;
}

std::unexpected<Error> Refuse(const Damage& damage) {
  return Fail(Code::kCorrupt, damage.Line() +
                                  "; no server could go on from what lies before it: see what "
                                  "plov log salvage finds");
}

std::expected<Cutting, Error> PlanShard(Disk* disk, const Shard& shard) {
  auto report = CheckShard(disk, shard, nullptr);
  if (!report) return std::unexpected(report.error());
  if (report->damages.empty()) {
    return Cutting{.shard = shard.number,
                   .files = shard.files,
                   .damages = {},
                   .next = {},
                   .last_batch = report->last_batch,
                   .last_version = report->last_version};
  }
  if (shard.foreign) return Refuse(*shard.foreign);
  std::vector<const Snapshot*> bases;
  for (const Snapshot& snapshot : shard.snapshots | std::views::reverse) {
    if (!snapshot.damage) bases.push_back(&snapshot);
  }
  bases.push_back(nullptr);
  for (const Snapshot* base : bases) {
    auto cutting = PlanFrom(disk, shard, base);
    if (!cutting) return std::unexpected(cutting.error());
    if (!*cutting) continue;
    (*cutting)->damages = std::move(report->damages);
    return **std::move(cutting);
  }
  return Refuse(report->damages.back());
}

std::expected<void, Error> CopyShard(const Cutting& cutting, Copier* copier) {
  for (const uint64_t number : cutting.files.snapshots) {
    auto done = copier->CopyFile(SnapshotName(cutting.shard, number), {});
    if (!done) return done;
  }
  // The next one has its name before those that need it to be judged.
  if (cutting.next) {
    if (auto begun = copier->MakeSegment(*cutting.next, nullptr, 0); !begun) return begun;
  }
  for (const uint64_t number : cutting.files.segments | std::views::reverse) {
    Copier::Part part;
    if (number == cutting.cut_segment) part = {cutting.cut_offset, cutting.tail};
    auto done = copier->CopyFile(SegmentName(cutting.shard, number), part);
    if (!done) return done;
  }
  return {};
}

}  // namespace

std::expected<std::vector<Cutting>, Error> PlanCut(Disk* disk) {
  const auto shards = LookForOperations(disk);
  if (!shards) return std::unexpected(shards.error());
  std::vector<Cutting> cuttings;
  for (const Shard& shard : shards->present) {
    auto cutting = PlanShard(disk, shard);
    if (!cutting) return std::unexpected(cutting.error());
    cuttings.push_back(*std::move(cutting));
  }
  if (const auto missing = MissingShard(disk, *shards, cuttings)) return Refuse(*missing);
  return cuttings;
}

std::optional<Damage> MissingShard(Disk* disk, const Shards& shards,
                                   const std::vector<Cutting>& cuttings) {
  const bool holds_any =
      std::ranges::any_of(cuttings, [](const Cutting& cutting) { return cutting.last_batch > 0; });
  if (!holds_any || shards.missing.empty()) return std::nullopt;
  return AllMissing(disk, shards.missing.front());
}

std::expected<std::vector<Report>, Error> CopyCut(Disk* from, Disk* to,
                                                  const std::vector<Cutting>& cuttings,
                                                  const Copied& copied) {
  PaddedDisk padded(from);
  Copier copier(&padded, to, copied);
  std::expected<void, Error> done;
  for (const Cutting& cutting : cuttings) {
    if (done) done = CopyShard(cutting, &copier);
  }
  // A log that lacks its first segment is refused: so it is whole when the last one has its name.
  if (done) done = copier.Finish();
  if (done) done = to->SyncNames();
  std::expected<std::vector<Report>, Error> reports;
  if (done) reports = CheckCopy(to);
  if (!done) reports = std::unexpected(done.error());
  if (!reports) copier.Remove();
  return reports;
}

}  // namespace plov::log::offline
