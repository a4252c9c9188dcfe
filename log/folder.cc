#include "log/folder.h"

#include <charconv>
#include <utility>

namespace plov::log {

namespace {

constexpr std::string_view kSegmentEnding = ".log";
constexpr std::string_view kSnapshotEnding = ".snapshot";
constexpr std::string_view kUnfinishedEnding = ".new";
constexpr std::string_view kGoneEnding = ".gone";
constexpr std::string_view kSparePrefix = "spare.";

std::string NameOf(uint32_t shard, uint64_t number, std::string_view ending) {
  return std::to_string(shard) + "." + std::to_string(number) + std::string(ending);
}

// A number as std::to_string writes it, taken from the front.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view* text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const auto used = static_cast<size_t>(end - text->data());
  if (error != std::errc() || (used > 1 && text->front() == '0')) return std::nullopt;
  text->remove_prefix(used);
  return number;
}

// Of "S.N<ending>", whose N is not 0.
std::optional<std::pair<uint32_t, uint64_t>> ParseName(std::string_view name,
                                                       std::string_view ending) {
  const auto shard = TakeNumber<uint32_t>(&name);
  if (!shard || !name.starts_with('.')) return std::nullopt;
  name.remove_prefix(1);
  const auto number = TakeNumber<uint64_t>(&name);
  if (!number || *number == 0 || name != ending) return std::nullopt;
  return std::pair(*shard, *number);
}

std::string GoneName(uint32_t shard) { return std::to_string(shard) + std::string(kGoneEnding); }

std::optional<uint32_t> ParseGone(std::string_view name) {
  const auto shard = TakeNumber<uint32_t>(&name);
  return name == kGoneEnding ? shard : std::nullopt;
}

std::vector<std::string> NamesOf(uint32_t shard, const ShardFiles& files) {
  std::vector<std::string> names;
  for (const uint64_t number : files.snapshots) names.push_back(SnapshotName(shard, number));
  for (const uint64_t number : files.segments) names.push_back(SegmentName(shard, number));
  return names;
}

bool IsSpare(std::string_view name) {
  if (!name.starts_with(kSparePrefix)) return false;
  name.remove_prefix(kSparePrefix.size());
  return TakeNumber<uint64_t>(&name) && name.empty();
}

// Only what this program may have begun; a stranger's *.new is not.
bool IsUnfinished(std::string_view name) {
  if (!name.ends_with(kUnfinishedEnding)) return false;
  name.remove_suffix(kUnfinishedEnding.size());
  return IsSpare(name) || ParseName(name, kSegmentEnding) || ParseName(name, kSnapshotEnding);
}

void Sort(std::string name, Folder* folder) {
  if (const auto segment = ParseName(name, kSegmentEnding)) {
    folder->shards[segment->first].segments.insert(segment->second);
  } else if (const auto snapshot = ParseName(name, kSnapshotEnding)) {
    folder->shards[snapshot->first].snapshots.insert(snapshot->second);
  } else if (IsSpare(name)) {
    folder->spares.push_back(std::move(name));
  } else if (IsUnfinished(name)) {
    folder->unfinished.push_back(std::move(name));
  } else if (name != "lock" && name != "log.lock") {
    folder->others.push_back(std::move(name));
  }
}

}  // namespace

std::string SegmentName(uint32_t shard, uint64_t number) {
  return NameOf(shard, number, kSegmentEnding);
}

std::string SnapshotName(uint32_t shard, uint64_t number) {
  return NameOf(shard, number, kSnapshotEnding);
}

std::string Unfinished(std::string_view name) {
  return std::string(name) + std::string(kUnfinishedEnding);
}

std::expected<Folder, Error> Folder::List(Disk* disk) {
  auto names = disk->List();
  if (!names) return std::unexpected(names.error());
  Folder folder;
  std::vector<uint32_t> gone;
  for (std::string& name : *names) {
    if (const auto shard = ParseGone(name)) {
      gone.push_back(*shard);
    } else {
      Sort(std::move(name), &folder);
    }
  }
  for (const uint32_t shard : gone) {
    for (std::string& name : NamesOf(shard, folder.shards[shard])) {
      folder.unfinished.push_back(std::move(name));
    }
    folder.unfinished.push_back(GoneName(shard));
    folder.shards.erase(shard);
  }
  return folder;
}

std::expected<void, Error> RemoveShard(Disk* disk, uint32_t shard) {
  const auto folder = Folder::List(disk);
  if (!folder) return std::unexpected(folder.error());
  const auto found = folder->shards.find(shard);
  if (found == folder->shards.end()) return {};
  const std::string gone = GoneName(shard);
  if (auto made = disk->Open(gone, Disk::Mode::kCreate); !made) {
    return std::unexpected(made.error());
  }
  if (auto synced = disk->SyncNames(); !synced) return synced;
  for (const std::string& name : NamesOf(shard, found->second)) {
    if (auto removed = disk->Remove(name); !removed) return removed;
  }
  if (auto synced = disk->SyncNames(); !synced) return synced;
  return disk->Remove(gone);
}

}  // namespace plov::log
