#include "log/snapshot_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "log/folder.h"

namespace plov::log {

namespace {

using Kind = verify::SnapshotBlockHead::Kind;

// So much is dirty at most: a sync of it does not hold up the log's own for long.
constexpr uint64_t kSyncBytes = uint64_t{16} << 20;
// A block of these is as long as those of items, or shorter.
constexpr size_t kSessionsInBlock = (size_t{1} << 20) / verify::kLoggedSessionBytes;

}  // namespace

std::expected<SnapshotWriter, Error> SnapshotWriter::Begin(Disk* disk,
                                                           const verify::LogHead& head) {
  assert(head.number != 0 && head.first_batch != 0 && head.shard < head.shard_count);
  SnapshotWriter writer;
  writer.disk_ = disk;
  writer.head_ = head;
  writer.head_.file_bytes = 0;
  writer.name_ = SnapshotName(head.shard, head.number);
  const std::string unfinished = Unfinished(writer.name_);
  std::ignore = disk->Remove(unfinished);  // one that was abandoned, if there is one
  auto file = disk->Open(unfinished, Disk::Mode::kCreate);
  if (!file) return std::unexpected(file.error());
  writer.file_ = std::move(*file);
  const auto block = verify::SealLogHead(verify::LogFile::kSnapshot, writer.head_);
  if (const auto written = writer.Append(block); !written) {
    writer.Abandon();
    return std::unexpected(written.error());
  }
  return writer;
}

// After an error the file takes no more: what of it is there nobody knows.
std::expected<void, Error> SnapshotWriter::Settled(std::expected<void, Error> result) {
  if (!result) failed_ = result.error();
  return result;
}

std::expected<void, Error> SnapshotWriter::Append(std::span<const std::byte> bytes) {
  if (failed_) return std::unexpected(*failed_);
  const Bytes piece = bytes;
  const auto written = Settled(file_->Write(at_, {&piece, 1}));
  if (written) at_ += bytes.size();
  return written;
}

std::expected<void, Error> SnapshotWriter::Sync() {
  if (failed_) return std::unexpected(*failed_);
  const auto synced = Settled(file_->Sync());
  if (!synced) return synced;
  file_->DropCache();
  synced_ = at_;
  return {};
}

std::expected<void, Error> SnapshotWriter::Write(std::span<std::byte> block, uint32_t operations) {
  return SealAndAppend(block, {.operations = operations, .kind = Kind::kItems});
}

std::expected<void, Error> SnapshotWriter::WriteSessions(
    std::span<const verify::LoggedSession> sessions) {
  std::vector<std::byte> block;
  while (!sessions.empty()) {
    const auto some = sessions.first(std::min(sessions.size(), kSessionsInBlock));
    block.resize(verify::kSnapshotBlockHeadBytes + some.size() * verify::kLoggedSessionBytes);
    std::byte* at = block.data() + verify::kSnapshotBlockHeadBytes;
    for (const verify::LoggedSession& session : some) {
      verify::EncodeLoggedSession(session, at);
      at += verify::kLoggedSessionBytes;
    }
    const auto written = SealAndAppend(
        block, {.operations = static_cast<uint32_t>(some.size()), .kind = Kind::kSessions});
    if (!written) return written;
    sessions = sessions.subspan(some.size());
  }
  return {};
}

std::expected<void, Error> SnapshotWriter::SealAndAppend(std::span<std::byte> block,
                                                         verify::SnapshotBlockHead head) {
  assert(head.operations > 0 && block.size() > verify::kSnapshotBlockHeadBytes);
  assert(block.size() % verify::kWordBytes == 0 && block.size() <= verify::kBatchBytesMax);
  head.number = blocks_;
  const uint64_t seed = verify::SnapshotSeed(head_.id, at_);
  const uint64_t checksum = verify::SealSnapshotBlock(block, head, seed);
  if (const auto written = Append(block); !written) return written;
  digest_ = verify::SnapshotDigest(digest_, checksum);
  ++blocks_;
  return at_ - synced_ < kSyncBytes ? std::expected<void, Error>() : Sync();
}

std::expected<void, Error> SnapshotWriter::Close(const verify::SnapshotFooter& total,
                                                 std::span<const verify::LoggedSession> sessions) {
  if (const auto written = WriteSessions(sessions); !written) return written;
  verify::SnapshotFooter footer = total;
  footer.digest = digest_;
  footer.start_batch = head_.first_batch;
  footer.sessions = sessions.size();
  const uint64_t seed = verify::SnapshotSeed(head_.id, at_);
  const auto bytes = verify::SealSnapshotFooter(footer, blocks_, seed);
  if (const auto written = Append(bytes); !written) return written;
  if (const auto synced = Sync(); !synced) return synced;
  file_.reset();
  return Settled(OpenToReadBack());
}

// What the disk has of it, not the system's memory: Sync dropped that.
std::expected<void, Error> SnapshotWriter::OpenToReadBack() {
  auto reader = SnapshotReader::Open(disk_, Unfinished(name_));
  if (!reader) return std::unexpected(reader.error());
  if (!*reader) return Fail(Code::kCorrupt, reader->error().Line());
  reader_ = std::move(**reader);
  return {};
}

std::expected<bool, Error> SnapshotWriter::ReadBack() {
  if (failed_) return std::unexpected(*failed_);
  const auto block = reader_->Next();
  if (block && *block && **block) return true;
  if (block && *block) return Publish();
  failed_ = block ? Error{Code::kCorrupt, block->error().Line()} : block.error();
  return std::unexpected(*failed_);
}

// Not before it was read back: it may take the place of a snapshot that the log rests on.
std::expected<bool, Error> SnapshotWriter::Publish() {
  auto named = Settled(disk_->Rename(Unfinished(name_), name_));
  if (named) named = Settled(disk_->SyncNames());
  if (!named) return std::unexpected(named.error());
  return false;
}

void SnapshotWriter::Abandon() {
  file_.reset();
  reader_.reset();
  failed_ = Error{Code::kSystem, disk_->PathOf(name_) + ": this snapshot was abandoned"};
  std::ignore = disk_->Remove(Unfinished(name_));
}

}  // namespace plov::log
