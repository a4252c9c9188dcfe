// Engine: many GETs at once.
//
// Where READs are loads, lookups go the straight way: no READ is posted or polled for, and the
// misses of the processor's caches overlap. The lookups under way are the lanes of two groups,
// which take turns: what the lanes want is copied out of the regions; then one look at the
// connections tells that the copies are as good as READs; then each lookup is fed its copy, and one
// that ended makes room for the next key; at last all that the lanes want next is prefetched, and
// comes while the other group has its turn. Whatever is rare (torn too often, a table that grew, a
// dead server) leaves this way, its slot like that of any lookup that Pump moves on.

#include <algorithm>
#include <array>

#include "client/engine.h"

namespace plov {

using Action = cuckoo::Lookup::Action;

namespace {

// Half of the slots, rounded up.
constexpr size_t kLanesMax = 32;
// Turns of the straight way before everything else gets one.
constexpr size_t kTurnsMax = 64;
// How often a busy GetMany lets everything move that is no READ.
constexpr size_t kRoundsPerPump = 16;
// Keys that are hashed, and their remembered locations prefetched, before their turn comes.
constexpr size_t kKeysAhead = 16;

}  // namespace

// A lookup that wants a READ, and where that is.
struct Engine::Lane {
  Slot* slot;
  const std::byte* from;  // nullptr: not in a region where READs are loads
  uint32_t bytes;
  bool record;
};

struct Engine::Lanes {
  size_t count = 0;
  std::array<Lane, kLanesMax> all{};

  void Add(const Lane& lane) { all[count++] = lane; }
};

struct Engine::ManyGets {
  std::span<const std::string_view> keys;
  void (*done)(void* context, size_t index, Client::GetResult result);
  void* context;
  size_t left;  // that have not ended

  size_t next = 0;  // key to begin
  Deadline deadline = {};
  size_t hashed = 0;                          // keys whose hash is, or was, in `hashes`
  std::array<uint64_t, kKeysAhead> hashes{};  // of key number n at n % kKeysAhead
  std::array<Lanes, 2> groups = {};

  GetSink SinkOf(size_t index) {
    return {[](void* gets, size_t at, Client::GetResult result) {
              auto* many = static_cast<ManyGets*>(gets);
              --many->left;
              many->done(many->context, at, std::move(result));
            },
            this, index};
  }
};

bool Engine::CanGoStraight() const {
  const auto quiet = [](const auto& link) {
    return !link->region.empty() && !link->stale && link->quiet();
  };
  return options_.read_pause.count() == 0 && std::ranges::all_of(links_, quiet);
}

Engine::Lane Engine::LaneOf(Slot* slot) const {
  const cuckoo::Lookup::Want& want = slot->lookup.want();
  const std::span<const std::byte> region = links_[slot->shard]->region;
  const bool inside = verify::WordsInside(want.offset, want.bytes, region.size());
  return {slot, inside ? region.data() + want.offset : nullptr, want.bytes, want.record};
}

// A prefetch waits for its address to be translated, and does so beside others only when they
// follow at once: so all lanes' first lines, then the rest.
void Engine::PrefetchLanes(const Lanes& lanes) {
  const auto all = std::span(lanes.all).first(lanes.count);
  for (const Lane& lane : all) verify::Prefetch(lane.from);
  for (const Lane& lane : all) {
    const bool is_line = !lane.record && lane.bytes == verify::kLineBytes;
    if (lane.from != nullptr && !is_line) verify::PrefetchLines(lane.from, lane.bytes);
  }
}

// False when it is in no region where READs are loads.
bool Engine::CopyLane(const Lane& lane) {
  if (lane.from == nullptr) return false;
  if (!lane.record) {
    uint64_t* words = lane.slot->bucket.words();
    if (lane.bytes == verify::kBucketBytesMin) {
      verify::CopyFromShared(words, lane.from, verify::kBucketBytesMin);
    } else {
      verify::CopyFromShared(words, lane.from, lane.bytes);
    }
    return true;
  }
  std::vector<uint64_t>& record = lane.slot->record;
  const size_t words = verify::RoundUpToWord(lane.bytes) / verify::kWordBytes;
  if (record.size() < words) record.resize(words);
  lane.slot->split_bytes = 0;
  verify::CopyFromShared(record.data(), lane.from, lane.bytes);
  return true;
}

bool Engine::CopyWant(Slot* slot) const { return CopyLane(LaneOf(slot)); }

// All buckets that a key can be in: a displaced one waits for one miss of the caches less.
void Engine::PrefetchWays(const Slot& slot) const {
  const Link& link = *links_[slot.shard];
  const cuckoo::Geometry& table = link.view.tables[0];
  for (const uint64_t index : cuckoo::WaysOf(slot.lookup.hash(), table.bucket_count)) {
    verify::Prefetch(link.region.data() + table.BucketOffset(index));
  }
}

// Begins keys in a free slot until one wants a READ.
bool Engine::BeginNext(ManyGets* many, Slot* slot, uint64_t now_us) {
  while (many->next < many->keys.size()) {
    for (; many->hashed < std::min(many->next + kKeysAhead, many->keys.size()); ++many->hashed) {
      const uint64_t hash = cuckoo::HashKey(many->keys[many->hashed], hash_seed_);
      many->hashes[many->hashed % kKeysAhead] = hash;
      cache_.Prefetch(hash);
    }
    const size_t index = many->next++;
    Begin(slot, many->keys[index], many->deadline, many->SinkOf(index));
    if (!KeyIsGood(slot->key)) {
      Finish(slot, std::unexpected(BadKey()));
      continue;
    }
    const Action action = StartLookupAt(slot, many->hashes[index % kKeysAhead], now_us);
    Advance(slot, action);
    if (action == Action::kRead) return true;
    if (slot->state != Slot::State::kFree) return false;
  }
  return false;
}

void Engine::GatherLanes(ManyGets* many, uint64_t now_us) {
  size_t next_group = 0;
  for (Slot& slot : std::span(slots_).subspan(1)) {
    const bool wants = slot.state == Slot::State::kWant ||
                       (slot.state == Slot::State::kFree && BeginNext(many, &slot, now_us));
    if (wants) many->groups[next_group++ % 2].Add(LaneOf(&slot));
  }
  for (const Lanes& lanes : many->groups) PrefetchLanes(lanes);
}

// A lane's copy is fed to its lookup. Returns whether the slot stays a lane.
bool Engine::StepLane(ManyGets* many, Slot* slot, uint64_t now_us) {
  const Action action = Feed(slot);
  if (action == Action::kRead) return true;
  const bool ended = action == Action::kHit || action == Action::kAbsent;
  if (!ended || slot->sink.context != many) {
    Advance(slot, action);
    return false;
  }
  --many->left;
  if (action == Action::kHit) {
    // What Deliver does, without a buffer: 2 % fewer instructions.
    ++stats_.hits;
    const verify::ItemView& item = slot->lookup.item();
    many->done(many->context, slot->sink.index,
               Item{item.value, item.version, item.flags, item.expiry});
  } else {
    many->done(many->context, slot->sink.index, std::nullopt);
  }
  --busy_slots_;
  slot->state = Slot::State::kFree;
  return BeginNext(many, slot, now_us);
}

// A turn of one group. False when its READs are not to be had this way.
bool Engine::TakeTurn(ManyGets* many, Lanes* lanes) {
  const uint64_t now_us = CoarseMonotonicUs();  // before READs of lookups that begin now
  const auto all = std::span(lanes->all).first(lanes->count);
  if (!std::ranges::all_of(all, CopyLane) || !alive()) return false;
  lanes->count = 0;
  for (const Lane& lane : all) {
    Slot* slot = lane.slot;  // lanes are added in place of those that had their step
    if (StepLane(many, slot, now_us)) lanes->Add(LaneOf(slot));
  }
  PrefetchLanes(*lanes);
  return true;
}

// Takes turns until no lane is left, or everything else needs a turn. Returns whether any lookup
// went on.
bool Engine::GoStraight(ManyGets* many) {
  many->groups = {};
  GatherLanes(many, CoarseMonotonicUs());
  bool moved = false;
  for (size_t turn = 0; turn < kTurnsMax; ++turn) {
    Lanes* lanes = &many->groups[turn % 2];
    if (lanes->count == 0 && many->groups[(turn + 1) % 2].count == 0) break;
    if (!TakeTurn(many, lanes)) return false;
    moved = true;
  }
  return moved;
}

// The general way: one round of READs that are posted and polled for.
bool Engine::GoRound(ManyGets* many) {
  bool moved = false;
  for (Slot& slot : std::span(slots_).subspan(1)) {
    if (slot.state != Slot::State::kFree) continue;
    moved = BeginNext(many, &slot, CoarseMonotonicUs()) || moved;
  }
  moved = PostReads() || moved;
  return (CollectReads() && alive()) || moved;
}

void Engine::GetMany(std::span<const std::string_view> keys,
                     void (*done)(void*, size_t, Client::GetResult), void* context) {
  ManyGets many{.keys = keys, .done = done, .context = context, .left = keys.size()};
  size_t rounds = 0;
  many.deadline = DeadlineFromNow();
  while (many.left > 0) {
    const bool straight = alive() && CanGoStraight();
    const bool moved = straight ? GoStraight(&many) : GoRound(&many);
    if (moved) many.deadline = DeadlineFromNow();
    // Whatever is not a READ moves on in Pump, which a busy window must not starve.
    if (moved && alive() && !straight && ++rounds % kRoundsPerPump != 0) continue;
    if (many.left > 0 && !Pump() && (!moved || !alive())) Idle(NextEvent(many.deadline));
  }
}

}  // namespace plov
