#include "log/offline/salvage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "log/offline/scan.h"

namespace plov::log::offline {

namespace {

using verify::LogFile;

// A file that is there, and who it says that it is.
struct Found {
  std::string name;
  LogFile kind;
  std::unique_ptr<File> file;
  std::optional<verify::LogHead> head;  // if it is whole
  // As the head says, else the name.
  uint32_t shard;
  uint64_t number;
};

// What most of them have; `value` is of T.
template <typename T, typename Value>
std::optional<T> MostCommon(const std::vector<Found>& files, Value value) {
  std::vector<std::pair<T, size_t>> counts;
  for (const Found& file : files) {
    const std::optional<T> one = value(file);
    if (!one) continue;
    const auto same = std::ranges::find(counts, *one, &std::pair<T, size_t>::first);
    if (same != counts.end()) {
      ++same->second;
    } else {
      counts.emplace_back(*one, 1);
    }
  }
  if (counts.empty()) return std::nullopt;
  return std::ranges::max_element(counts, {}, &std::pair<T, size_t>::second)->first;
}

std::string Counted(uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string Numbers(uint64_t first, uint64_t last) {
  if (first == last) return "batch " + std::to_string(first) + " is";
  return "batches " + std::to_string(first) + " to " + std::to_string(last) + " are";
}

class Salvager {
 public:
  Salvager(Disk* disk, const Visit& visit) : disk_(disk), visit_(visit) {}

  std::expected<std::vector<std::string>, Error> Run() {
    auto folder = Folder::List(disk_);
    if (!folder) return std::unexpected(folder.error());
    if (folder->shards.empty()) {
      return NoLog(disk_);
    }
    for (const auto& [shard, files] : folder->shards) {
      for (const uint64_t number : files.segments) OpenFile(LogFile::kSegment, shard, number);
      for (const uint64_t number : files.snapshots) OpenFile(LogFile::kSnapshot, shard, number);
    }
    DropForeign();
    std::map<uint32_t, std::vector<Found*>> shards;
    for (Found& file : files_) shards[file.shard].push_back(&file);
    for (auto& [shard, files] : shards) SalvageShard(shard, std::move(files));
    TellMissing(shards);
    return std::move(skipped_);
  }

 private:
  void Skip(const std::string& name, std::string_view why) {
    skipped_.push_back(disk_->PathOf(name) + ": " + std::string(why));
  }

  // What a damaged file has in common with the others is read all the same.
  void OpenFile(LogFile kind, uint32_t shard, uint64_t number) {
    std::string name =
        kind == LogFile::kSegment ? SegmentName(shard, number) : SnapshotName(shard, number);
    auto opened = disk_->Open(name, Disk::Mode::kRead);
    if (!opened) return skipped_.push_back(opened.error().message);
    Window window(opened->get());
    const auto head = verify::CheckLogHead(kind, window.At(0, verify::kLogBlockBytes));
    Found found{.name = std::move(name),
                .kind = kind,
                .file = *std::move(opened),
                .head = {},
                .shard = shard,
                .number = number};
    if (!head && head.error() == Code::kProtocol) {
      return Skip(found.name, "another version of plov wrote this file; use that one");
    }
    if (head && head->is_replica) {
      return Skip(found.name, "it is of a cluster's replica: plovd --cluster reads it");
    }
    if (head) {
      found.head = *head;
      if (head->shard != shard || head->number != number) {
        Skip(found.name, "its head says that it is number " + std::to_string(head->number) +
                             " of shard " + std::to_string(head->shard) + ": read as that one");
      }
      found.shard = head->shard;
      found.number = head->number;
    }
    files_.push_back(std::move(found));
  }

  // Files of another server or another log than most.
  void DropForeign() {
    const auto seed = MostCommon<uint64_t>(files_, [](const Found& file) {
      return file.head ? std::optional(file.head->hash_seed) : std::nullopt;
    });
    std::map<uint32_t, std::optional<verify::LogId>> ids;
    for (const Found& file : files_) {
      if (ids.contains(file.shard)) continue;
      ids[file.shard] = MostCommon<verify::LogId>(files_, [&](const Found& other) {
        const bool counts =
            other.head && other.shard == file.shard && other.head->hash_seed == seed;
        return counts ? std::optional(other.head->id) : std::nullopt;
      });
    }
    std::erase_if(files_, [&](const Found& file) {
      const auto& id = ids[file.shard];
      if (file.head && file.head->id == id) return false;
      if (!file.head && id) return false;
      Skip(file.name, file.head ? "it is of another log than the others"
                                : "no file of its shard says which log it is of");
      return true;
    });
    ids_ = std::move(ids);
    for (const Found& file : files_) {
      if (!file.head) continue;
      shard_count_ = file.head->cluster_id == 0 ? file.head->shard_count : 0;
    }
  }

  // The newest snapshot that is whole. nullptr: there is none.
  const Found* FindBase(uint32_t shard, const std::vector<Found*>& files) {
    for (const Found* file : files | std::views::reverse) {
      const bool has_its_name = file->name == SnapshotName(shard, file->number);
      if (file->kind != LogFile::kSnapshot || !has_its_name) continue;
      const auto snapshot = ReadSnapshot(disk_, shard, file->number, nullptr);
      if (!snapshot || snapshot->damage) continue;
      first_ = snapshot->head.first_batch;
      promised_ = snapshot->footer.needs_batch;
      return file;
    }
    return nullptr;
  }

  void SalvageShard(uint32_t shard, std::vector<Found*> files) {
    std::ranges::sort(files, {}, [](const Found* file) { return file->number; });
    first_ = 1;
    promised_ = 0;
    const Found* base = FindBase(shard, files);
    next_ = first_;
    // It was whole a moment ago.
    if (base != nullptr) static_cast<void>(ReadSnapshot(disk_, shard, base->number, visit_));
    const uint64_t oldest = base == nullptr ? 0 : base->number;
    std::vector<Found*> segments;
    for (Found* file : files) {
      if (file->kind == LogFile::kSegment && file->number >= oldest) segments.push_back(file);
      if (file->kind == LogFile::kSnapshot && file->number > oldest) SalvageSnapshot(shard, *file);
    }
    for (size_t i = 0; i < segments.size(); ++i) SalvageSegment(shard, segments, i);
    if (promised_ < next_) return;
    skipped_.push_back("shard " + std::to_string(shard) + ": " + Numbers(next_, promised_) +
                       " lost: durable once, and behind all that is whole");
  }

  void SalvageSnapshot(uint32_t shard, const Found& file) {
    TellHead(file);
    Window window(file.file.get());
    const Place place{
        .shard = shard, .kind = LogFile::kSnapshot, .file = file.name, .number = file.number};
    uint64_t blocks = 0;
    ScanSnapshot(&window, *ids_[shard],
                 [&](const verify::SnapshotBlockHead&, uint64_t offset, Bytes operations) {
                   ++blocks;
                   VisitEach(operations, offset, place, visit_);
                 });
    Skip(file.name, "the snapshot is not whole: only " + Counted(blocks, "block") + " of it " +
                        (blocks == 1 ? "is" : "are") + " used");
  }

  // From which batch on a segment is history, as the heads behind it say (D6).
  static uint64_t LimitOf(const std::vector<Found*>& files, size_t index) {
    uint64_t limit = UINT64_MAX;
    for (size_t i = index + 1; i < files.size(); ++i) {
      if (files[i]->head && files[i]->number > files[index]->number) {
        limit = std::min(limit, files[i]->head->first_batch);
      }
    }
    return limit;
  }

  void SalvageSegment(uint32_t shard, const std::vector<Found*>& files, size_t index) {
    const Found& file = *files[index];
    const uint64_t limit = LimitOf(files, index);
    TellHead(file);
    const Place place{
        .shard = shard, .kind = LogFile::kSegment, .file = file.name, .number = file.number};
    if (file.head && file.head->first_batch > next_) {
      TellGap(shard, file.head->first_batch, "they are not before " + disk_->PathOf(file.name));
    }
    if (file.head && file.file->bytes() < file.head->file_bytes) {
      Skip(file.name, "its last " + Counted(file.head->file_bytes - file.file->bytes(), "byte") +
                          " are missing");
    }
    if (file.head) promised_ = std::max(promised_, file.head->first_batch - 1);
    Window window(file.file.get());
    uint64_t end = verify::kLogBlockBytes;  // of the last batch that is whole
    const Segment segment{.id = *ids_[shard], .number = file.number};
    ScanSegment(&window, segment, end, [&](const Walk::Batch& batch) {
      const bool is_closed = batch.head.kind == verify::BatchHead::Kind::kClosed;
      if (batch.head.attest < limit) promised_ = std::max(promised_, batch.head.attest);
      if (is_closed) TellClosed(files, file, batch.head.number);
      if (is_closed || batch.head.number >= limit) return true;
      if (batch.head.number > next_) {
        TellGap(shard, batch.head.number,
                "no whole one lies in " + disk_->PathOf(file.name) + " from offset " +
                    std::to_string(end) + " to " + std::to_string(batch.offset));
      }
      next_ = std::max(next_, batch.head.number + 1);
      end = batch.offset + verify::RoundUpToBlock(batch.head.bytes);
      if (batch.head.number < first_) return true;
      Place here = place;
      here.batch = batch.head.number;
      return VisitEach(batch.operations, batch.offset + verify::kBatchHeadBytes, here, visit_);
    });
    if (window.unreadable_bytes() > 0) {
      Skip(file.name, Counted(window.unreadable_bytes(), "byte") + " could not be read");
    }
    if (index + 1 == files.size()) TellTorn(&window, file, end);
  }

  void TellHead(const Found& file) {
    if (file.head) return;
    Skip(file.name, "its head is damaged, and what it said of the files before it is not known");
  }

  void TellGap(uint32_t shard, uint64_t found, const std::string& where) {
    skipped_.push_back("shard " + std::to_string(shard) + ": " + Numbers(next_, found - 1) +
                       " lost: " + where);
    next_ = found;
  }

  void TellClosed(const std::vector<Found*>& files, const Found& file, uint64_t next) {
    const bool is_there =
        std::ranges::any_of(files, [next](const Found* other) { return other->number == next; });
    if (!is_there) {
      Skip(file.name, "the log went on in " + SegmentName(file.shard, next) +
                          ", which is missing, with all that it held");
    }
  }

  // What looks like a batch that comes next at the log's end, and is not whole.
  void TellTorn(Window* window, const Found& file, uint64_t end) {
    const auto guess = verify::GuessBatchHead(window->At(end, verify::kBatchHeadBytes),
                                              window->file_bytes() - end);
    if (guess && guess->number == next_ && promised_ < next_) {
      Skip(file.name, "batch " + std::to_string(next_) + ", at offset " + std::to_string(end) +
                          ", is torn; nobody was promised it");
    }
  }

  void TellMissing(const std::map<uint32_t, std::vector<Found*>>& shards) {
    constexpr uint32_t kShardsMax = 4096;  // a head that lies may name any number
    for (uint32_t shard = 0; shard < std::min(shard_count_, kShardsMax); ++shard) {
      if (shards.contains(shard)) continue;
      skipped_.push_back("shard " + std::to_string(shard) + ": it has no file that could be read");
    }
  }

  Disk* disk_;
  const Visit& visit_;
  std::vector<Found> files_;
  std::map<uint32_t, std::optional<verify::LogId>> ids_;  // of each shard
  uint32_t shard_count_ = 0;  // that should be there; 0: a cluster's, of which a server has some
  std::vector<std::string> skipped_;
  // Of the shard at hand: the batch that comes next, the first that counts, and the last that the log says was
  // durable.
  uint64_t next_ = 1;
  uint64_t first_ = 1;
  uint64_t promised_ = 0;
};

}  // namespace

std::expected<std::vector<std::string>, Error> Salvage(Disk* disk, const Visit& visit) {
  return Salvager(disk, visit).Run();
}

}  // namespace plov::log::offline
