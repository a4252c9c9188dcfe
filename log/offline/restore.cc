#include "log/offline/restore.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "log/walk.h"

namespace plov::log::offline {

namespace {

// Where the log of one shard ends.
struct Limit {
  uint64_t version = UINT64_MAX;
  uint64_t time_us = UINT64_MAX;

  bool none() const { return version == UINT64_MAX && time_us == UINT64_MAX; }
};

// How a shard's log is read from a snapshot on, or from its beginning, and where it ends at a limit.
struct Reading {
  Limit least = {0, 0};            // what lies before cannot be left out
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

void Take(const Walk::Batch& batch, const Walk::Start& start, const Limit& limit,
          Reading* reading) {
  if (batch.head.number <= start.needs) {
    reading->least.version = std::max(reading->least.version, batch.head.last_version);
    reading->least.time_us = std::max(reading->least.time_us, batch.head.time_us);
  }
  const bool is_late = batch.head.time_us > limit.time_us;
  if (!reading->cut && !is_late && batch.head.last_version <= limit.version) {
    reading->last_version = batch.head.last_version;
    return;
  }
  reading->operations_lost += batch.head.operations;
  if (reading->cut) return;  // it lies before
  reading->cut = batch;
  reading->cut->operations = {};
  if (is_late) return;
  reading->tail = Shorten(batch, limit.version, reading->head.id, &reading->tail_head);
  if (reading->tail.empty()) return;
  reading->operations_lost -= reading->tail_head.operations;
  reading->last_version = reading->tail_head.last_version;
}

// nullopt: from there on it is damaged, or not there.
std::expected<std::optional<Reading>, Error> ReadUntil(Disk* disk, const Shard& shard,
                                                       const Snapshot* base, const Limit& limit) {
  Walk::Start start{.shard = shard.number, .segment = 1, .batch = 1};
  Reading reading;
  if (base != nullptr) {
    start.segment = base->number;
    start.batch = base->head.first_batch;
    start.needs = base->footer.needs_batch;
    reading.least = {base->footer.last_version, base->footer.time_us};
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
    Take(***next, start, limit, &reading);
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
  cutting.next->life = 0;  // no memory is of this log
  return cutting;
}

std::unexpected<Error> TooEarly(const Shard& shard, const Limit& limit, const Limit& least) {
  const bool by_time = limit.time_us < least.time_us;
  const auto text = [](uint64_t number) { return std::to_string(number); };
  const std::string wanted = by_time ? "that time" : "version " + text(limit.version);
  // A fraction of a second more is a second more to who names whole ones.
  const std::string first =
      by_time ? "Unix time " + text((least.time_us + 999'999) / 1'000'000) : text(least.version);
  return Fail(Code::kInvalidArgument,
              "shard " + text(shard.number) + ": " + wanted +
                  " lies before what its snapshot needs: the least that can be had is " + first);
}

std::expected<Cutting, Error> PlanUntil(Disk* disk, const Shard& shard, const Report& report,
                                        const Limit& limit) {
  std::vector<const Snapshot*> bases;
  for (const Snapshot& snapshot : shard.snapshots | std::views::reverse) bases.push_back(&snapshot);
  bases.push_back(nullptr);
  Limit least;
  for (const Snapshot* base : bases) {
    auto reading = ReadUntil(disk, shard, base, limit);
    if (!reading) return std::unexpected(reading.error());
    if (!*reading) continue;
    const Limit& needed = (*reading)->least;
    least = {std::min(least.version, needed.version), std::min(least.time_us, needed.time_us)};
    if (needed.version > limit.version || needed.time_us > limit.time_us) continue;
    return (*reading)->cut ? EndAt(shard, base, **std::move(reading)) : CopyAll(shard, report);
  }
  return TooEarly(shard, limit, least);
}

std::expected<Cutting, Error> PlanOne(Disk* disk, const Shard& shard, const Until& until) {
  const auto report = CheckShard(disk, shard, nullptr);
  if (!report) return std::unexpected(report.error());
  if (!report->damages.empty()) {
    return Fail(Code::kCorrupt, "it is damaged: " + report->damages.front().Line());
  }
  Limit limit{.time_us = until.time_us};
  const auto end = until.versions.find(shard.number);
  if (end != until.versions.end()) limit.version = end->second;
  return limit.none() ? CopyAll(shard, *report) : PlanUntil(disk, shard, *report, limit);
}

}  // namespace

std::expected<std::vector<Cutting>, Error> PlanRestore(Disk* disk, const Until& until) {
  const auto shards = LookForOperations(disk);
  if (!shards) return std::unexpected(shards.error());
  for (const uint32_t number : until.versions | std::views::keys) {
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
