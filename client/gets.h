// Gets: the GETs under way, from the key to the result.
//
// There are two ways to the bytes: where READs are loads (Link::region) they are copied at once,
// elsewhere READs are posted and completions collected. Whatever has come is fed to its lookup at
// one place, Step, for the lone GET, for GetMany and for the asynchronous form.
//
// Where READs are loads, the keys of GetMany go in groups (client/load_group.h) first, and only those
// that are not plain have lookups of their own.
//
// What the lookups under way want is a queue. A turn takes as many as half of the window, copies
// what they want, feeds each, lets the next key take the place of one that has ended, and begins to
// fetch the lines that those in place want next: they come while the other half has its turn.
//
// A GET whose shard is not up is parked: it has no place in the window, so that others go on, and begins
// again when the shard is up.
#pragma once

#include <plov/client.h>

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/callbacks.h"
#include "client/get.h"
#include "client/load_group.h"
#include "client/parked.h"
#include "client/peers.h"
#include "cuckoo/lookup.h"

namespace plov {

inline constexpr uint32_t kWindowMax = 64;
static_assert(LoadGroup::kCountMax >= kWindowMax / 2);

bool KeyIsGood(std::string_view key);
// Errors are rare: they are made out of the way of what is not.
[[gnu::noinline]] Error BadKey();
[[gnu::noinline]] Error NoMemory();  // needs none itself

// The monotonic clock, some milliseconds behind, which only makes a confirmation look older than it
// is; costs a third.
uint64_t CoarseUs();
// The same, exact.
uint64_t MonotonicUs();

class Gets {
 public:
  Gets(uint32_t window, Callbacks* callbacks);

  // Makes room for so many shards.
  void Reserve(size_t shard_count);
  // The peer is up, in a life or with new connections of it: what was parked for it begins again. Before
  // the first GET once of each, up or not.
  void Attach(const Peers* peers, const Peer& peer);
  // The peer is not up any more: its lookups are parked. Its links are still there, for the last time.
  void Detach(const Peer& peer);

  // The lone GET, which needs no room in the window; without a deadline yet. Its result is to be
  // had once it has ended, and the value's bytes stay until the next.
  [[gnu::flatten]] Get* Begin(std::string_view key, std::optional<std::span<std::byte>> into);
  [[gnu::flatten]] void GoAlone(Get* get);
  Client::GetResult ResultOf(Get* get);
  void EndLone();

  // Many keys, each of which gets a place in the window as soon as there is one.
  struct Many {
    std::span<const std::string_view> keys;
    void (*done)(void* context, size_t index, Client::GetResult result) = nullptr;
    void* context = nullptr;
    std::span<Evidence> evidence = {};  // of the keys, for who wants it: before `done`
    Deadline deadline = {};             // of keys that begin now
    size_t next = 0;                    // key to begin
    size_t left = 0;                    // that have not ended
    bool stopped = false;               // no key begins any more
  };
  void BeginMany(Many* many);
  // Gives free places to the next keys. Returns whether there were any.
  bool BeginKeys();
  // No more of these: everything is done, or a callback has failed.
  void EndMany();
  // All that are left end with this.
  void FailMany(const Error& error);

  void Queue(std::string_view key, Deadline deadline, const GetSink& sink);

  // Whether the keys of GetMany go in groups.
  bool has_groups() const {
    return peers_->loads() && (many_ == nullptr || many_->evidence.empty());
  }

  // A turn of READs. Returns whether anything moved.
  bool Turn();
  // What is no READ: begins what waits for a place, ends pauses, asks the server.
  bool Tend();
  // Takes the READs that have come, the superblocks' too.
  bool Collect();
  void OnAnswer(const Link* link, const verify::Reply& reply);

  // Ends what is past its deadline.
  void Expire(Deadline now);
  // Ends everything.
  void Close(const Error& error);
  Deadline NextEvent(Deadline otherwise) const;

  // GETs so far.
  uint64_t begun() const { return begun_; }
  // GETs that have not ended.
  size_t under_way() const { return busy_ + queued_.size() + parked_.count(); }
  void AddTo(ClientStats* stats) const;

 private:
  struct Hashed {
    uint64_t hash;
    const GetShard* shard;
  };
  // Keys of GetMany that are hashed, and their remembered locations prefetched, ahead of their
  // turn. The bytes of as many more are prefetched: they are the caller's, and may lie anywhere.
  static constexpr size_t kKeysAhead = 16;

  // Those that want a READ, the oldest first; each is in it once at most. Who has come by its READ, or
  // wants none any more, stays until it is swept out, or wants the next.
  class Wanting {
   public:
    void Push(Get* get) {
      if (get->waits) return;
      get->waits = true;
      all_[count_++] = get;
    }
    // All, also who wants no READ any more.
    std::span<Get* const> all() const { return std::span(all_).first(count_); }
    // The next of all, at most so many, in turns.
    std::span<Get* const> Next(size_t count_max);
    void Sweep();

   private:
    std::array<Get*, kWindowMax + 1> all_;
    size_t next_ = 0;
    size_t count_ = 0;
  };

  // gets.cc: places, beginnings, ends.
  void Place(Get* get, std::string_view key, Deadline deadline);
  cuckoo::Lookup::Action Start(Get* get, const GetShard& shard, uint64_t hash);
  void Restart(Get* get);
  // When a GET begins; 0 where all READ are primaries.
  uint64_t BeginUs() const { return peers_->has_ages() ? BootUs() : 0; }
  // Whether it may begin: the shard is up, and its replica is new enough.
  static bool MayBegin(const GetShard& shard, uint64_t begin_us) {
    return shard.link != nullptr && (begin_us == 0 || shard.link->IsNewEnough(begin_us));
  }
  cuckoo::Lookup::Action StartAnew(Get* get);
  void BeginAt(Get* get, const GetShard& shard, uint64_t hash);
  bool StartQueued();
  void HashAhead();
  bool BeginNext(Get* get);
  void RefuseKey(size_t index);
  [[gnu::noinline]] void Act(Get* get, cuckoo::Lookup::Action action);
  void Want(Get* get);
  void OnRefreshed(const Link* link, const Link::Refreshed& refreshed);
  bool Ask(Get* get);
  // It was found by READs: it ends once it is certain that they were the primary's.
  void EndFound(Get* get, Get::State state);
  static void Witness(Get* get, Get::State state);
  [[gnu::noinline]] void BeginLook(Get* get);
  [[gnu::noinline]] void EndIfOathsStand(Get* get, Get::State state);
  void EndLooking();
  void End(Get* get, Get::State state);
  [[gnu::noinline]] void CountDeposed(const Get& get);
  void EndOfMany(Get* get);
  // Tells GetMany's caller what `make` returns.
  void Tell(size_t index, auto&& make) {
    if (callbacks_->failed()) return;
    callbacks_->Run([&] { many_->done(many_->context, index, make()); });
  }

  // gets_peers.cc: what waits for a shard or a place.
  void EnterShard(uint32_t shard);
  void Unpark(uint32_t first_shard, size_t count);
  void OnAge(const Peers::Live& one);
  bool AddParked(const GetShard& shard, const QueuedGet& queued);
  [[gnu::noinline]] void Park(Get* get, const GetShard& shard);
  [[gnu::noinline]] void ParkKey(const GetShard& shard, size_t index);
  const Error& WhyParked(const Get& get) const;
  void FailQueued(const QueuedGet& queued, const Error& error);
  void FailFirstQueued(const Error& error);
  void FailWaiting(const Error& error);

  // gets_group.cc: GetMany where READs are loads.
  bool TurnGroup();
  void BeginGroup(size_t first, size_t count_max);
  void ForgetAhead();
  void EndGroup(size_t first);
  static bool Stands(const GetShard* shard);
  [[gnu::noinline]] void GoOn(size_t index, const LoadGroup::Slot& slot);
  [[gnu::noinline]] bool IsCurrent(Link* link, uint32_t expiry);

  [[gnu::noinline]] void Fail(Get* get, Error error);
  [[gnu::noinline]] void LeaveServer(Get* get);
  void Free(Get* get);
  Client::GetResult Deliver(const Get& get);
  [[gnu::noinline]] Client::GetResult FillInto(const Get& get);

  // gets_read.cc: bytes, and what they mean.
  [[gnu::flatten]] bool TurnLoads();
  bool Load(std::span<Get* const> batch);
  void Load(Get* get);
  void LoadRecord(Get* get, const std::byte* from);
  bool PostReads();
  void OnRead(Get* get, fabric::Status status, ReadBuffer* memory);
  void PrefetchWays(const Get& get);
  void Step(Get* get);
  cuckoo::Lookup::Action Feed(Get* get);
  // Rare, and kept out of the way of what is not.
  [[gnu::noinline]] cuckoo::Lookup::Action FeedHeld(Get* get);
  [[gnu::noinline]] cuckoo::Lookup::Action CheckExpiry(Get* get);
  [[gnu::noinline]] void FailLoad(Get* get);

  Callbacks* callbacks_;
  const Peers* peers_ = nullptr;
  std::vector<GetShard> shards_;  // those that are not up have no link
  Parked parked_;
  std::vector<Get> gets_;   // [0] is the lone GET's, the others are the window
  std::vector<Get*> free_;  // of the window
  size_t busy_ = 0;         // that are not free
  Wanting wanting_;
  std::deque<QueuedGet> queued_;
  Many* many_ = nullptr;
  // Of key number n of `many_` at n % their number: of two groups, and of keys ahead of them.
  std::array<Hashed, std::bit_ceil(2 * LoadGroup::kCountMax + 2 * kKeysAhead)> hashed_keys_{};
  size_t hashed_ = 0;  // keys that are, or were, there
  // The group that is READ in this turn, and the next one; made when they are first needed.
  std::unique_ptr<LoadGroup> group_;
  std::unique_ptr<LoadGroup> ahead_;
  static constexpr size_t kNoGroup = SIZE_MAX;
  size_t ahead_first_ = kNoGroup;  // number of its first key
  uint64_t now_us_ = 0;            // CoarseUs, before the READs of lookups that begin now

  cuckoo::LookupStats lookup_stats_;
  uint64_t begun_ = 0;
  uint64_t hits_ = 0;
  uint64_t asked_ = 0;
  uint64_t corrupt_ = 0;
  uint64_t deposed_ = 0;
  uint64_t deposed_stale_ = 0;
};

}  // namespace plov
