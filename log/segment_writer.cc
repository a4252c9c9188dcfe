#include "log/segment_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "log/folder.h"

namespace plov::log {

namespace {

constexpr size_t kClosedBytes = verify::kLogBlockBytes;
constexpr verify::LogBlock kZeroBlock{};

uint64_t BytesOf(const PendingBatch& batch) {
  uint64_t bytes = 0;
  for (const std::span<std::byte> piece : batch.pieces) bytes += piece.size();
  return bytes;
}

// Head, the batch, and room to close it.
uint64_t SegmentBytesFor(uint64_t batch_bytes) {
  return verify::kLogBlockBytes + verify::RoundUpToBlock(batch_bytes) + kClosedBytes;
}

// Zeros go behind it to the end of its last block, over what a recycled file has there.
std::expected<void, Error> WriteBatchAt(File* file, uint64_t offset, const PendingBatch& batch) {
  std::vector<Bytes> pieces(batch.pieces.begin(), batch.pieces.end());
  const size_t padding = verify::RoundUpToBlock(batch.head.bytes) - batch.head.bytes;
  if (padding > 0) pieces.push_back(Bytes(kZeroBlock).first(padding));
  return file->Write(offset, pieces);
}

}  // namespace

SegmentWriter::SegmentWriter(Disk* disk, Spares* spares, const Options& options, const LogEnd& end)
    : disk_(disk),
      spares_(spares),
      options_(options),
      end_(end),
      chain_(end.chain),
      durable_chain_(end.chain),
      durable_(end.next_batch - 1) {}

std::expected<void, Error> SegmentWriter::Begin() {
  assert(!current_ && undurable_.empty());
  return BeginSegment(0);
}

std::expected<void, Error> SegmentWriter::Write(PendingBatch batch) {
  assert(batch.head.number == end_.next_batch);
  assert(batch.pieces.front().size() >= verify::kBatchHeadBytes);
  ++end_.next_batch;
  end_.last_version = std::max(end_.last_version, batch.head.last_version);
  undurable_.push_back(std::move(batch));
  if (failure_) return std::unexpected(*failure_);
  return Attempt(Until::kWritten);
}

std::expected<void, Error> SegmentWriter::Sync() {
  if (failure_) return std::unexpected(*failure_);
  return Attempt(Until::kDurable);
}

std::expected<void, Error> SegmentWriter::Retry() {
  if (!waits()) return {};
  return Attempt(Until::kWritten);
}

bool SegmentWriter::waits() const { return in_current_ < undurable_.size(); }

// When a file fails, the batches go to a new segment at once, and when that one fails too, they wait (D8).
std::expected<void, Error> SegmentWriter::Attempt(Until until) {
  std::expected<void, Error> result;
  for (int tries = 0; tries < 2; ++tries) {
    const uint64_t dropped_before = dropped_;
    result = WriteWaiting();
    if (result && until == Until::kDurable) result = SyncCurrent();
    if (result || dropped_ == dropped_before) break;
  }
  failure_.reset();
  if (!result) failure_ = result.error();
  return result;
}

std::expected<void, Error> SegmentWriter::WriteWaiting() {
  while (waits()) {
    const uint64_t batch_bytes = BytesOf(undurable_[in_current_]);
    if (!current_) {
      if (auto begun = BeginSegment(batch_bytes); !begun) return begun;
    } else if (!Fits(batch_bytes)) {
      if (auto rotated = Rotate(batch_bytes); !rotated) return rotated;
    }
    if (auto written = WriteOne(&undurable_[in_current_]); !written) return written;
  }
  return {};
}

std::expected<void, Error> SegmentWriter::SyncCurrent() {
  if (in_current_ == 0) return {};
  if (auto synced = current_->file->Sync(); !synced) {
    DropCurrent();
    return synced;
  }
  SetDurable(in_current_);
  return {};
}

std::expected<void, Error> SegmentWriter::WriteOne(PendingBatch* batch) {
  batch->head.bytes = static_cast<uint32_t>(BytesOf(*batch));
  batch->head.chain = chain_;
  batch->head.attest = durable_;
  verify::EncodeBatchHead(batch->head, batch->pieces.front().first<verify::kBatchHeadBytes>());
  batch->head.checksum = verify::SealBatch(
      batch->pieces, verify::BatchSeed(options_.id, current_->number, current_->at));
  if (auto written = WriteBatchAt(current_->file.get(), current_->at, *batch); !written) {
    DropCurrent();
    return written;
  }
  const size_t bytes = verify::RoundUpToBlock(batch->head.bytes);
  current_->at += bytes;
  bytes_written_ += bytes;
  chain_ = batch->head.checksum;
  ++in_current_;
  if (options_.durable_writes) SetDurable(in_current_);
  return {};
}

// Not before all in the current one is durable: the next one's head says that it was (D7). From then on the
// current one gets no batch more, whether the next can be begun or not: its head may be on disk.
std::expected<void, Error> SegmentWriter::Rotate(uint64_t batch_bytes) {
  if (auto synced = SyncCurrent(); !synced) return synced;
  full_ = std::move(current_);
  current_.reset();
  return BeginSegment(batch_bytes);
}

// When it fails its number is tried again, though its name may be on disk by now: no batch was written into
// it, and the head that takes its place says the same of where the log goes on. With another number this one
// would be missing, were its name lost, and that is damage.
std::expected<void, Error> SegmentWriter::BeginSegment(uint64_t batch_bytes) {
  const uint64_t number = end_.next_segment;
  const uint64_t bytes = std::max(SegmentBytesFor(batch_bytes), spares_->file_bytes());
  if (auto made = MakeSegment(number, bytes); !made) return made;
  const auto mode = options_.durable_writes ? Disk::Mode::kDurable : Disk::Mode::kWrite;
  auto file = disk_->Open(SegmentName(options_.shard, number), mode);
  if (!file) return std::unexpected(file.error());
  current_ = Segment{
      .file = *std::move(file), .number = number, .bytes = bytes, .at = verify::kLogBlockBytes};
  end_.next_segment = number + 1;
  ++segments_begun_;
  CloseFull();
  return {};
}

// The head is durable before the file has its name, and the name before anything else is written.
std::expected<void, Error> SegmentWriter::MakeSegment(uint64_t number, uint64_t bytes) {
  auto spare = bytes == spares_->file_bytes() ? spares_->Take() : spares_->MakeOf(bytes);
  if (!spare) return std::unexpected(spare.error());
  const std::string name = SegmentName(options_.shard, number);
  const std::string unfinished = Unfinished(name);
  auto made = disk_->Rename(*spare, unfinished);
  if (!made) {
    spares_->Give(*spare);
    return made;
  }
  made = WriteHead(unfinished, number, bytes);
  if (made) made = disk_->Rename(unfinished, name);
  if (!made) {
    (void)disk_->Remove(unfinished);  // else the next try or start does
    return made;
  }
  return disk_->SyncNames();
}

std::expected<void, Error> SegmentWriter::WriteHead(const std::string& name, uint64_t number,
                                                    uint64_t bytes) {
  auto file = disk_->Open(name, Disk::Mode::kWrite);
  if (!file) return std::unexpected(file.error());
  const verify::LogBlock head =
      verify::SealLogHead(verify::LogFile::kSegment, {.shard = options_.shard,
                                                      .shard_count = options_.shard_count,
                                                      .id = options_.id,
                                                      .number = number,
                                                      .first_batch = durable_ + 1,
                                                      .chain = durable_chain_,
                                                      .floor = end_.last_version + 1,
                                                      .hash_seed = options_.hash_seed,
                                                      .file_bytes = bytes,
                                                      .life = options_.life,
                                                      .cluster_id = options_.cluster_id,
                                                      .is_replica = options_.is_replica});
  const Bytes piece = head;
  if (auto written = (*file)->Write(0, std::span(&piece, 1)); !written) return written;
  if (auto synced = (*file)->Sync(); !synced) return synced;
  bytes_written_ += head.size();
  return {};
}

// Says in a full segment that there is another. When that fails nothing is lost but this word.
void SegmentWriter::CloseFull() {
  if (!full_) return;
  const Segment full = *std::exchange(full_, std::nullopt);
  std::array<std::byte, verify::kBatchHeadBytes> memory;
  const std::span<std::byte> piece = memory;
  verify::EncodeBatchHead({.number = current_->number,
                           .chain = durable_chain_,
                           .attest = durable_,
                           .kind = verify::BatchHead::Kind::kClosed},
                          memory);
  verify::SealBatch(std::span(&piece, 1), verify::BatchSeed(options_.id, full.number, full.at));
  if (WriteBatchAt(full.file.get(), full.at, {.pieces = {piece}, .head = {}})) {
    bytes_written_ += kClosedBytes;
    (void)full.file->Sync();
  }
}

// The oldest `batches`, all in the current segment.
void SegmentWriter::SetDurable(size_t batches) {
  for (; batches > 0; --batches) {
    durable_ = undurable_.front().head.number;
    durable_chain_ = undurable_.front().head.checksum;
    undurable_.pop_front();
    --in_current_;
  }
}

// Its last durable batch is its end; all after that go elsewhere, sealed anew.
void SegmentWriter::DropCurrent() {
  current_.reset();
  in_current_ = 0;
  chain_ = durable_chain_;
  ++dropped_;
}

bool SegmentWriter::Fits(uint64_t batch_bytes) const {
  return current_->at + verify::RoundUpToBlock(batch_bytes) + kClosedBytes <= current_->bytes;
}

}  // namespace plov::log
