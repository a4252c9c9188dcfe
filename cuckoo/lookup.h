// Lookup: one GET as a state machine without I/O. It says what to READ next and is fed the bytes.
//
// The same code runs over every fabric, in the simulator and against hand-made bytes. It implements
// the reader's rules R1 to R6 of plov(7), "Reader's rules"; the deadline, the pauses and the call
// of the server are the driver's, expiry (R7) is decided by the driver's clock.
//
//   Start ──► kRead ──► Feed* ──► kRead ... ──► kHit | kAbsent
//                         ├─────► kPause       torn too often: rest pause_us(), then Resume
//                         ├─────► kAskServer   torn beyond its budget, or the key may be stashed:
//                         │                    GET by message
//                         └─────► kRefresh     the superblock is old: READ it, then Start again;
//                                              when it is the same: GET by message
//
// The view must not change under a lookup: whoever changes it begins the lookup again (Start).
//
// Cost: a hit at home 1 bucket READ and 1 record READ (none when inline), a displaced one 2 and 1;
// a known record 1 READ; a miss 1 READ when the home lists nothing that matches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cuckoo/geometry.h"
#include "cuckoo/hash.h"
#include "cuckoo/location_cache.h"
#include "verify/bucket.h"

namespace plov::cuckoo {

// What READs were spent, summed over lookups by their owner.
struct LookupStats {
  uint64_t bucket_reads = 0;
  uint64_t record_reads = 0;
  uint64_t known_reads = 0;   // of the above, through a remembered location
  uint64_t known_misses = 0;  // remembered locations that had become old
  uint64_t torn_buckets = 0;  // READs that did not verify
  uint64_t torn_records = 0;
  uint64_t confirmations = 0;  // second READs of a home, for a miss
  uint64_t restarts = 0;       // lookups begun again because the home had changed
};

// R6: torn READs are repeated at once this often (a bucket is rewritten within 100 ns) ...
inline constexpr uint32_t kImmediateRereads = 16;
// ... then after pauses that double from about 1 us, with jitter, this often, before the server is
// asked.
inline constexpr uint32_t kPausedRereads = 8;
// R6: a confirmation older than this counts as changed; versions are 32-bit and cannot wrap in it.
inline constexpr uint64_t kConfirmationUsMax = 10'000'000;

struct RecordCopy;  // cuckoo/verdict.h

class Lookup {
 public:
  enum class Action : uint8_t { kRead, kPause, kHit, kAbsent, kAskServer, kRefresh };

  struct Want {
    uint64_t offset;  // in the shard's region
    uint32_t bytes;
    bool record;  // false: a bucket
  };

  // What a lookup needs around it; outlives it.
  struct Context {
    const ShardView* view;
    LocationCache* cache;
    LookupStats* stats;
    uint64_t (*now_us)();  // a monotonic clock
  };

  // Begins. `key` stays valid to the end; `posted_us` is at or before the time of the first READ.
  Action Start(const Context* context, std::string_view key, uint64_t hash, uint64_t posted_us);
  // The same for who has READ the home already, since `posted_us`, and feeds that next.
  Action StartAtHome(const Context* context, std::string_view key, uint64_t hash,
                     uint64_t posted_us);

  // Takes the bucket READ for want(), in the driver's private memory, where it stays until the
  // lookup ends; the mask is taken off an inline item.
  Action FeedBucket(verify::Bucket* bucket);

  // Takes the record READ for want(), likewise, exactly want().bytes long. `tail` holds the value
  // of a record that was READ into two buffers (header and key in `bytes`), else it is empty.
  Action FeedRecord(std::span<std::byte> bytes, std::span<std::byte> tail = {});

  // Goes on after kPause, with the same want().
  Action Resume() const { return Action::kRead; }

  const Want& want() const { return want_; }
  uint32_t pause_us() const { return pause_us_; }

  // After kHit; points into the memory fed last.
  const verify::ItemView& item() const { return item_; }

  // After kAbsent: the home that said so, by its table and version, and the ways that it listed. While all of them say so
  // yet the key stays absent. The home alone would not do: one that lists the key already, or still, is not rewritten
  // when the key comes to its way and when it goes (W4).
  struct Absence {
    uint64_t generation = 0;  // 0: there is none
    uint32_t home_version = 0;
    std::array<uint32_t, kWays - 1> way_versions{};  // 0: the home did not list it
  };
  const Absence& absence() const { return absence_; }

  // After kAskServer: every READ gave the same bytes, and they fail their seal.
  bool suspect() const { return torn_alike_ && torn_count_ > kImmediateRereads; }

  std::string_view key() const { return key_; }
  uint64_t hash() const { return hash_; }

 private:
  enum class State : uint8_t { kKnownRecord, kKnownBucket, kHome, kWay, kRecord, kConfirm };

  const Geometry& table() const { return context_->view->tables[table_]; }

  void Begin(const Context* context, std::string_view key, uint64_t hash, uint64_t posted_us);
  Action ReadWay(State state, uint8_t way);
  Action ReadRecord(State state, uint64_t offset, uint32_t bytes);
  Action StartKnown(const Location& known);
  Action GoHome();
  Action StartOver();
  Action Miss();

  // Rare, and kept out of the way of what is not.
  [[gnu::noinline]] Action OnNotHere();
  Action OnHome();
  Action OnWay();
  Action OnConfirm();
  Action OnKnownRecord(const RecordCopy& record);
  Action OnRecord(const RecordCopy& record);
  [[gnu::noinline]] Action ForgetKnown();
  [[gnu::noinline]] Action Torn(std::span<const std::byte> bytes);

  const Context* context_ = nullptr;
  std::string_view key_;
  uint64_t hash_ = 0;
  uint64_t index_ = 0;  // of the bucket that is READ
  Want want_{};
  verify::ItemView item_{};
  Absence absence_;
  const verify::Bucket* bucket_ = nullptr;  // the bucket fed last
  State state_ = State::kHome;
  State bucket_state_ = State::kHome;  // the state that bucket_ was READ in
  uint8_t table_ = 0;
  uint8_t way_ = 0;           // of the bucket that is READ, as seen from the key
  uint8_t pending_ways_ = 0;  // bit per way still to look at
  bool forward_ = false;
  bool stashed_ = false;
  bool torn_alike_ = false;
  uint32_t home_version_ = 0;
  uint32_t attempts_ = 0;
  uint32_t torn_count_ = 0;
  uint32_t pause_us_ = 0;
  uint64_t home_posted_us_ = 0;     // at or before the READ that home_version_ comes from
  uint64_t confirm_posted_us_ = 0;  // the same of the confirmation
  uint64_t torn_digest_ = 0;
  uint64_t expected_version_ = 0;  // of the record being READ through a bucket
  uint32_t known_stamp_ = 0;       // low bits of the version of the one READ as remembered
};

}  // namespace plov::cuckoo
