// SnapshotFeed: what a shard gives to the thread that writes its snapshots (log/snapshots.h): blocks of items,
// of which few wait, so that neither side waits for the other's work, and at the end all its sessions.
//
//   kIdle ─Ask─► kAsked ─Want─► kWanted ─Begin─► kRunning ─End or Fail─► kOver ─Settle─► kIdle
//                                                    └──────Cancel──────► kCancelled ─Cancelled─► kIdle
//
// Threads: two and who asks, named at each group of methods.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "verify/log.h"

namespace plov::log {

// Operations of kind put behind room for a block's head.
struct SnapshotBlock {
  static constexpr size_t kBytes = size_t{1} << 20;

  std::unique_ptr<std::byte[]> memory;
  size_t capacity = 0;
  size_t bytes = verify::kSnapshotBlockHeadBytes;
  uint32_t operations = 0;

  static SnapshotBlock OfBytes(size_t capacity) {
    return {.memory = std::make_unique_for_overwrite<std::byte[]>(capacity), .capacity = capacity};
  }
  std::span<std::byte> content() const { return {memory.get(), bytes}; }
};

class SnapshotFeed {
 public:
  enum class State : uint8_t { kIdle, kAsked, kWanted, kRunning, kOver, kCancelled };

  // Rule S2: replay goes on with this batch.
  struct Start {
    uint64_t batch = 0;
    uint64_t items = 0;  // about
  };
  // What `needs_batch` names is durable (rule S3).
  using Total = verify::SnapshotFooter;
  struct Stats {
    uint64_t taken = 0;
    uint64_t failed = 0;
    bool running = false;
    uint64_t items = 0;                              // of the last one taken
    uint64_t bytes = 0;                              // likewise
    uint64_t written_bytes = 0;                      // of the one that runs
    std::chrono::steady_clock::time_point taken_at;  // of the last one taken
  };

  // wake_shard, wake_writer: called in the other's thread, or in that of who asks, when something changed that
  // the one waits for. Neither blocks.
  SnapshotFeed(std::function<void()> wake_shard, std::function<void()> wake_writer)
      : wake_shard_(std::move(wake_shard)), wake_writer_(std::move(wake_writer)) {}

  // Any thread.

  // Asks for a snapshot that begins from now on. Returns how many are taken or failed once it is.
  uint64_t Ask();
  State state() const { return state_.load(std::memory_order_acquire); }
  Stats stats() const;

  // The shard's thread.

  void Begin(const Start& start);
  // An empty block; nullopt: the writer is behind, and wakes the shard.
  std::optional<SnapshotBlock> TakeFree();
  void Give(SnapshotBlock block);
  void End(const Total& total, std::vector<verify::LoggedSession> sessions);
  // There is none: something that should be in it is damaged.
  void Fail();
  // After Cancel: no block comes any more.
  void Cancelled();

  // The writer's thread.

  // The shard whose turn it is may begin.
  void Want();
  Start start() const;
  std::optional<SnapshotBlock> TakeFull();
  // Once it was written; one of another size than usual is freed.
  void Free(SnapshotBlock block);
  // In kOver, once no full block is left; nullopt: Fail.
  std::optional<Total> total() const;
  // With that total; once.
  std::vector<verify::LoggedSession> TakeSessions();
  // The snapshot that is over was taken, of so many bytes, or was not.
  void SettleTaken(uint64_t bytes);
  void SettleFailed();
  // Gives up one that runs; it counts as failed.
  void Cancel();
  void NoteWritten(uint64_t bytes);

 private:
  // Blocks in all: one is filled while one is written.
  static constexpr size_t kBlocks = 2;

  void SetState(State state) { state_.store(state, std::memory_order_release); }
  void Settle();

  std::function<void()> wake_shard_;
  std::function<void()> wake_writer_;
  std::atomic<State> state_ = State::kIdle;  // stored under mutex_
  mutable std::mutex mutex_;                 // of all below; never held while anybody waits
  bool asked_again_ = false;                 // while one runs
  Start start_;
  std::optional<Total> total_;
  std::vector<verify::LoggedSession> sessions_;  // with it
  std::vector<SnapshotBlock> full_;              // oldest first
  std::vector<SnapshotBlock> free_;
  size_t blocks_ = 0;
  Stats stats_;
};

}  // namespace plov::log
