// GroupCommit: brings a shard's operations to its log in batches, as many at once as came while the disk was
// busy with the batch before.
//
// The shard's thread appends to an open batch and passes it on when the log's thread is idle; it never waits
// for the disk. The log's thread seals, writes, says what is durable, and wakes the shard. Rules D1 to D4 of
// plov(7).
//
// Threads: two, named at each group of methods. `durable()` is stored with release after the disk has said so
// and loaded with acquire by the shard.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "log/commit_log.h"
#include "log/commit_times.h"
#include "log/segment_writer.h"
#include "verify/log.h"

namespace plov::log {

class GroupCommit final : public CommitLog {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    CommitMode mode = CommitMode::kStrict;
    std::chrono::microseconds interval = std::chrono::seconds(1);  // async: between two syncs
    size_t buffer_bytes = size_t{64} << 20;  // what waits for the disk, at most
    std::function<void()> on_segment = {};   // a segment has begun; called in the log's thread
  };

  // `writer` has begun. `wake` is called in the log's thread when something changed that the shard waits for.
  GroupCommit(SegmentWriter writer, const Options& options, std::function<void()> wake);

  // The shard's thread.

  // False: the disk is behind, and so many bytes more are not taken now; `wake` tells when they may be. One
  // operation is always taken when nothing waits, however long. bytes: verify::LoggedBytes.
  bool HasRoom(size_t bytes);
  // Needs HasRoom.
  uint64_t Append(const verify::Logged& operation, Piece value = {}) override;
  // Passes the open batch on if there is one and the log's thread is idle; if it is busy, `wake` tells when it
  // no longer is. For the end of a turn.
  void PassOn();
  // What a PassOn would pass on.
  size_t open_bytes() const { return open_.head.bytes; }
  // Appends nothing, but writes a batch that attests what is durable: after a second of quiet. False when a
  // batch says already that the last operation is durable, or something is under way.
  bool Attest();
  // It is needed in async; in other modes it only says which batch that is.
  uint64_t RequestSync() override;

  // The batch that the next operation will be in, or one before it that has none: one that only attests is not
  // waited for, and when it is lost its number is given to what comes next.
  uint64_t open_batch() const override {
    return open_.head.operations > 0 ? open_number_ : last_operations_ + 1;
  }
  uint64_t last_batch() const override;
  // The latest time of all batches so far, and the present: later ones may be earlier, for clocks are set back.
  uint64_t latest_time_us() const override;
  // True while something is appended and not yet durable.
  bool pending() const { return durable() < last_batch(); }

  // Any thread.

  // How long the log's thread polls for the next batch before it sleeps; 0 until it is said, and in async
  // mode in any case.
  void SetSpin(uint32_t spin_us) { spin_us_.store(spin_us, std::memory_order_relaxed); }
  const verify::LogId& id() const { return writer_.id(); }
  uint64_t durable() const override { return durable_.load(std::memory_order_acquire); }
  // Why writes are refused: kNoSpace or kSystem, kOk when they are not.
  Code failure() const { return failure_.load(std::memory_order_relaxed); }
  // The line about it; and how many failures there were so far.
  std::string failure_message() const;
  uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
  const CommitTimes& times() const { return times_; }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // The segment that is written; those before it are complete. Acquire.
  uint64_t segment() const { return segment_.load(std::memory_order_acquire); }

  // The log's thread.

  // Until Stop, which any thread may call; what was passed on is written first, and synced, as far as the
  // disk goes along.
  void Run();
  void Stop();
  // One thing that Run does, without waiting, for simulators: false when there was nothing to do.
  // interval_is_over: of async's syncs, and of the second after which a failed disk is tried again.
  bool Step(bool interval_is_over);

  // After both threads are done with it: what is still open is written, synced and attested. An Error: it
  // could not be.
  std::expected<void, Error> Finish();

 private:
  // A batch on its way to the disk, with the memory that it frees: long values, and the chunks that were full
  // when it was appended to. The chunk that is not full yet goes on into the batch after it.
  struct Batch {
    verify::BatchHead head;
    std::vector<std::span<std::byte>> pieces;  // of the file, without the zeros behind the batch
    std::vector<Piece> memory;
    size_t waiting_bytes = 0;  // what it counts for in HasRoom
  };
  // Who has passed_on_ and attested_. The shard's thread while idle, the log's else.
  enum class LogThread : uint8_t {
    kIdle,
    kBusy,
    kAwaited,  // busy, and the shard wants to be woken when it is not
  };

  // The shard's thread.
  void AppendCopy(const verify::Logged& operation, size_t bytes);
  void AppendLong(const verify::Logged& operation, Piece value);
  void BeginBatch(verify::BatchHead::Kind kind);
  std::byte* Extend(size_t bytes);
  void AddPiece(std::span<std::byte> piece);
  Piece TakeChunk();
  void GiveOpen();
  void WantSync(uint64_t batch);

  // The log's thread.
  std::expected<void, Error> WriteAll();
  bool SpinsForNext() const;
  bool IsOnShardsCore() const;
  void Wait();
  bool SyncIsDue(bool interval_is_over);
  void WritePassedOn();
  void Settle(const std::expected<void, Error>& result, Clock::time_point began);
  bool SettleFailure(const std::expected<void, Error>& result);
  bool PublishDurable(Clock::time_point began);
  void Release();
  bool BecomeIdle();

  const Options options_;

  // The shard's thread.
  Batch open_;
  uint64_t open_number_ = 0;      // of the open batch, when it gets an operation
  uint64_t last_operations_ = 0;  // the last batch passed on that has one
  uint64_t latest_us_ = 0;        // of all batches, former lives' too
  Piece chunk_;                   // memory of the open batch, used up to chunk_used_
  size_t chunk_used_ = 0;
  std::vector<Piece> own_chunks_;  // free ones, taken from free_chunks_
  uint64_t appended_bytes_ = 0;    // since the start; less released_bytes_: what waits

  // From one thread to the other. The owner of passed_on_ and attested_ is told by log_thread_: the shard's
  // stores before kBusy (release) are seen by the log's thread that loads it (acquire), and the log's before
  // kIdle (release) by the shard that loads that (acquire).
  std::atomic<LogThread> log_thread_ = LogThread::kIdle;
  std::optional<Batch> passed_on_;
  uint64_t attested_ = 0;              // by the last batch written, at least
  std::atomic<int> shards_core_ = -1;  // relaxed: a hint
  std::atomic<uint32_t> spin_us_ = 0;  // relaxed
  // Never held while the disk is asked for something. Guards the sleep of the log's thread, free_chunks_ and
  // failure_message_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Piece> free_chunks_;
  std::string failure_message_;
  std::atomic<uint64_t> sync_wanted_ = 0;  // a batch; stored under mutex_, so no order is needed

  // The log's thread.
  SegmentWriter writer_;
  std::function<void()> wake_;
  std::deque<Batch> undurable_;  // oldest first; its bytes are the writer's until they are durable
  size_t undurable_bytes_ = 0;
  uint64_t sync_goal_ = 0;    // the batch that a sync is due for once it is written
  Clock::time_point due_at_;  // when the interval is over, if something waits for that

  // Told to any thread. Relaxed but for durable_, for nothing else is read on their account.
  std::atomic<uint64_t> durable_ = 0;  // release, pairs with durable()
  std::atomic<bool> stopped_ = false;  // stored under mutex_
  std::atomic<uint64_t> released_bytes_ = 0;
  std::atomic<Code> failure_ = Code::kOk;
  std::atomic<uint64_t> failures_ = 0;
  std::atomic<uint64_t> bytes_written_ = 0;
  std::atomic<uint64_t> segment_ = 0;  // release, pairs with segment()
  CommitTimes times_;
};

}  // namespace plov::log
