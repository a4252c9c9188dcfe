#include "log/offline/scan.h"

#include <algorithm>
#include <optional>

namespace plov::log::offline {

namespace {

constexpr uint64_t kScanWindowBytes = uint64_t{4} << 20;

}  // namespace

Bytes Window::At(uint64_t offset, uint64_t bytes) {
  if (offset >= file_->bytes()) return {};
  bytes = std::min(bytes, file_->bytes() - offset);
  if (offset < window_at_ || offset + bytes > window_at_ + window_.size()) {
    Fill(offset, std::min(std::max(bytes, kScanWindowBytes), file_->bytes() - offset));
  }
  return Bytes(window_).subspan(offset - window_at_, bytes);
}

void Window::Fill(uint64_t offset, uint64_t bytes) {
  window_.resize(bytes);
  window_at_ = offset;
  if (file_->Read(offset, window_)) return;
  for (uint64_t at = 0; at < bytes; at += verify::kLogBlockBytes) {
    const auto block = std::span(window_).subspan(at, std::min(verify::kLogBlockBytes, bytes - at));
    if (file_->Read(offset + at, block)) continue;
    std::ranges::fill(block, std::byte{0});
    unreadable_bytes_ += block.size();
  }
}

void ScanSegment(Window* window, const Segment& segment, uint64_t from,
                 const std::function<bool(const Walk::Batch&)>& told) {
  uint64_t step = verify::kLogBlockBytes;
  for (uint64_t at = from; at < window->file_bytes(); at += step) {
    step = verify::kLogBlockBytes;
    const auto guess =
        verify::GuessBatchHead(window->At(at, verify::kBatchHeadBytes), window->file_bytes() - at);
    if (!guess) continue;
    const Bytes bytes = window->At(at, guess->bytes);
    if (!verify::CheckBatch(bytes, *guess, verify::BatchSeed(segment.id, segment.number, at))) {
      continue;
    }
    step = verify::RoundUpToBlock(guess->bytes);
    const Bytes operations = bytes.first(guess->bytes).subspan(verify::kBatchHeadBytes);
    if (!told(
            {.head = *guess, .segment = segment.number, .offset = at, .operations = operations})) {
      return;
    }
  }
}

void ScanSnapshot(Window* window, const verify::LogId& id, const ToldBlock& told) {
  uint64_t step = verify::kWordBytes;
  for (uint64_t at = verify::kLogBlockBytes; at < window->file_bytes(); at += step) {
    step = verify::kWordBytes;
    const auto guess = verify::GuessSnapshotBlock(window->At(at, verify::kSnapshotBlockHeadBytes),
                                                  window->file_bytes() - at);
    if (!guess) continue;
    const Bytes block = window->At(at, guess->bytes);
    if (!verify::CheckSnapshotBlock(block, *guess, verify::SnapshotSeed(id, at))) continue;
    step = guess->bytes;
    if (guess->kind == verify::SnapshotBlockHead::Kind::kSessions) continue;
    told(*guess, at + verify::kSnapshotBlockHeadBytes,
         block.first(guess->bytes).subspan(verify::kSnapshotBlockHeadBytes));
  }
}

}  // namespace plov::log::offline
