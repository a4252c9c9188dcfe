// Store: one shard's items - superblock, table, record area, versions - and what each operation
// does to them.
//
// Thread safety: one thread, the shard's. No I/O: requests and replies are the shard's business
// (server/shard.h). The writer's rules W1 to W6 of plov(7) are kept here and in cuckoo/table.h.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cuckoo/growing_table.h"
#include "server/growth.h"
#include "server/memory.h"
#include "server/record_area.h"
#include "server/recovery.h"
#include "server/region.h"
#include "server/sessions.h"
#include "verify/message.h"
#include "verify/record.h"
#include "verify/superblock.h"

namespace plov::server {

struct StoreOptions {
  size_t memory_bytes = size_t{1} << 30;
  uint32_t bucket_bytes = verify::kBucketBytesMin;
  uint32_t value_bytes_max = verify::kValueBytesMax;
  PageKind pages = PageKind::kNormal;
  Extent extent = Extent::kSparse;
  uint32_t shard = 0;
  uint32_t shard_count = 1;
  uint64_t hash_seed = 0;       // the same in all shards
  int64_t clock_offset_us = 0;  // Unix time minus monotonic clock, the same in all shards
  uint64_t bucket_count = 0;    // at first; 0: a small table
  bool grows = true;            // false keeps the table as large as it is, for tests
  size_t block_bytes = 0;       // of the record area; 0: by the memory's size
  std::string warm_path = {};   // the file to keep the memory in; empty: none
};

struct StoreStats {
  uint64_t puts = 0;
  uint64_t deletes = 0;
  uint64_t fallback_gets = 0;
  uint64_t no_space = 0;
  uint64_t expired = 0;
  uint64_t corrupt = 0;        // operations that met damaged bytes
  uint64_t payload_bytes = 0;  // keys and values stored
};

class Store {
 public:
  // Fresh memory, or what the warm file holds. kNoSpace, kInUse, kPermission, kSystem; kCorrupt,
  // kProtocol and kInvalidArgument for a file that this store cannot go on with.
  static std::expected<std::unique_ptr<Store>, Error> Create(const StoreOptions& options);

  // PUT, ADD, REPLACE with the value in the request. `now_us`: monotonic, for expiry.
  WriteReply Write(const verify::Request& request, uint64_t now_us);

  // The same in two steps, for a value that arrives by rendezvous: a record to READ the value into
  // at `at` bytes of `shared`, then Commit, or Abandon to free it. kNoSpace, kTooLarge,
  // kInvalidArgument.
  struct Prepared {
    uint64_t offset;
    uint64_t* shared;
    size_t at;
    size_t record_bytes;
    bool pinned;  // others may write meanwhile, and cleaning leaves it where it is
  };
  std::expected<Prepared, Code> Prepare(const verify::Request& request, uint64_t now_us);
  WriteReply Commit(const Prepared& prepared, const verify::Request& request, uint64_t now_us);
  void Abandon(const Prepared& prepared);

  WriteReply Delete(const verify::Request& request, uint64_t now_us);

  // Tells the processor of the keys that come next, at most kForeseenMax, so that it waits for
  // memory once and not for each.
  static constexpr size_t kForeseenMax = cuckoo::Table::kPrefetchedMax;
  void Foresee(std::span<const std::string_view> keys) const;

  // GET by message. The item is a view of the shard's own memory, valid until the next operation.
  // `record_bytes` is 0 for an inline item. kNotFound, kCorrupt.
  struct Hit {
    verify::ItemView item;
    uint64_t record_offset;
    uint32_t record_bytes;
  };
  std::expected<Hit, Code> Get(std::string_view key, uint64_t now_us);

  // Keeps a record's memory until Release, even when the item is overwritten, so that a client can
  // READ it there.
  void Hold(uint64_t record_offset, uint32_t record_bytes);
  void Release(uint64_t record_offset);

  const Region& region() const { return region_; }
  const Memory& memory() const { return memory_; }
  const cuckoo::GrowingTable& table() const { return *table_; }
  const RecordArea& records() const { return records_; }
  const StoreStats& stats() const { return stats_; }
  // The shard says when clients have confirmed a table, and asks what to do when idle.
  Growth& growth() { return *growth_; }
  const Growth& growth() const { return *growth_; }
  // A part of the work that waits for nobody: growth, cleaning. False when there is none.
  bool OnIdle();
  const RecoveryReport& recovery() const { return recovery_; }
  const verify::Superblock& superblock() const { return superblock_; }
  uint64_t incarnation() const { return superblock_.incarnation; }
  uint64_t last_version() const { return last_version_; }
  // What tables and live records take of the memory that they can have: at 100, PUTs fail.
  uint64_t percent_full() const;
  // The server's Unix time, by which items expire.
  uint64_t UnixUs(uint64_t now_us) const {
    return now_us + static_cast<uint64_t>(options_.clock_offset_us);
  }
  uint64_t UnixSeconds(uint64_t now_us) const { return UnixUs(now_us) / 1'000'000; }

 private:
  struct HeldRecord {
    uint64_t offset;
    uint32_t record_bytes;
    uint32_t holders;
    bool orphaned;  // to be freed by the last Release
  };

  // In server/store_open.cc.
  Store(const StoreOptions& options, Region region, const verify::Superblock& superblock);
  static std::expected<verify::Superblock, Error> SuperblockFor(const StoreOptions& options,
                                                                const Region& region);
  std::expected<void, Error> OpenFresh();
  std::expected<void, Error> OpenFormer();
  std::unexpected<Error> TooSmall() const;
  void MakeTable(const cuckoo::Geometry& geometry);
  uint64_t Publish(const cuckoo::Geometry& current, const cuckoo::Geometry& next);
  void RaiseVersionLimit();
  uint64_t NextVersion() {
    ++last_version_;
    if (last_version_ >= superblock_.version_limit) RaiseVersionLimit();
    return last_version_;
  }

  uint64_t HashOf(std::string_view key) const { return cuckoo::HashKey(key, options_.hash_seed); }
  verify::ItemView ItemOf(const verify::Bucket& bucket) const;
  uint64_t PayloadBytes(const verify::Bucket& bucket) const;
  // True unless the bucket refers to a record that fails its seal. Cost: the record's bytes.
  bool IsWhole(const verify::Bucket& bucket) const;
  bool IsExpired(const verify::ItemView& item, uint64_t now_us) const {
    return item.expiry != 0 && item.expiry <= UnixSeconds(now_us);
  }

  // The slot of a key, and the reply if the operation's condition forbids to go on.
  struct Target {
    uint64_t hash;
    bool found;    // a slot is there, perhaps of an expired item
    bool present;  // and not expired
    cuckoo::Table::Slot slot;
    verify::ItemView item;
  };
  Code Aim(const verify::Request& request, uint64_t now_us, Target* target);
  // What a write stores, with the version it has, or will have.
  verify::ItemView ItemOf(const verify::Request& request, uint64_t version, uint64_t now_us) const;
  bool MeetsDamage(verify::Operation operation, const Target& target);
  WriteReply Refuse(Code status, const Target& target);
  // Space, in server/store_space.cc. Cleaning moves records, so it comes before an operation looks
  // at any.
  std::optional<uint64_t> AllocateRecord(size_t record_bytes, uint64_t now_us);
  void Work(size_t record_bytes);
  bool Clean(size_t bytes, size_t wanted_bytes = SIZE_MAX);
  std::optional<uint64_t> AllocateByCleaning(size_t record_bytes, size_t wanted_bytes);
  void Relocate(uint64_t offset, size_t record_bytes);
  void FreeRecord(uint64_t offset, size_t record_bytes);

  Code Replace(const Target& target, const verify::Bucket& item, uint64_t now_us);
  // Makes the old value of an overwritten or deleted item history (W3), in two parts around the
  // bucket's rewrite.
  void Retract(const Target& target);
  void FreeOld(const Target& target);
  enum class Change { kStored, kGone };
  void Count(Change change, uint64_t payload_bytes, uint32_t expiry);
  void Erase(const Target& target);
  // Buckets looked at before memory or table is called full.
  static constexpr size_t kSweepWhenFull = 4096;
  void Sweep(size_t buckets, uint64_t now_us);
  void SweepBucket(uint64_t index, uint64_t now_us);

  StoreOptions options_;
  Region region_;
  Memory memory_;
  RecordArea records_;
  verify::Superblock superblock_;  // as published last
  uint64_t record_seed_;
  uint64_t last_version_;
  uint64_t sweep_at_ = 0;
  uint64_t expiring_items_ = 0;
  StoreStats stats_;
  std::optional<cuckoo::GrowingTable> table_;
  std::optional<Growth> growth_;
  RecoveryReport recovery_;
  std::vector<HeldRecord> held_;
  verify::Bucket hit_;  // what a Hit of an inline item points into
};

}  // namespace plov::server
