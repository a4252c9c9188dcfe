// Engine: what is behind a Client - links to all shards, lookups in flight, writes in flight.
//
// Nothing here blocks but Pump's attempt to reconnect, Idle and Scan; the other blocking calls of
// Client are loops over Pump and Idle. Threads: one at a time.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/link.h"
#include "cuckoo/location_cache.h"
#include "cuckoo/lookup.h"
#include "fabric/fabric.h"
#include "verify/record.h"

namespace plov {

using fabric::Deadline;

// Where a finished lookup's result goes.
struct GetSink {
  void (*done)(void* context, size_t index, Client::GetResult result) = nullptr;
  void* context = nullptr;
  size_t index = 0;
};

// Whether an item is expired at `now_us` of this host's monotonic clock, by the server's Unix time.
bool IsExpired(uint32_t expiry, const cuckoo::ShardView& view, uint64_t now_us);
uint64_t MonotonicUs();
// Some milliseconds behind, which only makes a confirmation look older than it is; costs a third.
uint64_t CoarseMonotonicUs();

inline bool KeyIsGood(std::string_view key) {
  return !key.empty() && key.size() <= verify::kKeyBytesMax;
}
Error BadKey();

class Engine {
 public:
  static std::expected<std::unique_ptr<Engine>, Error> Connect(std::string_view uri,
                                                               const ClientOptions& options);
  ~Engine();

  // Blocking.
  Client::GetResult Get(std::string_view key, std::optional<std::span<std::byte>> into);
  void GetMany(std::span<const std::string_view> keys,
               void (*done)(void*, size_t, Client::GetResult), void* context);
  Client::PutResult DoWrite(Write write);
  void PutMany(std::span<const PutItem> items, void (*done)(void*, size_t, Client::PutResult),
               void* context);
  std::expected<std::string, Error> Control(uint32_t shard, verify::Operation operation);
  std::expected<ScanSummary, Error> Scan(ScanCallback* item);

  // Asynchronous.
  void QueueGet(std::string_view key, GetSink sink);
  void QueueWrite(const Write& write);
  size_t Poll();
  int fd() const { return epoll_fd_; }
  std::chrono::microseconds next_poll() const;

  Write MakePut(std::string_view key, std::string_view value, const PutOptions& options) const;
  Write MakeDelete(std::string_view key, Version expected_version) const;
  ClientStats stats() const;
  uint32_t shard_count() const { return static_cast<uint32_t>(links_.size()); }

  // Guards against overlapping calls; see Client's thread rule.
  bool Enter() {
    if (entered_.load(std::memory_order_relaxed)) return false;
    entered_.store(true, std::memory_order_relaxed);
    return true;
  }
  void Leave() { entered_.store(false, std::memory_order_relaxed); }

 private:
  // A lookup in flight.
  struct Slot {
    enum class State : uint8_t {
      kFree,
      kWant,     // a READ is to be posted
      kReading,  // a READ is under way
      kPaused,   // until resume_us
      kAsk,      // the server is to be asked
      kAsked,    // and will answer
      kStale,    // the superblock is to be READ, then the lookup begun again
      kHeld,     // a READ of a record that the server holds for us is to be posted
      kHeldReading,
      kDrained,  // ended, but a READ is still under way into its memory
    };

    cuckoo::Lookup lookup;
    verify::Bucket bucket;
    std::vector<uint64_t> record;  // words, so aligned
    State state = State::kFree;
    uint32_t shard = 0;
    std::string_view key;
    bool has_into = false;
    std::span<std::byte> into;
    Deadline deadline;
    uint64_t resume_us = 0;
    uint64_t started_us = 0;  // at or before the lookup's first READ
    uint64_t ask_id = 0;
    Version held_version = 0;
    uint32_t held_bytes = 0;
    uint64_t held_offset = 0;
    uint32_t refreshes = 0;  // superblocks that this GET has waited for
    size_t split_bytes = 0;  // of the record READ under way: value bytes that go to `into`
    GetSink sink;
  };

  // Of the READ of a link's superblock; lookups' tags are the numbers of their slots.
  static constexpr uint64_t kSuperblockTag = UINT64_MAX;

  struct QueuedGet {
    std::string_view key;
    GetSink sink;
    Deadline deadline;
  };

  Engine(std::string_view uri, const ClientOptions& options);

  // engine.cc: life, replies, waiting.
  std::expected<void, Error> ConnectAll(Deadline deadline);
  void Adopt(std::vector<Connected> fresh);
  bool Reconnect();
  bool alive() const;
  bool Pump();
  bool ReceiveReplies(uint32_t shard);
  void OnControlReply(const verify::Reply& reply);
  void Expire(Deadline now);
  Deadline NextEvent(Deadline otherwise) const;
  bool ArmAll();
  // Polls a while, then sleeps until there is something to do or `until`.
  void Idle(Deadline until);
  Deadline DeadlineFromNow() const { return fabric::Clock::now() + options_.timeout; }
  bool SendControl(Link* link, const verify::Request& request);
  void AbandonAll();

  // engine_write.cc: writes.
  bool DistributeWrites();
  void ExpireQueued(Deadline now);
  std::optional<Error> Refusal(const Write& write) const;

  // engine_get.cc: lookups; engine_call.cc: the calls over them.
  void Begin(Slot* slot, std::string_view key, Deadline deadline, const GetSink& sink);
  cuckoo::Lookup::Action StartLookup(Slot* slot);
  cuckoo::Lookup::Action StartLookupAt(Slot* slot, uint64_t hash, uint64_t now_us);
  void RestartSlots();
  bool StartQueuedGets();
  void Advance(Slot* slot, cuckoo::Lookup::Action action);
  fabric::ReadOp OpOf(Slot* slot);
  void RestBeforeReads(size_t count);
  bool PostReads();
  bool CollectReads();
  void OnRead(Slot* slot, fabric::Status status);
  cuckoo::Lookup::Action Feed(Slot* slot);
  cuckoo::Lookup::Action JudgeExpiry(Slot* slot);
  Client::GetResult Deliver(Slot* slot, const verify::ItemView& item);
  void Finish(Slot* slot, Client::GetResult result);
  bool StepSlots();
  bool Ask(Slot* slot);
  void OnAnswer(Slot* slot, const verify::Reply& reply);
  void OnHeldRecord(Slot* slot);
  void ExpireSlots(Deadline now);
  Slot* FreeSlot();
  Client::GetResult DriveSlot(Slot* slot);
  std::expected<void, Error> AwaitDrained(const Slot& slot);

  // engine_many.cc: GetMany.
  struct Lane;
  struct Lanes;
  struct ManyGets;
  bool CanGoStraight() const;
  bool GoStraight(ManyGets* many);
  bool GoRound(ManyGets* many);
  void GatherLanes(ManyGets* many, uint64_t now_us);
  bool BeginNext(ManyGets* many, Slot* slot, uint64_t now_us);
  bool StepLane(ManyGets* many, Slot* slot, uint64_t now_us);
  bool TakeTurn(ManyGets* many, Lanes* lanes);
  static void PrefetchLanes(const Lanes& lanes);
  Lane LaneOf(Slot* slot) const;
  static bool CopyLane(const Lane& lane);
  bool CopyWant(Slot* slot) const;
  void PrefetchWays(const Slot& slot) const;

  // engine_view.cc: the superblocks.
  void MarkStale(uint32_t shard);
  bool PostRefresh(Link* link);
  void OnSuperblock(uint32_t shard, fabric::Status status);
  std::expected<bool, Error> TakeView(uint32_t shard, const cuckoo::ShardView& view);
  void OnRefreshed(Slot* slot, const std::expected<bool, Error>& changed);
  std::expected<void, Error> RefreshNow(uint32_t shard);
  bool Confirm(uint32_t shard);

  // scan.cc
  struct Scanning;
  enum class ScanStep { kDone, kAgain, kStop, kRetired };
  std::expected<void, Error> Settle();
  std::expected<void, Error> Resume(const Scanning& scanning);
  std::expected<ScanStep, Error> ScanShard(Scanning* scanning);
  std::expected<ScanStep, Error> ScanTable(Scanning* scanning);
  std::expected<ScanStep, Error> ScanPass(Scanning* scanning);
  std::expected<ScanStep, Error> ScanBucket(uint64_t index, verify::Bucket* bucket,
                                            Scanning* scanning);
  std::expected<ScanStep, Error> ScanItem(const verify::Bucket& bucket, Scanning* scanning);
  std::expected<void, Error> ReadNow(Link* link, uint64_t offset, std::span<std::byte> to);

  std::string uri_;
  ClientOptions options_;
  uint64_t client_id_;
  int epoll_fd_ = -1;
  std::atomic<bool> entered_ = false;  // a best-effort alarm, so relaxed and not an exchange

  std::vector<std::unique_ptr<Link>> links_;
  uint64_t hash_seed_ = 0;
  std::vector<Slot> slots_;
  size_t busy_slots_ = 0;
  cuckoo::LocationCache cache_;
  cuckoo::LookupStats lookup_stats_;
  ClientStats stats_;

  bool closing_ = false;  // operations that are started now end at once
  bool more_ = false;     // Poll stopped before it ran out of work
  std::deque<QueuedGet> queued_gets_;
  std::deque<Write> queued_writes_;  // that found their link's queue full

  std::vector<std::byte> scratch_;  // a message being built
  uint64_t next_control_id_ = 0;
  uint64_t awaited_control_id_ = 0;
  std::optional<std::expected<std::string, Error>> control_reply_;

  Deadline next_attempt_{};
  std::chrono::microseconds backoff_{};
  Error down_{Code::kUnavailable, "not connected"};
  Deadline idle_since_{};
};

}  // namespace plov
