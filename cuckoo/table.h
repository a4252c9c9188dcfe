// Table: the writer's side of the 3-1 cuckoo table with home directory.
//
// Thread safety: one thread, the shard's, calls everything here. Readers see only the stores
// (verify/words.h).
//
// Invariants, true for a reader after every single bucket rewrite:
//   1. A key that is stored is held by at least one of its three buckets, or by the stash; held twice
//      only within a move, both copies equal.
//   2. A displaced key is listed: an entry {way, fingerprint} of its home's directory matches, or
//      `overflow` is set. (Private: entries and `unlisted_` together count exactly the displaced
//      keys of a home.) For a key in the stash (cuckoo/stash.h) `stashed` is set in its home.
//   3. Every rewrite of a bucket adds 1 to its version and seals it (rule W2).
//   4. While a home is not rewritten, a displaced key of it that is present stays in one and the
//      same listed way (W4, W5). That is what a confirmed miss rests on (R3).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/geometry.h"
#include "cuckoo/hash.h"
#include "cuckoo/path.h"
#include "cuckoo/rewrites.h"
#include "verify/bucket.h"

namespace plov::cuckoo {

struct TableStats {
  uint64_t items = 0;
  uint64_t displaced = 0;         // items not at home
  uint64_t overflowed_homes = 0;  // homes with `overflow`
  uint64_t stashed = 0;           // items that found no bucket, of GrowingTable
  uint64_t moves = 0;             // displacements since the start
  uint64_t corrupt = 0;           // buckets seen that fail their seal
};

class Table {
 public:
  // region: the shard's memory; the table's part of it belongs to this object. rewrites: outlives it. Nullopt: memory
  // ran out.
  static std::optional<Table> Create(std::byte* region, const Geometry& geometry,
                                     uint64_t hash_seed, Rewrites* rewrites);
  // Another generation of the same shard.
  std::optional<Table> CreateNext(const Geometry& geometry) const {
    return Create(region_, geometry, hash_seed_, rewrites_);
  }

  // Seals buckets as empty, `count` from `first` on, in committed memory. Until then nothing in the
  // table verifies.
  void Format(uint64_t first, uint64_t count);
  void Format() { Format(0, geometry_.bucket_count); }

  // Where a key is: its table, or null and kStashed, its bucket and a private copy of it.
  static constexpr uint32_t kStashed = kWays;
  struct Slot {
    Table* table;
    uint64_t index;
    uint32_t way;
    verify::Bucket bucket;
  };

  enum class FindResult { kFound, kAbsent, kCorrupt };

  // Finds `key`; fills in `slot` when found. kCorrupt when a bucket on the way fails its seal or a
  // record has another version than its reference (nobody else writes here, so that is damage).
  FindResult Find(uint64_t hash, std::string_view key, Slot* slot);

  // Stores an item whose key Find has just said to be absent. `item` carries kind and payload.
  // Returns false, with nothing changed, when no bucket can be freed within the bounded search: the
  // table is full.
  bool Insert(uint64_t hash, const verify::Bucket& item);

  // The same, if one of its own buckets is empty.
  bool InsertIfFree(uint64_t hash, const verify::Bucket& item);

  // W10: counts a key of this home that is in the stash, or one less, and has the home say so. Note:
  // false, with nothing changed, when the home fails its seal.
  bool NoteStashed(uint64_t hash);
  void UnnoteStashed(uint64_t hash);

  // Puts another payload for the same key in place of a found one.
  void Replace(const Slot& slot, const verify::Bucket& item);

  // Removes a found item.
  void Erase(uint64_t hash, const Slot& slot);

  // Growth (rule R5): says in a home that its keys may be in the next generation. False when the
  // bucket fails its seal and cannot say it.
  bool Forward(uint64_t index);
  // Says in a bucket that this table is history.
  void Retire(uint64_t index);

  // Tells the processor that a bucket will be looked at.
  void Prefetch(uint64_t index) const {
    verify::PrefetchLines(region_ + geometry_.BucketOffset(index), geometry_.bucket_bytes);
  }
  // The same of what Find looks at, for many keys at once: the homes; once they are there, what
  // they lead to; and what the displaced ones' buckets lead to. Nothing is verified or believed.
  // At most kPrefetchedMax of them.
  static constexpr size_t kPrefetchedMax = 64;
  void PrefetchItems(std::span<const uint64_t> hashes) const;

  // How far a pass over all buckets has come (cuckoo/table_pass.h): it read those below `read_end`, and an
  // item that moves there from beyond is told of, for the pass would never meet it.
  struct PassPlace {
    uint64_t read_end = 0;
    std::move_only_function<void(const verify::Bucket&)> meet;
  };
  // A pass is in this table, until Leave, which other tables may be told, too.
  void Enter(PassPlace* pass) { passes_.push_back(pass); }
  void Leave(PassPlace* pass) { std::erase(passes_, pass); }

  // The private copy of one bucket; nullopt when it fails its seal.
  std::optional<verify::Bucket> Load(uint64_t index);

  // The full hash, and the key, of the item that a bucket holds. Needs an occupied bucket.
  uint64_t HashOf(const verify::Bucket& bucket) const;
  std::string KeyOf(const verify::Bucket& bucket) const;
  // Whether a bucket holds the key, whosever it is.
  FindResult Holds(const verify::Bucket& bucket, uint64_t hash, std::string_view key) const;

  std::byte* region() const { return region_; }
  Rewrites* rewrites() const { return rewrites_; }
  const Geometry& geometry() const { return geometry_; }
  const TableStats& stats() const { return stats_; }

 private:
  friend class TableRecovery;

  struct FreeDeleter {
    void operator()(uint8_t* pointer) const { std::free(pointer); }
  };

  // A home's unlisted keys are counted in a byte. Beyond it there is no room: tables that honest
  // keys fill have a handful.
  static constexpr uint8_t kUnlistedMax = 255;

  Table(std::byte* region, const Geometry& geometry, uint64_t hash_seed, Rewrites* rewrites);

  uint64_t* WordsOf(uint64_t index) const;
  std::array<uint64_t, kWays> WaysOf(uint64_t hash) const {
    return cuckoo::WaysOf(hash, geometry_.bucket_count);
  }
  bool PrefetchRecordOf(uint64_t hash, uint64_t index) const;
  void Rewrite(uint64_t index, verify::Bucket* bucket);
  bool FreeOne(const std::array<uint64_t, kWays>& ways);
  bool SendGuestAway(uint64_t home, const verify::Bucket& bucket);
  Occupant OccupantOf(uint64_t index);
  bool Move(uint64_t from, uint64_t to);
  void Place(uint64_t hash, const std::array<uint64_t, kWays>& ways, uint32_t way,
             const verify::Bucket& item);
  void List(uint64_t home, verify::Bucket* bucket, verify::DirectoryEntry entry);
  void Unlist(uint64_t home, verify::Bucket* bucket, verify::DirectoryEntry entry);

  std::byte* region_;
  Geometry geometry_;
  uint64_t hash_seed_;
  Rewrites* rewrites_;
  std::vector<PassPlace*> passes_;
  TableStats stats_;
  PathSearch path_search_;
  // Displaced keys per home that no directory entry lists. calloc: untouched pages cost nothing.
  std::unique_ptr<uint8_t[], FreeDeleter> unlisted_;
  // How many keys of a home are in the stash.
  std::map<uint64_t, uint64_t> stashed_;
};

}  // namespace plov::cuckoo
