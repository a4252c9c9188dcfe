#include "log/group_commit.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "fabric/spin.h"

namespace plov::log {

namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
// Chunks kept for batches to come, beyond those of batches that wait: what a quarter of the default buffer
// takes, so that steady writes of any common size find one without asking the system for memory.
constexpr size_t kFreeChunksMax = 16;
// What a batch takes beside its operations: its head and what is noted about it.
constexpr size_t kBatchWaitingBytes = 256;
// How soon a disk that failed is tried again (rule D8).
constexpr std::chrono::seconds kRetryAfter{1};

constexpr size_t RoundUpToLine(size_t bytes) {
  return (bytes + verify::kLineBytes - 1) / verify::kLineBytes * verify::kLineBytes;
}

uint64_t UnixUs() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

}  // namespace

GroupCommit::GroupCommit(SegmentWriter writer, const Options& options, std::function<void()> wake)
    : options_(options), writer_(std::move(writer)), wake_(std::move(wake)) {
  open_number_ = writer_.written() + 1;
  // What lies before was recovered, and the head of the writer's first segment attests it.
  last_operations_ = writer_.written();
  attested_ = writer_.written();
  latest_us_ = writer_.former_time_us();
  durable_.store(writer_.durable(), std::memory_order_relaxed);
  segment_.store(writer_.segment(), std::memory_order_relaxed);
  bytes_written_.store(writer_.bytes_written(), std::memory_order_relaxed);
}

// The shard's thread.

bool GroupCommit::HasRoom(size_t bytes) {
  const size_t waiting = appended_bytes_ - released_bytes_.load(std::memory_order_relaxed);
  if (waiting == 0) return true;
  const bool fits_buffer = waiting + kBatchWaitingBytes + bytes <= options_.buffer_bytes;
  const bool fits_batch = open_.head.bytes + bytes <= verify::kBatchBytesMax;
  // Less than half the buffer may be written: the room would come when the interval is over.
  if (!fits_buffer) WantSync(last_batch());
  return fits_buffer && fits_batch;
}

uint64_t GroupCommit::Append(const verify::Logged& operation, Piece value) {
  assert(operation.version > open_.head.last_version);
  if (open_.head.operations == 0) BeginBatch(verify::BatchHead::Kind::kOperations);
  const bool is_long = value.bytes > 0;
  const size_t value_bytes = is_long ? value.bytes : operation.value.size();
  const size_t bytes = verify::LoggedBytes(operation.key.size(), value_bytes);
  if (is_long) {
    AppendLong(operation, std::move(value));
  } else {
    AppendCopy(operation, bytes);
  }
  assert(open_.head.bytes + bytes <= verify::kBatchBytesMax);
  open_.head.bytes += static_cast<uint32_t>(bytes);
  if (open_.head.operations++ == 0) open_.head.first_version = operation.version;
  open_.head.last_version = operation.version;
  open_.waiting_bytes += bytes;
  appended_bytes_ += bytes;
  return open_number_;
}

void GroupCommit::AppendCopy(const verify::Logged& operation, size_t bytes) {
  const std::string_view value = operation.value;
  std::byte* to = Extend(bytes);
  const size_t at = verify::EncodeLoggedHead(operation, value.size(), to);
  if (!value.empty()) std::memcpy(to + at, value.data(), value.size());
  std::memset(to + at + value.size(), 0, bytes - at - value.size());
}

void GroupCommit::AppendLong(const verify::Logged& operation, Piece value) {
  const size_t head_bytes = verify::kLoggedHeadBytes + operation.key.size();
  verify::EncodeLoggedHead(operation, value.bytes, Extend(head_bytes));
  const size_t used = head_bytes + value.bytes;
  AddPiece({value.memory.get(), value.bytes});
  open_.memory.push_back(std::move(value));
  if (const size_t zeros = verify::RoundUpToWord(used) - used; zeros > 0) {
    std::memset(Extend(zeros), 0, zeros);
  }
}

void GroupCommit::PassOn() {
  if (open_.head.operations == 0) return;
  // Acquire, when it is idle: pairs with BecomeIdle.
  LogThread state = log_thread_.load(std::memory_order_acquire);
  if (state == LogThread::kBusy) {
    log_thread_.compare_exchange_strong(state, LogThread::kAwaited, std::memory_order_acquire,
                                        std::memory_order_acquire);
  }
  if (state != LogThread::kIdle) return;
  last_operations_ = open_number_;
  GiveOpen();
}

bool GroupCommit::Attest() {
  if (open_.head.operations > 0 || failure() != Code::kOk ||
      log_thread_.load(std::memory_order_acquire) != LogThread::kIdle) {
    return false;
  }
  if (pending() || attested_ >= last_operations_) return false;
  BeginBatch(verify::BatchHead::Kind::kAttest);
  GiveOpen();
  return true;
}

uint64_t GroupCommit::RequestSync() {
  WantSync(last_batch());
  PassOn();
  return last_batch();
}

uint64_t GroupCommit::latest_time_us() const { return std::max(latest_us_, UnixUs()); }

uint64_t GroupCommit::last_batch() const {
  return open_.head.operations > 0 ? open_number_ : last_operations_;
}

// In the current chunk, so that many batches of few bytes share one; on a line of its own, for the log's
// thread writes to the head of the batch before while this one is filled.
void GroupCommit::BeginBatch(verify::BatchHead::Kind kind) {
  open_.head.number = open_number_;
  open_.head.kind = kind;
  chunk_used_ = std::min(chunk_.bytes, RoundUpToLine(chunk_used_));
  Extend(verify::kBatchHeadBytes);
  if (kind == verify::BatchHead::Kind::kAttest) return;  // an operation does not wait for that
  open_.head.time_us = UnixUs();
  latest_us_ = std::max(latest_us_, open_.head.time_us);
  open_.waiting_bytes = kBatchWaitingBytes;
  appended_bytes_ += kBatchWaitingBytes;
}

// So many bytes more of the open batch, in one place.
std::byte* GroupCommit::Extend(size_t bytes) {
  if (chunk_.bytes - chunk_used_ < bytes) {
    if (chunk_.memory) open_.memory.push_back(std::move(chunk_));
    chunk_ = bytes <= kChunkBytes ? TakeChunk() : Piece::OfBytes(bytes);
    chunk_used_ = 0;
  }
  std::byte* at = chunk_.memory.get() + chunk_used_;
  chunk_used_ += bytes;
  AddPiece({at, bytes});
  return at;
}

void GroupCommit::AddPiece(std::span<std::byte> piece) {
  auto& pieces = open_.pieces;
  if (!pieces.empty() && pieces.back().data() + pieces.back().size() == piece.data()) {
    pieces.back() = {pieces.back().data(), pieces.back().size() + piece.size()};
  } else {
    pieces.push_back(piece);
  }
}

Piece GroupCommit::TakeChunk() {
  if (own_chunks_.empty()) {
    const std::lock_guard lock(mutex_);
    own_chunks_.swap(free_chunks_);
  }
  if (own_chunks_.empty()) return Piece::OfBytes(kChunkBytes);
  Piece chunk = std::move(own_chunks_.back());
  own_chunks_.pop_back();
  return chunk;
}

// Needs an idle log's thread.
void GroupCommit::GiveOpen() {
  shards_core_.store(::sched_getcpu(), std::memory_order_relaxed);
  passed_on_ = std::exchange(open_, {});
  ++open_number_;
  {
    const std::lock_guard lock(mutex_);
    log_thread_.store(LogThread::kBusy, std::memory_order_release);  // pairs with Step
  }
  changed_.notify_one();
}

void GroupCommit::WantSync(uint64_t batch) {
  if (options_.mode != CommitMode::kAsync || batch <= durable() ||
      batch <= sync_wanted_.load(std::memory_order_relaxed)) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    sync_wanted_.store(batch, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

// Any thread.

std::string GroupCommit::failure_message() const {
  const std::lock_guard lock(mutex_);
  return failure_message_;
}

void GroupCommit::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

// The log's thread.

void GroupCommit::Run() {
  fabric::Spin spin(std::chrono::microseconds{0});
  while (!stopped_.load(std::memory_order_relaxed)) {
    const auto now = Clock::now();
    if (Step(now >= due_at_)) {
      spin.End();
    } else if (!SpinsForNext() || !spin.GoesOn(now, IsOnShardsCore())) {
      Wait();
      spin.Slept();
      spin.SetLongest(std::chrono::microseconds(spin_us_.load(std::memory_order_relaxed)));
    }
  }
  static_cast<void>(WriteAll());  // an error is told by failure() and, if it lasts, by Finish
}

bool GroupCommit::Step(bool interval_is_over) {
  if (failure() != Code::kOk) {
    if (!interval_is_over) return false;
    const auto began = Clock::now();
    Settle(writer_.Retry(), began);
    return true;
  }
  if (SyncIsDue(interval_is_over)) {
    const auto began = Clock::now();
    Settle(writer_.Sync(), began);
    return true;
  }
  // Acquire: pairs with GiveOpen.
  if (log_thread_.load(std::memory_order_acquire) == LogThread::kIdle) return false;
  WritePassedOn();
  return true;
}

std::expected<void, Error> GroupCommit::Finish() {
  wake_ = [] {};
  do {
    PassOn();
    if (auto done = WriteAll(); !done) return done;
  } while (open_.head.operations > 0 || Attest());
  return {};
}

// All that was passed on, written and synced; the first error ends it.
std::expected<void, Error> GroupCommit::WriteAll() {
  while (Step(true)) {
    if (failure() != Code::kOk) return Fail(failure(), failure_message());
  }
  return {};
}

// Who is told when a batch is durable sends the next one soon; in async mode nobody is told.
bool GroupCommit::SpinsForNext() const {
  return options_.mode != CommitMode::kAsync && failure() == Code::kOk;
}

bool GroupCommit::IsOnShardsCore() const {
  return ::sched_getcpu() == shards_core_.load(std::memory_order_relaxed);
}

// Until there is something to do, or the interval is over; for ever when nothing waits for that.
void GroupCommit::Wait() {
  const bool is_failing = failure() != Code::kOk;
  const auto ready = [this, is_failing] {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (is_failing) return false;
    return log_thread_.load(std::memory_order_acquire) != LogThread::kIdle || SyncIsDue(false);
  };
  std::unique_lock lock(mutex_);
  if (is_failing || !undurable_.empty()) {
    changed_.wait_until(lock, due_at_, ready);
  } else {
    changed_.wait(lock, ready);
  }
}

bool GroupCommit::SyncIsDue(bool interval_is_over) {
  const uint64_t durable = writer_.durable();
  const uint64_t written = writer_.written();
  if (durable == written) return false;
  if (options_.mode != CommitMode::kAsync || interval_is_over) return true;
  if (undurable_bytes_ >= options_.buffer_bytes / 2) return true;
  // The goal stays until it is reached: batches that are wanted later come with the next sync.
  if (sync_goal_ <= durable) sync_goal_ = sync_wanted_.load(std::memory_order_relaxed);
  return durable < sync_goal_ && sync_goal_ <= written;
}

void GroupCommit::WritePassedOn() {
  Batch batch = std::move(*passed_on_);
  passed_on_.reset();
  attested_ = writer_.durable();
  const auto began = Clock::now();
  if (undurable_.empty()) due_at_ = began + options_.interval;
  PendingBatch pending{.pieces = std::move(batch.pieces), .head = batch.head};
  undurable_bytes_ += batch.waiting_bytes;
  undurable_.push_back(std::move(batch));
  Settle(writer_.Write(std::move(pending)), began);
}

// After each call of the writer: says what became of it, and wakes the shard if it may wait for that.
void GroupCommit::Settle(const std::expected<void, Error>& result, Clock::time_point began) {
  bytes_written_.store(writer_.bytes_written(), std::memory_order_relaxed);
  if (writer_.segment() != segment_.load(std::memory_order_relaxed)) {
    segment_.store(writer_.segment(), std::memory_order_release);  // pairs with segment()
    if (options_.on_segment) options_.on_segment();
  }
  bool is_news = SettleFailure(result);
  is_news |= PublishDurable(began);
  if (result) is_news |= BecomeIdle();
  if (is_news) wake_();
}

// True when writes are refused from now on or again, or no more.
bool GroupCommit::SettleFailure(const std::expected<void, Error>& result) {
  if (result && failure() == Code::kOk) return false;
  const auto now = Clock::now();
  due_at_ = result ? now : now + kRetryAfter;  // what was written again is synced at once
  if (!result) {
    const std::lock_guard lock(mutex_);
    failure_message_ = result.error().message;
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  // A file system that has become read-only is kPermission, which a client would take for its own.
  const bool is_full = !result && result.error().code == Code::kNoSpace;
  const Code failure = result ? Code::kOk : is_full ? Code::kNoSpace : Code::kSystem;
  failure_.store(failure, std::memory_order_relaxed);
  return true;
}

bool GroupCommit::PublishDurable(Clock::time_point began) {
  const uint64_t durable = writer_.durable();
  if (durable <= durable_.load(std::memory_order_relaxed)) return false;
  durable_.store(durable, std::memory_order_release);  // pairs with durable()
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  times_.Add(static_cast<uint64_t>(took.count()));
  Release();
  return true;
}

// The memory of what is durable: nobody will write it again.
void GroupCommit::Release() {
  size_t released = 0;
  while (!undurable_.empty() && undurable_.front().head.number <= writer_.durable()) {
    Batch batch = std::move(undurable_.front());
    undurable_.pop_front();
    released += batch.waiting_bytes;
    if (batch.memory.empty()) continue;
    const std::lock_guard lock(mutex_);
    for (Piece& piece : batch.memory) {
      if (piece.bytes != kChunkBytes || free_chunks_.size() >= kFreeChunksMax) continue;
      free_chunks_.push_back(std::move(piece));
    }
  }
  undurable_bytes_ -= released;
  released_bytes_.store(released_bytes_.load(std::memory_order_relaxed) + released,
                        std::memory_order_relaxed);
}

// When nothing is left of what was passed on. True when the shard waits for it.
bool GroupCommit::BecomeIdle() {
  // Acquire: pairs with GiveOpen.
  if (log_thread_.load(std::memory_order_acquire) == LogThread::kIdle || passed_on_) return false;
  // Release: pairs with PassOn and Attest.
  const auto state = log_thread_.exchange(LogThread::kIdle, std::memory_order_release);
  return state == LogThread::kAwaited;
}

}  // namespace plov::log
