// Snapshots: writes the snapshots of all shards, one shard at a time and no faster than it may, and removes of
// the log what they make needless. Rule D11 of plov(7).
//
// A snapshot is due when the log since the last one is longer than that one, and than two segments.
//
// Threads: one of its own; SetOptions, Look, Stop, Add, Remove: any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "log/disk.h"
#include "log/folder.h"
#include "log/group_commit.h"
#include "log/snapshot_feed.h"
#include "log/snapshot_writer.h"
#include "log/spares.h"
#include "verify/log.h"

namespace plov::log {

class Snapshots {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    uint64_t rate_bytes = uint64_t{200} << 20;  // a second, written and read back
    size_t keep = 1;                            // whole ones, with the log since the oldest
  };
  // One was taken, or could not be.
  struct Taken {
    uint32_t shard = 0;
    uint64_t items = 0;
    uint64_t bytes = 0;
    std::chrono::microseconds took{};
    size_t segments_removed = 0;
  };
  using Tell = std::function<void(uint32_t shard, const std::expected<Taken, Error>&)>;

  // A shard's log. All outlive the snapshots, or are removed.
  struct ShardLog {
    const GroupCommit* commit = nullptr;
    SnapshotFeed* feed = nullptr;
    verify::LogHead head = {};    // of its files: shard, shard count, id, hash seed
    uint64_t log_bytes = 0;       // since its last snapshot, when it was begun
    uint64_t snapshot_bytes = 0;  // of that one
  };

  // `disk` and `spares` outlive it.
  Snapshots(Disk* disk, Spares* spares, const Options& options, Tell tell)
      : disk_(disk),
        spares_(spares),
        rate_bytes_(options.rate_bytes),
        keep_(options.keep),
        tell_(std::move(tell)) {}

  // Any thread but Run's, which does nothing with it before and after.
  void Add(const ShardLog& log);
  void Remove(uint32_t shard);

  // For what is written, and removed, from now on. Any thread.
  void SetOptions(const Options& options) {
    rate_bytes_.store(options.rate_bytes, std::memory_order_relaxed);
    keep_.store(options.keep, std::memory_order_relaxed);
  }

  // A log has grown, or a feed has changed.
  void Look();
  // Until Stop; an unfinished one is given up.
  void Run();
  void Stop();
  // One thing that Run does, without waiting, for simulators: false when there was nothing to do.
  // pause_is_over: what was written last has had its time.
  bool Step(bool pause_is_over);

  // Removes snapshots of a shard but the newest `keep`, and its segments before the oldest of these, as far as
  // they are older than `segment`. Says how many segments.
  std::expected<size_t, Error> RemoveNeedless(uint32_t shard, uint64_t segment);

 private:
  struct Shard {
    ShardLog log;
    uint64_t counted_from =
        0;  // of the log's bytes_written: those before lie before the last snapshot
    uint64_t retry_from = 0;  // likewise: after a failure
  };

  bool IsDue(const Shard& shard) const;
  bool BeginNext();
  bool StepActive(bool pause_is_over);
  std::expected<bool, Error> StepWriter();
  std::expected<void, Error> BeginFile();
  std::expected<uint64_t, Error> SegmentOf(uint64_t batch) const;
  std::expected<bool, Error> WriteNext();
  std::expected<bool, Error> ReadBackNext();
  std::expected<void, Error> Finish();
  void GiveUp(const Error& error);
  void Pause(uint64_t bytes);

  Disk* disk_;
  Spares* spares_;
  std::atomic<uint64_t> rate_bytes_;  // relaxed, as is the next: each is read by itself
  std::atomic<size_t> keep_;
  Tell tell_;
  std::mutex
      step_mutex_;  // held in a Step of Run, while the disk is waited for; guards all up to resume_at_
  std::vector<Shard> shards_;
  size_t next_ = 0;               // whose turn it is to be looked at
  std::optional<size_t> active_;  // whose snapshot runs
  std::optional<SnapshotWriter> writer_;
  bool closed_ = false;       // it is being read back
  uint64_t active_from_ = 0;  // the log's bytes when it was wanted
  Clock::time_point began_at_;
  Clock::time_point resume_at_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool looks_ = true;     // under mutex_
  bool stopped_ = false;  // likewise
};

}  // namespace plov::log
