#include "log/snapshot_feed.h"

#include <cassert>
#include <utility>

namespace plov::log {

uint64_t SnapshotFeed::Ask() {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = stats_.taken + stats_.failed + 1;
    const State now = state();
    if (now == State::kIdle) {
      SetState(State::kAsked);
    } else if (now != State::kAsked && now != State::kWanted) {
      asked_again_ = true;
      ++number;
    }
  }
  wake_writer_();
  return number;
}

SnapshotFeed::Stats SnapshotFeed::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.running = state() != State::kIdle;
  return stats;
}

void SnapshotFeed::Want() {
  {
    const std::lock_guard lock(mutex_);
    assert(state() == State::kAsked);
    SetState(State::kWanted);
  }
  wake_shard_();
}

void SnapshotFeed::Begin(const Start& start) {
  {
    const std::lock_guard lock(mutex_);
    assert(state() == State::kWanted);
    start_ = start;
    total_.reset();
    stats_.written_bytes = 0;
    SetState(State::kRunning);
  }
  wake_writer_();
}

std::optional<SnapshotBlock> SnapshotFeed::TakeFree() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    SnapshotBlock block = std::move(free_.back());
    free_.pop_back();
    return block;
  }
  if (blocks_ == kBlocks) return std::nullopt;
  ++blocks_;
  return SnapshotBlock::OfBytes(SnapshotBlock::kBytes);
}

void SnapshotFeed::Give(SnapshotBlock block) {
  {
    const std::lock_guard lock(mutex_);
    full_.push_back(std::move(block));
  }
  wake_writer_();
}

void SnapshotFeed::End(const Total& total, std::vector<verify::LoggedSession> sessions) {
  {
    const std::lock_guard lock(mutex_);
    total_ = total;
    sessions_ = std::move(sessions);
    SetState(State::kOver);
  }
  wake_writer_();
}

void SnapshotFeed::Fail() {
  {
    const std::lock_guard lock(mutex_);
    SetState(State::kOver);
  }
  wake_writer_();
}

void SnapshotFeed::Cancelled() {
  {
    const std::lock_guard lock(mutex_);
    ++stats_.failed;
    Settle();
  }
  wake_writer_();
}

SnapshotFeed::Start SnapshotFeed::start() const {
  const std::lock_guard lock(mutex_);
  return start_;
}

std::optional<SnapshotBlock> SnapshotFeed::TakeFull() {
  const std::lock_guard lock(mutex_);
  if (full_.empty()) return std::nullopt;
  SnapshotBlock block = std::move(full_.front());
  full_.erase(full_.begin());
  return block;
}

void SnapshotFeed::Free(SnapshotBlock block) {
  if (block.capacity != SnapshotBlock::kBytes) {
    block = SnapshotBlock::OfBytes(SnapshotBlock::kBytes);
  }
  block.bytes = verify::kSnapshotBlockHeadBytes;
  block.operations = 0;
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(block));
  }
  wake_shard_();
}

std::optional<SnapshotFeed::Total> SnapshotFeed::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

std::vector<verify::LoggedSession> SnapshotFeed::TakeSessions() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sessions_, {});
}

// The memory of the blocks is nobody's until the next one.
void SnapshotFeed::Settle() {
  sessions_ = {};
  full_.clear();
  free_.clear();
  blocks_ = 0;
  SetState(std::exchange(asked_again_, false) ? State::kAsked : State::kIdle);
}

void SnapshotFeed::SettleTaken(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++stats_.taken;
  stats_.items = total_->items;
  stats_.bytes = bytes;
  stats_.taken_at = std::chrono::steady_clock::now();
  Settle();
}

void SnapshotFeed::SettleFailed() {
  const std::lock_guard lock(mutex_);
  ++stats_.failed;
  Settle();
}

void SnapshotFeed::Cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (state() != State::kRunning) return;
    SetState(State::kCancelled);
  }
  wake_shard_();
}

void SnapshotFeed::NoteWritten(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.written_bytes = bytes;
}

}  // namespace plov::log
