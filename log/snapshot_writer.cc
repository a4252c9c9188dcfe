#include "log/snapshot_writer.h"

#include <cassert>
#include <utility>

#include "log/folder.h"
#include "log/snapshot_reader.h"

namespace plov::log {

namespace {

// So much is dirty at most: a sync of it does not hold up the log's own for long.
constexpr uint64_t kSyncBytes = uint64_t{16} << 20;

// The next block is whole, or the end; else what the caller of Finish is told.
std::expected<bool, Error> HasNext(SnapshotReader* reader) {
  const auto block = reader->Next();
  if (!block) return std::unexpected(block.error());
  if (!*block) return Fail(Code::kCorrupt, block->error().Line());
  return (*block)->has_value();
}

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
  assert(operations > 0 && block.size() > verify::kSnapshotBlockHeadBytes);
  assert(block.size() % verify::kWordBytes == 0 && block.size() <= verify::kBatchBytesMax);
  const uint64_t seed = verify::SnapshotSeed(head_.id, at_);
  const uint64_t checksum = verify::SealSnapshotBlock(block, blocks_, operations, seed);
  if (const auto written = Append(block); !written) return written;
  digest_ = verify::SnapshotDigest(digest_, checksum);
  ++blocks_;
  return at_ - synced_ < kSyncBytes ? std::expected<void, Error>() : Sync();
}

std::expected<void, Error> SnapshotWriter::Finish(const Total& total) {
  const verify::SnapshotFooter footer{.digest = digest_,
                                      .items = total.items,
                                      .payload_bytes = total.payload_bytes,
                                      .start_batch = head_.first_batch,
                                      .needs_batch = total.needs_batch,
                                      .last_version = total.last_version};
  const uint64_t seed = verify::SnapshotSeed(head_.id, at_);
  const auto bytes = verify::SealSnapshotFooter(footer, blocks_, seed);
  if (const auto written = Append(bytes); !written) return written;
  if (const auto synced = Sync(); !synced) return synced;
  const auto named = Settled(disk_->Rename(Unfinished(name_), name_));
  if (!named) return named;
  const auto durable = Settled(disk_->SyncNames());
  if (!durable) return durable;
  return ReadBack();
}

// What the disk has of it, not the system's memory: Sync dropped that.
std::expected<void, Error> SnapshotWriter::ReadBack() {
  file_.reset();
  const auto read_all = [this] -> std::expected<void, Error> {
    auto reader = SnapshotReader::Open(disk_, name_);
    if (!reader) return std::unexpected(reader.error());
    if (!*reader) return Fail(Code::kCorrupt, reader->error().Line());
    std::expected<bool, Error> more = true;
    while (more && *more) more = HasNext(&**reader);
    if (!more) return std::unexpected(more.error());
    return {};
  };
  const auto whole = Settled(read_all());
  if (!whole) std::ignore = disk_->Remove(name_);  // a next start would call it damaged, too
  return whole;
}

void SnapshotWriter::Abandon() {
  file_.reset();
  failed_ = Error{Code::kSystem, disk_->PathOf(name_) + ": this snapshot was abandoned"};
  std::ignore = disk_->Remove(Unfinished(name_));
}

}  // namespace plov::log
