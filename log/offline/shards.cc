#include "log/offline/shards.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace plov::log::offline {

namespace {

// The first head of a shard that is whole, of its segments before its snapshots. nullopt: none is.
std::expected<std::optional<verify::LogHead>, Error> FirstHead(Disk* disk, const Shard& shard) {
  using verify::LogFile;
  std::vector<std::pair<std::string, LogFile>> names;
  for (const uint64_t number : shard.files.segments) {
    names.emplace_back(SegmentName(shard.number, number), LogFile::kSegment);
  }
  for (const uint64_t number : shard.files.snapshots) {
    names.emplace_back(SnapshotName(shard.number, number), LogFile::kSnapshot);
  }
  for (const auto& [name, kind] : names) {
    const auto head = ReadHead(disk, name, kind);
    if (head) return *head;
    if (!IsDamage(head.error())) return std::unexpected(head.error());
  }
  return std::nullopt;
}

// Reads the snapshots, and tells those of another log than the shard's.
std::expected<void, Error> ReadSnapshots(Disk* disk, const std::optional<verify::LogHead>& head,
                                         const Visit& visit, Shard* shard) {
  for (const uint64_t number : shard->files.snapshots) {
    auto snapshot = ReadSnapshot(disk, shard->number, number, visit);
    if (!snapshot) return std::unexpected(snapshot.error());
    if (!snapshot->damage && head && snapshot->head.id != head->id) {
      snapshot->damage = Damage{.file = disk->PathOf(SnapshotName(shard->number, number)),
                                .what = "it is of another log than the shard's other files"};
    }
    shard->snapshots.push_back(*std::move(snapshot));
  }
  return {};
}

}  // namespace

bool VisitEach(Bytes operations, uint64_t offset, Place place, const Visit& visit) {
  if (!visit) return true;
  Bytes rest = operations;
  while (const auto operation = verify::TakeLogged(&rest)) {
    // The value and its padding are the last of what was taken.
    const size_t head = verify::kLoggedHeadBytes + operation->key.size();
    const size_t taken = verify::LoggedBytes(operation->key.size(), operation->value.size());
    place.value_offset = offset + (operations.size() - rest.size()) - taken + head;
    if (!visit(*operation, place)) return false;
  }
  return true;
}

std::expected<Snapshot, Error> ReadSnapshot(Disk* disk, uint32_t shard, uint64_t number,
                                            const Visit& visit) {
  Snapshot snapshot{.number = number, .head = {}, .footer = {}, .damage = {}};
  const std::string name = SnapshotName(shard, number);
  auto reader = SnapshotReader::Open(disk, name);
  if (!reader) return std::unexpected(reader.error());
  if (!*reader) {
    snapshot.damage = reader->error();
    return snapshot;
  }
  snapshot.head = (*reader)->head();
  snapshot.footer = (*reader)->footer();
  const Place place{
      .shard = shard, .kind = verify::LogFile::kSnapshot, .file = name, .number = number};
  while (true) {
    const auto block = (*reader)->Next();
    if (!block) return std::unexpected(block.error());
    if (!*block) snapshot.damage = block->error();
    if (!*block || !**block) return snapshot;
    const Bytes operations = ***block;
    const uint64_t offset = (*reader)->bytes_read() - operations.size();
    if (!VisitEach(operations, offset, place, visit)) return snapshot;
  }
}

const Snapshot* Shard::base() const {
  const auto found =
      std::ranges::find_if(snapshots.rbegin(), snapshots.rend(),
                           [](const Snapshot& snapshot) { return !snapshot.damage; });
  return found == snapshots.rend() ? nullptr : &*found;
}

Walk::Start Shard::AsAServer() const {
  const Snapshot* from = base();
  if (from == nullptr) return {.shard = number, .segment = 1, .batch = 1};
  return {.shard = number,
          .segment = from->number,
          .batch = from->head.first_batch,
          .needs = from->footer.needs_batch};
}

// A server may have removed some of the segments before a snapshot, and not yet all.
Walk::Start Shard::FromOldest() const {
  Walk::Start start = AsAServer();
  if (base() == nullptr) return start;
  while (files.segments.contains(start.segment - 1)) --start.segment;
  start.batch = 0;
  return start;
}

std::unexpected<Error> NoLog(Disk* disk) {
  std::string path = disk->PathOf("");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return Fail(Code::kNotFound, path + ": there is no log in this folder");
}

std::expected<Shards, Error> Look(Disk* disk, const Visit& visit) {
  auto folder = Folder::List(disk);
  if (!folder) return std::unexpected(folder.error());
  Shards shards;
  std::optional<verify::LogHead> former;
  for (auto& [number, files] : folder->shards) {
    Shard shard{.number = number, .files = std::move(files), .snapshots = {}, .foreign = {}};
    const auto head = FirstHead(disk, shard);
    if (!head) return std::unexpected(head.error());
    if (auto read = ReadSnapshots(disk, *head, visit, &shard); !read)
      return std::unexpected(read.error());
    if (*head && former &&
        ((*head)->hash_seed != former->hash_seed || (*head)->shard_count != former->shard_count ||
         (*head)->cluster_id != former->cluster_id)) {
      const bool is_segment = shard.files.segments.contains((*head)->number);
      shard.foreign =
          Damage{.file = disk->PathOf(is_segment ? SegmentName(number, (*head)->number)
                                                 : SnapshotName(number, (*head)->number)),
                 .what = "it is of another server than shard " +
                         std::to_string(shards.present.front().number)};
    }
    if (*head && !former) former = *head;
    shards.are_of_replicas |= *head && (*head)->is_replica;
    shards.present.push_back(std::move(shard));
  }
  if (shards.present.empty()) return NoLog(disk);
  // A server of a cluster has some of its shards.
  const bool has_all = former && former->cluster_id == 0;
  // A head that lies may name any number of them; each that is there has its own file.
  constexpr uint32_t kShardsMax = 4096;
  for (uint32_t i = 0; has_all && i < std::min(former->shard_count, kShardsMax); ++i) {
    const bool is_there =
        std::ranges::any_of(shards.present, [i](const Shard& shard) { return shard.number == i; });
    if (!is_there) shards.missing.push_back(i);
  }
  return shards;
}

std::expected<Shards, Error> LookForOperations(Disk* disk, const Visit& visit) {
  auto shards = Look(disk, visit);
  if (!shards || !shards->are_of_replicas) return shards;
  return Fail(Code::kInvalidArgument,
              disk->PathOf("") +
                  ": it has the logs of a cluster's replicas, which only plovd reads: "
                  "start it with --cluster and this --log");
}

std::expected<Ending, Error> WalkLog(Disk* disk, const ShardFiles& files, const Walk::Start& start,
                                     const Visit& visit) {
  Ending ending;
  auto walk = Walk::Open(disk, files, start);
  if (!walk) return std::unexpected(walk.error());
  if (!*walk) {
    ending.damage = walk->error();
    return ending;
  }
  ending.first_batch = (*walk)->head().first_batch;
  while (true) {
    const auto next = (*walk)->Next();
    if (!next) return std::unexpected(next.error());
    if (!*next) ending.damage = next->error();
    if (!*next || !**next) break;
    const Walk::Batch& batch = ***next;
    ending.operations += batch.head.operations;
    if (ending.first_version == 0) ending.first_version = batch.head.first_version;
    ending.last_version = batch.head.last_version;
    const std::string name = SegmentName(start.shard, batch.segment);
    const Place place{.shard = start.shard,
                      .kind = verify::LogFile::kSegment,
                      .file = name,
                      .number = batch.segment,
                      .batch = batch.head.number,
                      .time_us = batch.head.time_us};
    const uint64_t offset = batch.offset + verify::kBatchHeadBytes;
    if (!VisitEach(batch.operations, offset, place, visit)) break;
  }
  ending.end = (*walk)->end();
  ending.torn = (*walk)->torn();
  return ending;
}

uint64_t SegmentOf(const Damage& damage) {
  std::string_view name = damage.file;
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  name.remove_prefix(std::min(name.find('.') + 1, name.size()));
  uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

}  // namespace plov::log::offline
