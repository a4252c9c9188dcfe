// LoadGroup: GETs of one GetMany that go in step where READs are loads: each stage is a loop over an
// array of them, which carry no more than the plain case needs.
//
//   Begin ──► a remembered record, a remembered bucket, or the home is wanted: its lines are fetched
//   Read  ──► copies, verifies, follows what was copied, until each GET has ended or is not plain
//
// Plain is what READ bytes decide by R1 to R4 of plov(7) with no second look: hits, and misses that the
// home alone tells. Whatever else there is, torn bytes, growth, the stash, large records, is for a Get
// of its own, which goes on from the home if that was READ, else begins anew.
//
// Whether the server lived while it was READ (A9) and whether an item has expired (R7) is for who takes
// the results. Threads: the client's. Allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cuckoo/lookup.h"
#include "verify/bucket.h"
#include "verify/record.h"

namespace plov {

class Link;

// What a GET needs of its shard, together.
struct GetShard {
  Link* link = nullptr;
  const std::byte* region = nullptr;  // where READs are loads
  cuckoo::Lookup::Context context{};
};

class LoadGroup {
 public:
  static constexpr size_t kCountMax = 32;

  enum class State : uint8_t {
    kKnownRecord,  // is to be READ, as the next three
    kKnownBucket,
    kHome,
    kWay,
    kRecord,
    kHit,         // ended: `item` is it
    kAbsent,      // ended
    kHomeToFeed,  // not plain: buckets[0] is the home as it was READ
    kBeginAnew,   // not plain
    kRefusedHit,  // not plain: it was kHit, and has to be told by another server
    kRefusedAbsent,
  };
  static constexpr size_t kRecordBytesMax = 2048;

  struct Slot {
    std::string_view key;
    uint64_t hash = 0;
    const GetShard* shard = nullptr;
    State state = State::kBeginAnew;
    uint8_t way = 0;      // of the bucket that is wanted
    uint32_t bytes = 0;   // of the record that is wanted
    uint64_t offset = 0;  // of what is wanted
    uint64_t bucket_index = 0;
    uint64_t version = 0;  // of the record that is wanted, or as much as is remembered of it
    verify::ItemView item{};
    std::array<verify::Bucket, 2> buckets;  // the home or the one remembered; a way
    std::array<uint64_t, kRecordBytesMax / verify::kWordBytes> record;
  };

  size_t count() const { return count_; }
  std::span<const Slot> slots() const { return std::span(slots_).first(count_); }

  void Clear() { count_ = 0; }
  // Needs count() < kCountMax; `key` stays valid until the results are taken.
  void Begin(std::string_view key, uint64_t hash, const GetShard* shard);
  // Of a key that is none, or whose shard is not up: never plain.
  void BeginAnew(std::string_view key, uint64_t hash, const GetShard* shard);
  // What was READ of shards of which that is so is not believed.
  void RefuseIf(auto&& condition) {
    for (Slot& slot : all()) {
      if (condition(slot.shard)) slot.state = Refused(slot.state);
    }
  }
  // Afterwards each slot has ended or is not plain. Views and regions are those of Begin.
  [[gnu::flatten]] void Read();

 private:
  static State Refused(State state) {
    if (state == State::kHit) return State::kRefusedHit;
    return state == State::kAbsent ? State::kRefusedAbsent : State::kBeginAnew;
  }
  std::span<Slot> all() { return std::span(slots_).first(count_); }
  // Whether the GET wants another READ, for which `slot` says what, all of these.
  bool WantBucket(Slot* slot, State state, uint8_t way);
  bool WantRecord(Slot* slot, State state, uint64_t offset, uint32_t bytes, uint64_t version);
  bool ReadFirst(Slot* slot);
  bool ReadNext(Slot* slot);
  bool ReadBucket(Slot* slot);
  bool ReadKnownRecord(Slot* slot);
  bool ReadRecord(Slot* slot);
  bool OnNotHere(Slot* slot, bool home_tells);
  [[gnu::noinline]] bool ForgetKnown(Slot* slot);

  std::array<Slot, kCountMax> slots_;
  size_t count_ = 0;
};

}  // namespace plov
