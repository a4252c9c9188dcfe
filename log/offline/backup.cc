#include "log/offline/backup.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <string>
#include <utility>

#include "log/folder.h"
#include "log/offline/cut.h"
#include "log/offline/scan.h"
#include "log/snapshot_reader.h"

namespace plov::log::offline {

namespace {

// A server takes a snapshot when the log has become twice as long, which takes longer than to link it.
constexpr int kAttempts = 10;

std::expected<ShardFiles, Error> FilesOf(Disk* disk, uint32_t shard) {
  auto folder = Folder::List(disk);
  if (!folder) return std::unexpected(folder.error());
  return std::move(folder->shards[shard]);
}

// 0: there is none.
uint64_t NewestSnapshot(const ShardFiles& files) {
  return files.snapshots.empty() ? 0 : *files.snapshots.rbegin();
}

// The last segment, as far as it is written. It may grow meanwhile: batches are only added.
class LastSegment {
 public:
  static std::expected<LastSegment, Error> Open(Disk* disk, uint32_t shard, uint64_t number) {
    const std::string name = SegmentName(shard, number);
    const auto named = ReadHead(disk, name, verify::LogFile::kSegment);
    if (!named) return std::unexpected(named.error());
    auto file = disk->Open(name, Disk::Mode::kRead);
    if (!file) return std::unexpected(file.error());
    verify::LogBlock block;
    if (auto read = (*file)->Read(0, block); !read) return std::unexpected(read.error());
    // An empty one may have been made anew between the two.
    const auto head = verify::CheckLogHead(verify::LogFile::kSegment, block);
    if (!head || head->number != named->number || head->id != named->id) {
      return Fail(Code::kCorrupt, disk->PathOf(name) + ": another file took its place");
    }
    return LastSegment(disk->PathOf(name), *std::move(file), *head);
  }

  // Finds the end of what is whole. A batch that is not, though one behind it says that it was durable, may
  // have been read while it was written: then it is whole when it is read again. kCorrupt: it is not.
  std::expected<void, Error> FindEnd() {
    uint64_t attested = 0;
    while (true) {
      const uint64_t before = next_batch_;
      const auto attests = ReadOn();
      if (!attests) return std::unexpected(attests.error());
      if (*attests < next_batch_) return {};
      if (next_batch_ == before && attested >= before) {
        return Fail(Code::kCorrupt,
                    path_ + " at offset " + std::to_string(end_) + ": batch " +
                        std::to_string(next_batch_) +
                        " is not whole, and one behind it says that it was durable");
      }
      attested = *attests;
    }
  }

  // No longer than what is whole: so there is nothing behind it.
  std::expected<void, Error> Copy(Copier* copier) {
    verify::LogHead head = head_;
    head.file_bytes = std::max(end_, kNextSegmentBytes);
    return copier->MakeSegment(head, file_.get(), end_);
  }

 private:
  LastSegment(std::string path, std::unique_ptr<File> file, const verify::LogHead& head)
      : path_(std::move(path)),
        file_(std::move(file)),
        head_(head),
        next_batch_(head.first_batch),
        chain_(head.chain) {}

  // Goes on over the batches that follow each other. What those that are whole behind their end attest; 0:
  // there are none.
  std::expected<uint64_t, Error> ReadOn() {
    Window window(file_.get());
    uint64_t attests = 0;
    ScanSegment(&window, {.id = head_.id, .number = head_.number}, end_,
                [&](const Walk::Batch& batch) {
                  if (Follows(batch)) {
                    end_ += verify::RoundUpToBlock(batch.head.bytes);
                    chain_ = batch.head.checksum;
                    ++next_batch_;
                  } else if (batch.offset > end_) {
                    attests = std::max(attests, batch.head.attest);
                  }
                  return true;
                });
    if (window.unreadable_bytes() > 0) {
      return Fail(Code::kSystem, path_ + ": some of it cannot be read");
    }
    return attests;
  }

  // What closes the segment does not: the copy has no next one.
  bool Follows(const Walk::Batch& batch) const {
    return batch.offset == end_ && batch.head.number == next_batch_ && batch.head.chain == chain_ &&
           batch.head.kind != verify::BatchHead::Kind::kClosed;
  }

  std::string path_;
  std::unique_ptr<File> file_;
  verify::LogHead head_;
  uint64_t next_batch_;
  uint64_t chain_;
  uint64_t end_ = verify::kLogBlockBytes;
};

// Takes one shard.
class Taker {
 public:
  Taker(Disk* from, uint32_t shard, Copier* copier, const Link& link)
      : from_(from), shard_(shard), copier_(copier), link_(link) {}

  // False: the server has removed what it began with.
  std::expected<bool, Error> Take() {
    const auto before = FilesOf(from_, shard_);
    if (!before) return std::unexpected(before.error());
    const uint64_t snapshot = NewestSnapshot(*before);
    const auto taken = TakeFrom(snapshot);
    const auto after = FilesOf(from_, shard_);
    if (!after) return std::unexpected(after.error());
    const bool is_needed =
        snapshot == 0 ? after->snapshots.empty() : after->snapshots.contains(snapshot);
    if (!is_needed) return false;
    if (!taken) return std::unexpected(taken.error());
    // It is the first to go; where the snapshot could not be removed this alone tells.
    return after->segments.contains(std::max<uint64_t>(1, snapshot));
  }

 private:
  // The snapshot first: what it needs of the log is there by then, and is found afterwards. Of segments that
  // are begun while they are listed a later one may be seen without one before it.
  std::expected<void, Error> TakeFrom(uint64_t snapshot) {
    if (snapshot > 0) {
      if (auto linked = LinkOne(SnapshotName(shard_, snapshot)); !linked) return linked;
    }
    const auto files = FilesOf(from_, shard_);
    if (!files) return std::unexpected(files.error());
    const uint64_t first = std::max<uint64_t>(1, snapshot);
    uint64_t last = first;
    while (files->segments.contains(last + 1)) ++last;
    auto segment = LastSegment::Open(from_, shard_, last);
    if (!segment) return std::unexpected(segment.error());
    if (auto found = segment->FindEnd(); !found) return found;
    // The first one gets its name last: without it no server starts.
    if (auto copied = segment->Copy(copier_); !copied) return copied;
    for (uint64_t number = last - 1; number >= first; --number) {
      if (auto linked = LinkOne(SegmentName(shard_, number)); !linked) return linked;
    }
    return {};
  }

  std::expected<void, Error> LinkOne(const std::string& name) {
    const auto linked = copier_->LinkFile(name, link_);
    if (!linked) return std::unexpected(linked.error());
    return {};
  }

  Disk* from_;
  uint32_t shard_;
  Copier* copier_;
  const Link& link_;
};

std::expected<void, Error> TakeShard(Disk* from, uint32_t shard, Copier* copier, const Link& link) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto taken = Taker(from, shard, copier, link).Take();
    if (!taken) return std::unexpected(taken.error());
    if (*taken) return {};
    copier->Remove();
  }
  return Fail(Code::kUnavailable,
              "shard " + std::to_string(shard) + ": newer snapshots took the place of the log " +
                  std::to_string(kAttempts) +
                  " times while it was copied: try again, in a folder on the same file system, "
                  "where files are linked");
}

// Its files together, and of its snapshot what the footer says.
std::expected<BackedUp, Error> Describe(Disk* disk, const ShardFiles& files, Report report) {
  BackedUp backed_up{.report = std::move(report), .snapshot = {}};
  backed_up.last_version = backed_up.report.last_version;
  std::vector<std::string> names;
  for (const uint64_t number : files.segments) {
    names.push_back(SegmentName(backed_up.report.shard, number));
  }
  for (const uint64_t number : files.snapshots) {
    names.push_back(SnapshotName(backed_up.report.shard, number));
    const auto reader = SnapshotReader::Open(disk, names.back());
    if (!reader) return std::unexpected(reader.error());
    if (!*reader) return Fail(Code::kCorrupt, reader->error().Line());
    backed_up.snapshot = number;
    backed_up.items = (*reader)->footer().items;
    backed_up.last_version = std::max(backed_up.last_version, (*reader)->footer().last_version);
  }
  for (const std::string& name : names) {
    const auto file = disk->Open(name, Disk::Mode::kRead);
    if (!file) return std::unexpected(file.error());
    backed_up.bytes += (*file)->bytes();
  }
  return backed_up;
}

std::expected<std::vector<BackedUp>, Error> CheckAll(Disk* disk) {
  auto reports = CheckCopy(disk);
  if (!reports) return std::unexpected(reports.error());
  const auto folder = Folder::List(disk);
  if (!folder) return std::unexpected(folder.error());
  std::vector<BackedUp> all;
  for (Report& report : *reports) {
    const ShardFiles& files = folder->shards.at(report.shard);
    auto backed_up = Describe(disk, files, std::move(report));
    if (!backed_up) return std::unexpected(backed_up.error());
    all.push_back(*std::move(backed_up));
  }
  return all;
}

}  // namespace

std::expected<std::vector<BackedUp>, Error> Backup(Disk* from, Disk* to, const Link& link,
                                                   const Copied& copied) {
  const auto folder = Folder::List(from);
  if (!folder) return std::unexpected(folder.error());
  if (folder->shards.empty()) return NoLog(from);
  uint64_t bytes_before = 0;
  const Copied copied_in_all = [&](uint64_t bytes) {
    if (copied) copied(bytes_before + bytes);
  };
  std::vector<Copier> copiers;
  std::expected<void, Error> done;
  for (const uint32_t shard : folder->shards | std::views::keys) {
    if (!done) break;
    copiers.emplace_back(from, to, copied_in_all);
    done = TakeShard(from, shard, &copiers.back(), link);
    bytes_before += copiers.back().bytes();
  }
  for (Copier& copier : copiers) {
    if (done) done = copier.Finish();
  }
  if (done) done = to->SyncNames();
  std::expected<std::vector<BackedUp>, Error> all;
  if (done) all = CheckAll(to);
  if (!done) all = std::unexpected(done.error());
  if (all) return all;
  for (Copier& copier : copiers) copier.Remove();
  return all;
}

}  // namespace plov::log::offline
