#include "log/offline/restore.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "log/walk.h"

namespace plov::log::offline {

namespace {

// How a shard's log is read from a snapshot on, or from its beginning, and where it ends at a version.
struct Reading {
  uint64_t least = 0;              // versions up to this one cannot be left out
  uint64_t last_version = 0;       // that is kept
  std::optional<Walk::Batch> cut;  // of the first operation beyond, without its operations
  std::vector<std::byte> tail;     // what is kept of that batch
  verify::BatchHead tail_head;
  uint64_t operations_lost = 0;
  LogEnd end;  // of all of it
  verify::LogHead head;
};

// The operations of a batch up to a version, as a batch that takes its place. Empty: there are none.
std::vector<std::byte> Shorten(const Walk::Batch& batch, uint64_t version, const verify::LogId& id,
                               verify::BatchHead* head) {
  *head = batch.head;
  head->operations = 0;
  Bytes kept = {};
  Bytes rest = batch.operations;
  while (const auto operation = verify::TakeLogged(&rest)) {
    if (operation->version > version) break;
    ++head->operations;
    head->last_version = operation->version;
    kept = batch.operations.first(batch.operations.size() - rest.size());
  }
  if (kept.empty()) return {};
  head->bytes = static_cast<uint32_t>(verify::kBatchHeadBytes + kept.size());
  std::vector<std::byte> memory(head->bytes);
  std::ranges::copy(kept, memory.begin() + verify::kBatchHeadBytes);
  const std::span<std::byte> piece = memory;
  verify::EncodeBatchHead(*head, piece.first<verify::kBatchHeadBytes>());
  head->checksum =
      verify::SealBatch({&piece, 1}, verify::BatchSeed(id, batch.segment, batch.offset));
  return memory;
}

void Take(const Walk::Batch& batch, const Walk::Start& start, uint64_t version, Reading* reading) {
  if (batch.head.number <= start.needs) {
    reading->least = std::max(reading->least, batch.head.last_version);
  }
  if (batch.head.last_version <= version) {
    reading->last_version = batch.head.last_version;
    return;
  }
  reading->operations_lost += batch.head.operations;
  if (reading->cut) return;  // it lies before
  reading->cut = batch;
  reading->cut->operations = {};
  reading->tail = Shorten(batch, version, reading->head.id, &reading->tail_head);
  if (reading->tail.empty()) return;
  reading->operations_lost -= reading->tail_head.operations;
  reading->last_version = reading->tail_head.last_version;
}

// nullopt: from there on it is damaged, or not there.
std::expected<std::optional<Reading>, Error> ReadUntil(Disk* disk, const Shard& shard,
                                                       const Snapshot* base, uint64_t version) {
  Walk::Start start{.shard = shard.number, .segment = 1, .batch = 1};
  Reading reading;
  if (base != nullptr) {
    start.segment = base->number;
    start.batch = base->head.first_batch;
    start.needs = base->footer.needs_batch;
    reading.least = base->footer.last_version;
    reading.last_version = base->footer.last_version;
  }
  auto walk = Walk::Open(disk, shard.files, start);
  if (!walk) return std::unexpected(walk.error());
  if (!*walk) return std::nullopt;
  reading.head = (*walk)->head();
  while (true) {
    const auto next = (*walk)->Next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return std::nullopt;
    if (!**next) break;
    Take(***next, start, version, &reading);
  }
  reading.end = (*walk)->end();
  return reading;
}

// All of it.
Cutting CopyAll(const Shard& shard, const Report& report) {
  Cutting cutting{.shard = shard.number,
                  .files = shard.files,
                  .damages = {},
                  .next = {},
                  .last_batch = report.last_batch,
                  .last_version = report.last_version};
  if (shard.base() != nullptr) {
    cutting.last_version = std::max(cutting.last_version, shard.base()->footer.last_version);
  }
  return cutting;
}

// Ends the log before what is left out.
Cutting EndAt(const Shard& shard, const Snapshot* base, Reading reading) {
  const Walk::Batch& cut = *reading.cut;
  const bool has_tail = !reading.tail.empty();
  Cutting cutting{.shard = shard.number, .files = {}, .damages = {}, .next = reading.head};
  const uint64_t first = base != nullptr ? base->number : 1;
  cutting.files.segments = {shard.files.segments.lower_bound(first),
                            shard.files.segments.upper_bound(cut.segment)};
  if (base != nullptr) cutting.files.snapshots.insert(base->number);
  cutting.cut_segment = cut.segment;
  cutting.cut_offset = cut.offset;
  cutting.tail = std::move(reading.tail);
  cutting.last_batch = has_tail ? cut.head.number : cut.head.number - 1;
  cutting.last_version = reading.last_version;
  cutting.operations_lost = reading.operations_lost;
  uint64_t floor = reading.end.last_version + 1;
  for (const Snapshot& snapshot : shard.snapshots) {
    floor = std::max(floor, snapshot.footer.last_version + 1);
  }
  cutting.next->number = cut.segment + 1;
  cutting.next->first_batch = cutting.last_batch + 1;
  cutting.next->chain = has_tail ? reading.tail_head.checksum : cut.head.chain;
  cutting.next->floor = floor;
  cutting.next->file_bytes = kNextSegmentBytes;
  return cutting;
}

std::expected<Cutting, Error> PlanUntil(Disk* disk, const Shard& shard, const Report& report,
                                        uint64_t version) {
  std::vector<const Snapshot*> bases;
  for (const Snapshot& snapshot : shard.snapshots | std::views::reverse) bases.push_back(&snapshot);
  bases.push_back(nullptr);
  uint64_t least = UINT64_MAX;
  for (const Snapshot* base : bases) {
    auto reading = ReadUntil(disk, shard, base, version);
    if (!reading) return std::unexpected(reading.error());
    if (!*reading) continue;
    least = std::min(least, (*reading)->least);
    if ((*reading)->least > version) continue;
    return (*reading)->cut ? EndAt(shard, base, **std::move(reading)) : CopyAll(shard, report);
  }
  return Fail(Code::kInvalidArgument, "shard " + std::to_string(shard.number) + ": version " +
                                          std::to_string(version) +
                                          " lies before what its snapshot needs: the least that "
                                          "can be had is " +
                                          std::to_string(least));
}

std::expected<Cutting, Error> PlanOne(Disk* disk, const Shard& shard, const Until& until) {
  const auto report = CheckShard(disk, shard, nullptr);
  if (!report) return std::unexpected(report.error());
  if (!report->damages.empty()) {
    return Fail(Code::kCorrupt, "it is damaged: " + report->damages.front().Line());
  }
  const auto end = until.find(shard.number);
  if (end == until.end()) return CopyAll(shard, *report);
  return PlanUntil(disk, shard, *report, end->second);
}

}  // namespace

std::expected<std::vector<Cutting>, Error> PlanRestore(Disk* disk, const Until& until) {
  const auto shards = Look(disk);
  if (!shards) return std::unexpected(shards.error());
  for (const uint32_t number : until | std::views::keys) {
    if (std::ranges::find(shards->present, number, &Shard::number) != shards->present.end()) {
      continue;
    }
    return Fail(Code::kNotFound, "there are no files of shard " + std::to_string(number));
  }
  std::vector<Cutting> cuttings;
  for (const Shard& shard : shards->present) {
    auto cutting = PlanOne(disk, shard, until);
    if (!cutting) return std::unexpected(cutting.error());
    cuttings.push_back(*std::move(cutting));
  }
  if (const auto missing = MissingShard(disk, *shards, cuttings)) {
    return Fail(Code::kCorrupt, "it is damaged: " + missing->Line());
  }
  return cuttings;
}

}  // namespace plov::log::offline
