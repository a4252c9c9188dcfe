// Get: one GET under way.
#pragma once

#include <plov/client.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "client/link.h"
#include "client/reads.h"
#include "cuckoo/lookup.h"
#include "verify/bucket.h"

namespace plov {

// Where the result of a GET goes.
struct GetSink {
  void (*done)(void* context, size_t index, Client::GetResult result) = nullptr;
  void* context = nullptr;
  size_t index = 0;
};

// What tells of a key that it did not change between two GETs which both have it.
struct Evidence {
  bool is_known = false;
  bool is_there = false;     // and has not expired
  uint64_t incarnation = 0;  // of the shard's life
  uint64_t generation = 0;   // of the table whose home says that the key is absent; 0: of no home
  uint64_t version =
      0;  // of the item, which may have expired; of that home; or the shard's last, of an absent key
  std::array<uint32_t, cuckoo::kWays - 1> way_versions{};  // of the ways that this home lists

  bool operator==(const Evidence&) const = default;
};

struct Get {
  enum class State : uint8_t {
    kFree,
    kWant,     // a READ is to be made
    kReading,  // a READ is in flight
    kPaused,   // until resume_at
    kAsk,      // the server is to be asked
    kAsked,    // and will answer
    kStale,    // the superblock is to be READ, then the lookup begun again
    kParked,   // until its shard is up
    kLooks,    // found is what it will be once the oaths have been seen
    kHit,      // ended: `item` is it
    kAbsent,   // ended
    kFailed,   // ended: `error` says why
  };

  using Range = cuckoo::Lookup::Want;

  static constexpr Version kNotRefused = UINT64_MAX;
  static constexpr uint64_t kNoLook = UINT64_MAX;  // nobody has asked for one

  bool ended() const { return state >= State::kHit; }

  cuckoo::Lookup lookup;
  verify::Bucket bucket;  // the last one that came
  ReadBuffer record;      // and the last record, or value by message
  State state = State::kFree;
  bool waits = false;    // it is in the queue of those that want a READ
  bool of_many = false;  // it is GetMany's, which has the sink but for the index
  Link* link = nullptr;  // the shard's, while the GET is under way
  std::string_view key;
  Deadline deadline;
  GetSink sink;  // none: who began it asks for the result

  // kWant, kReading: what is to be READ.
  const Range& want() const { return held ? held_want : lookup.want(); }
  const std::byte* region = nullptr;  // the shard's, when a READ is a load

  // The caller's buffer. Only loads go straight there, and what is copied when the GET has ended;
  // never a READ that can outlive the call (rule R8).
  std::optional<std::span<std::byte>> into;
  size_t split_bytes = 0;  // of the record that came: value bytes that went to `into`

  Reads::Id read = 0;          // kReading
  State found = State::kFree;  // kLooks
  uint64_t look = kNoLook;     // the round in which the oaths are to be seen; 0: that is not needed
  // The version of what was READ of a primary that is none any more, 0: of no item.
  Version refused = kNotRefused;
  uint32_t pause_us = 0;
  Deadline resume_at;      // kPaused
  uint64_t begun_us = 0;   // of BootUs, before the first READ; 0: not known
  uint64_t ask_id = 0;     // kAsked
  uint32_t refreshes = 0;  // superblocks that this GET has waited for
  bool holds = false;      // the server holds a record for it, or may
  bool held = false;       // that record is what is to be READ
  Range held_want{};
  Version held_version = 0;

  Evidence evidence;                       // kHit, kAbsent
  const verify::ItemView* item = nullptr;  // kHit
  verify::ItemView answer;                 // an item that the server told
  Error error{Code::kOk, {}};              // kFailed
};

}  // namespace plov
