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
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/growing_table.h"
#include "cuckoo/rewrites.h"
#include "log/commit_log.h"
#include "server/evictor.h"
#include "server/growth.h"
#include "server/held_records.h"
#include "server/masks.h"
#include "server/memory.h"
#include "server/own_items.h"
#include "server/pending_writes.h"
#include "server/record_area.h"
#include "server/recovery.h"
#include "server/region.h"
#include "server/sessions.h"
#include "server/superblock_page.h"
#include "server/sweeper.h"
#include "server/warm_tail.h"
#include "server/writing.h"
#include "verify/journal.h"
#include "verify/log.h"
#include "verify/message.h"
#include "verify/record.h"
#include "verify/superblock.h"
#include "verify/transaction.h"

namespace plov::server {

// What is about to be restored, and the buckets that suit it where each growth chooses.
struct ExpectedItems {
  uint64_t items = 0;
  uint32_t bucket_bytes = 0;  // 0: nothing is known
  uint64_t bytes = 0;         // that they take, with their share of the table; about
};

struct StoreOptions {
  size_t memory_bytes = size_t{1} << 30;
  uint32_t bucket_bytes = verify::kBucketBytesMin;  // 0: each growth chooses
  uint32_t value_bytes_max = verify::kValueBytesMax;
  HugePages huge_pages = HugePages::kNo;
  Extent extent = Extent::kSparse;
  uint32_t shard = 0;
  uint32_t shard_count = 1;
  // Of a cluster's shard; nullopt: a single server's, whose shards divide all keys evenly.
  std::optional<cuckoo::SlotRange> slots = {};
  uint64_t hash_seed = 0;       // the same in all shards
  int64_t clock_offset_us = 0;  // Unix time minus monotonic clock, the same in all shards
  uint64_t bucket_count = 0;    // at first; 0: a small table, or one for what is expected
  ExpectedItems expected = {};
  bool grows = true;           // false keeps the table as large as it is, for tests
  bool stashes = true;         // false: what finds no bucket is refused, for tests
  size_t block_bytes = 0;      // of the record area; 0: by the memory's size
  std::string warm_path = {};  // the file to keep the memory in; empty: none
  bool discards_warm = false;  // what that file holds is given up
  bool evicts = false;         // items make room for others; needs that no log is kept
  // Store::decided of the shards before it, whose files were opened.
  std::vector<uint64_t> decided = {};
};

struct StoreStats {
  uint64_t puts = 0;
  uint64_t deletes = 0;
  uint64_t commits = 0;
  uint64_t commits_refused = 0;  // what they had read did not stand
  uint64_t fallback_gets = 0;
  uint64_t no_space = 0;
  uint64_t expired = 0;
  uint64_t evicted = 0;        // items that made room for others
  uint64_t corrupt = 0;        // operations that met damaged bytes
  uint64_t payload_bytes = 0;  // keys and values stored
};

class Store : private cuckoo::GrowingTable::Records {
 public:
  // Fresh memory, or what the warm file holds. kNoSpace, kInUse, kPermission, kSystem; kCorrupt,
  // kProtocol and kInvalidArgument for a file that this store cannot go on with.
  static std::expected<std::unique_ptr<Store>, Error> Create(const StoreOptions& options);

  using Writing = server::Writing;

  // PUT, ADD, REPLACE with the value in the request. `now_us`: monotonic, for expiry. nullopt: a
  // slice was done, call again.
  std::optional<WriteReply> Write(const verify::Request& request, uint64_t now_us,
                                  Writing* writing);
  // All slices at once, for who serves nobody else.
  WriteReply Write(const verify::Request& request, uint64_t now_us);

  // The same in two steps, for a value that arrives by rendezvous. Prepare gives it a place, or
  // says why there is none: kNoSpace, kTooLarge, kInvalidArgument. Both: nullopt means again.
  // Every place ends with a Commit that replies or with Abandon. A long value is settled before it
  // is digested.
  std::optional<Code> Prepare(const verify::Request& request, uint64_t now_us, Writing* writing);
  // The reply to a write that has no place; of kNoSpace it says whether the host is the limit.
  WriteReply Refusal(Code status) const;
  // Of what another replica has no memory for.
  WriteReply RefuseForOther();
  std::optional<WriteReply> Commit(const verify::Request& request, uint64_t now_us,
                                   Writing* writing);
  void Abandon(Writing* writing);

  // So many bytes more of a long value that has arrived, from the masks that it came under to its
  // own.
  void Settle(Writing* writing, size_t bytes);

  // The next bytes of a long value that the server makes itself: they need no settling.
  void Fill(Writing* writing, std::string_view bytes);

  // The work done so far, in bytes copied, sealed or looked at, for who hands out slices of it.
  uint64_t work() const { return work_bytes_ + records_.moved_bytes(); }
  // Somebody else looked at so many bytes of items.
  void AddWork(uint64_t bytes) { work_bytes_ += bytes; }

  WriteReply Delete(const verify::Request& request, uint64_t now_us, uint64_t client_id = 0);

  // Several writes, all or none, if what was read still stands (server/store_commit.cc; W12). First each PUT is placed:
  // it has a record with its value in it, or fits in a bucket; as Prepare.
  std::optional<Code> Place(const verify::Request& put, uint64_t now_us, Writing* writing);
  struct Together {
    std::span<const verify::TransactionRead> reads;
    std::span<const verify::Request> writes;  // PUTs and DELETEs
    std::span<Writing> writings;              // of these
  };
  // Whether what was read stands, or kVersionMismatch; and room for all of it. kOk: nothing can fail from here on. nullopt:
  // again. Without kOk the places are the caller's yet. Of several stores each is asked, then each takes every next step.
  std::optional<Code> Ready(const Together& together, uint64_t now_us, RoomSearch* room);
  // A write's version, which it returns, is greater than `after`. together: so many are published with it, of the first.
  uint64_t Stage(const verify::Request& write, uint64_t now_us, uint64_t after, size_t together,
                 Writing* writing);
  // All that was staged, unless it waits for the log (strict): of one store; or of several in these steps. KeepStaged
  // returns the last one's version.
  void PublishTogether(size_t count);
  uint64_t KeepStaged(size_t count);
  void Record(const verify::CommitDecision& decision) {
    rewrites_.Record(commit_journal_, decision);
  }
  // In the memory of one of them: from now on a restart finds them published.
  void Decide(uint64_t id) {
    if (!options_.warm_path.empty()) verify::CommitJournal::Decide(region_.data(), id);
  }
  uint64_t decided() const { return verify::CommitJournal::Decided(region_.data()); }
  void RetractStaged() { rewrites_.Retract(); }
  void ShowStaged();
  void CountCommit() { ++stats_.commits; }
  // Whether writes are published once they are durable.
  bool defers() const { return defers_; }

  // What a log holds becomes true again, operation by operation in its order, after the items of a snapshot;
  // before LogTo, and while nobody is connected. In warm memory, unless the key has a newer item there. kOk,
  // kNoSpace, kTooLarge; kNoShard: the key is another shard's.
  Code Restore(const verify::Logged& operation, uint64_t now_us);
  // After Apply, while nobody is connected: former tables and places are free, as nobody READs them.
  void ForgetHistory() { growth_->OnConfirmed(UINT64_MAX); }
  // Versions go on beyond all that a log holds.
  void GoOnBeyond(uint64_t version) { superblock_.GoOnBeyond(version); }
  // The same of an entry that the shard's primary published; readers may be connected.
  Code Apply(const verify::Logged& operation, uint64_t now_us);
  // By how much of its budget the items exceed it, as Apply and Restore let them.
  size_t excess_percent() const;
  static constexpr size_t kExcessPercentMax = 25;
  // Whether its key has a newer item.
  bool HasNewer(const verify::Logged& operation);
  // From now on every write is appended to the log, which takes it: the caller asks first whether it has room. It
  // outlives the last write. strict: a write is in the table only once PublishDurable has put it there,
  // and decides until then what becomes of the next write of its key, which needs MayWrite. `tail`: of
  // warm memory, else null.
  void LogTo(log::CommitLog* log, log::CommitMode mode, WarmTail* tail = nullptr);
  // Until the next LogTo there are no writes but Apply. What was not published is given up.
  void EndLog();
  // Room for one more write in the tail. When it is false the disk has been asked to hurry.
  bool TailHasRoom();
  // strict: false while a write of another key with the same hash is not in the table yet, or one of this
  // key whose item may have expired by then and this write's outcome hangs on whether it is there. Other
  // writes of the key wait with it.
  bool MayWrite(const verify::Request& request);
  // Publishes what is durable, in the order of the log, at most so many. False: there was nothing.
  bool PublishDurable(size_t count_max);
  // The batch of the oldest write that is not in the table yet; UINT64_MAX: all are.
  uint64_t first_pending_batch() const { return pending_.first_batch(); }
  size_t pending() const { return pending_.size(); }
  uint64_t first_pending_version() const {
    return pending_.empty() ? UINT64_MAX : pending_.first().version;
  }

  // Tells the processor of the keys that come next, at most kPrefetchedMax, so that it waits for
  // memory once and not for each.
  static constexpr size_t kPrefetchedMax = cuckoo::Table::kPrefetchedMax;
  void Prefetch(std::span<const std::string_view> keys) const;

  // GET by message. The item is a view of the shard's own memory, valid until the next operation.
  // `record_bytes` is 0 for an inline item. kNotFound, kCorrupt.
  // A longer one is verified in slices.
  static constexpr size_t kVerifiedAtOnce =
      verify::RecordBytes(verify::kKeyBytesMax, verify::kShortValueMax);
  struct Hit {
    verify::MaskedItem item;
    uint64_t record_offset;
    uint32_t record_bytes;
  };
  // A record of more than `verified_bytes_max` is not verified: who reads it will.
  std::expected<Hit, Code> Get(std::string_view key, uint64_t now_us,
                               size_t verified_bytes_max = SIZE_MAX);

  // The same of what the key's next write meets: also what is in the log and not yet in the table.
  std::expected<Hit, Code> Current(std::string_view key, uint64_t now_us,
                                   size_t verified_bytes_max);

  // What an occupied bucket of the store's leads to; nullopt when its record is not the one it means. And
  // whether all of that is whole, in one go.
  std::optional<Hit> HitOf(const verify::Bucket& bucket) const;
  bool IsWhole(const verify::Bucket& bucket) const { return items_.IsWhole(bucket); }

  // Digests of long values, for slices; and what one says of the record that was hit.
  verify::ValueDigest DigestOf(const Writing& writing) const;
  verify::ValueDigest DigestOf(const Hit& hit) const;
  bool IsWhole(const Hit& hit, uint64_t value_digest);

  // Keeps a record's memory until Release, even when the item is overwritten, so that a client can
  // READ it there.
  void Hold(uint64_t record_offset, uint32_t record_bytes) {
    held_.Hold(record_offset, record_bytes);
  }
  void Release(uint64_t record_offset) { held_.Release(record_offset); }

  const Region& region() const { return region_; }
  const Memory& memory() const { return memory_; }
  const cuckoo::GrowingTable& table() const { return *table_; }
  // For a pass over all items (cuckoo/table_pass.h).
  cuckoo::GrowingTable* table_to_read() { return &*table_; }
  const RecordArea& records() const { return records_; }
  const StoreStats& stats() const { return stats_; }
  // The shard says when clients have confirmed a table, and asks what to do when idle.
  Growth& growth() { return *growth_; }
  const Growth& growth() const { return *growth_; }
  // What items may take from now on: no less than before, no more than the region has addresses.
  void RaiseBudget(size_t bytes) { region_.RaiseBudget(bytes); }
  // A part of the work that waits for nobody: growth, cleaning. False when there is none.
  bool OnIdle();
  // Looks for items that have expired, in a part of the table, as writes do. False when none can have.
  bool SweepSome(uint64_t now_us);
  // Cache mode.
  bool evicts() const { return evictor_.has_value(); }
  // Clients found these; needs evicts().
  void OnHits(std::span<const verify::HitName> hits) {
    work_bytes_ += hits.size() * kHitWorkBytes;
    evictor_->OnHits(hits);
  }
  // The same of one that was looked at here: no client tells of it.
  void OnScan(std::string_view key) {
    const verify::HitName name = verify::HitNameOf(HashOf(key));
    if (evictor_) OnHits({&name, 1});
  }
  // Whether items that expire are looked for also when nothing is written.
  bool sweeps_when_idle() const { return evictor_ && sweeper_->has_any(); }
  uint64_t hits_told() const { return evictor_ ? evictor_->hits() : 0; }
  const RecoveryReport& recovery() const { return recovery_; }
  const verify::Superblock& superblock() const { return superblock_.page(); }
  // Whether a key belongs to this shard.
  bool Owns(std::string_view key) const { return slots_.has_all() || slots_.Has(HashOf(key)); }
  uint32_t value_bytes_max() const { return options_.value_bytes_max; }
  uint64_t incarnation() const { return superblock().incarnation; }
  uint64_t last_version() const { return superblock_.last_version(); }
  // As long as it is the same one, no key that is absent has been stored meanwhile; 0: that cannot be told now.
  uint64_t settled_version() const { return pending_.empty() ? last_version() : 0; }
  // What tables, stash and live records take of the memory that they can have: at 100, PUTs fail.
  uint64_t percent_full() const;
  // Of the stash, what it takes of the heap as well.
  size_t stash_bytes() const {
    return table_->stash().geometry().memory.bytes + table_->stash().heap_bytes();
  }
  // The server's Unix time, by which items expire.
  uint64_t UnixUs(uint64_t now_us) const {
    return now_us + static_cast<uint64_t>(options_.clock_offset_us);
  }
  uint64_t UnixSeconds(uint64_t now_us) const { return UnixUs(now_us) / 1'000'000; }
  // Of a replica: what READs begin with from now on is no older than that.
  void ShowSafeTime(uint64_t now_us) { verify::PublishSeal(safe_time(), UnixUs(now_us)); }
  // In Unix time; 0: it was not shown yet.
  uint64_t safe_unix_us() const { return verify::LoadWord(safe_time()); }

 private:
  std::expected<Hit, Code> VerifiedHit(const verify::Bucket& bucket, size_t verified_bytes_max);
  uint64_t* safe_time() const { return verify::WordsAt(region().data(), verify::kSafeTimeOffset); }

  // In server/store_open.cc.
  Store(const StoreOptions& options, Region region, const verify::Superblock& superblock);
  static std::expected<verify::Superblock, Error> SuperblockFor(const StoreOptions& options,
                                                                const Region& region);
  struct FirstTable {
    uint64_t bucket_count;
    uint32_t bucket_bytes;
  };
  FirstTable FirstTableOf() const;
  std::expected<void, Error> OpenFresh();
  std::expected<void, Error> OpenFormer();
  std::unexpected<Error> TooSmall() const;
  std::unexpected<Error> HoldsOthers() const;
  std::expected<void, Error> MakeTable(const cuckoo::Geometry& geometry);
  void MakeSweeper();
  void MakeEvictor();

  uint64_t NextVersion() {
    return restored_ != nullptr ? restored_->version : superblock_.NextVersion();
  }
  uint64_t HashOf(std::string_view key) const { return cuckoo::HashKey(key, options_.hash_seed); }

  // The slot of a key, and the reply if the operation's condition forbids to go on. For a write that is
  // deferred, what will be there when it is published: then slot and item mean nothing.
  struct Target {
    uint64_t hash;
    bool found;        // a slot is there, perhaps of an expired item
    bool present;      // and not expired
    uint64_t version;  // of the item, if one is found
    cuckoo::Table::Slot slot;
    verify::MaskedItem item;
  };
  Code FindTarget(const verify::Request& request, uint64_t now_us, Target* target);
  // The same of a key alone; what it returns is counted.
  Code Find(verify::Operation operation, std::string_view key, uint64_t now_us, Target* target);
  Code FindPublished(const verify::Request& request, uint64_t now_us, Target* target);
  // What a write stores, but for its version and mask.
  verify::ItemView ItemOf(const verify::Request& request, uint64_t now_us) const;
  bool MeetsDamage(verify::Operation operation, const Target& target);
  WriteReply Refuse(Code status, const Target& target);
  // Space, in server/store_space.cc. Cleaning moves records, so it comes before an operation looks
  // at any.
  bool Work(RoomSearch* room, size_t record_bytes);
  // What the items take in tables of so many bytes.
  size_t bytes_with(size_t table_bytes) const;
  bool MakeRoom(RoomSearch* room, size_t record_bytes, uint64_t now_us);
  bool UseMeans(RoomSearch* room, size_t record_bytes, uint64_t now_us);
  // Cache mode: whether writes will find no room soon; and what makes some.
  bool IsShort() const;
  bool IsCrowded() const;
  bool Evict(RoomSearch* room, size_t record_bytes);
  void CountHeap();
  bool MakeStashRoom(size_t key_bytes, bool grows);
  bool MayStash(size_t key_bytes, bool may_be_full);
  bool MakeStashRoomFor(size_t inserts);
  bool ExtendStash();
  bool TakeStashExtent();
  void DropStash();
  bool Clean(size_t bytes, size_t wanted_bytes = SIZE_MAX);
  void Relocate(uint64_t offset, size_t record_bytes);

  void DrawArrivalMasks(Writing* writing);
  // The place of a record that nothing leads to.
  void GiveBack(const Writing::Place& place);
  // The log, in server/store_log.cc.
  void CopyForLog(Writing* writing);
  void LogPut(const verify::Request& request, const verify::ItemView& item, Writing* writing);
  // Returns its version.
  uint64_t LogDelete(const verify::Request& request, uint64_t client_id);
  void AppendDelete(const verify::Request& request, uint64_t version, uint64_t client_id);
  // While the tail of warm memory is kept: in strict it is not, for the log has all that is published.
  bool keeps_tail() const { return tail_ != nullptr && !defers_; }
  bool NoteExpired(const Target& target);
  // A write whose outcome is settled: the place of its key, and what is stored there.
  struct Settled {
    const Target& target;
    const verify::Bucket& item;
    const verify::ItemView& view;
  };
  // Publishes it now, or defers that. nullopt: as Write.
  std::optional<WriteReply> Apply(const verify::Request& request, uint64_t now_us,
                                  const Settled& settled, Writing* writing);
  std::optional<WriteReply> Defer(const verify::Request& request, uint64_t now_us,
                                  const Settled& settled, Writing* writing);
  PendingWrite PendingPut(const verify::Request& request, const Settled& settled,
                          Writing* writing) const;
  PendingWrite PendingDelete(std::string_view key, uint64_t hash, uint64_t version) const;
  void PublishFirst();
  void Publish(const PendingWrite& pending);
  void PublishPut(const PendingWrite& pending, const Target& target);
  std::optional<WriteReply> WriteInline(const verify::Request& request, uint64_t now_us,
                                        Writing* writing);
  // Draw its version: of an item that is inline, or of one in a record, which is sealed.
  verify::Bucket InlineItem(const verify::Request& request, uint64_t now_us,
                            verify::ItemView* item);
  verify::Bucket RecordItem(const verify::Request& request, uint64_t hash, uint64_t now_us,
                            const Writing& writing, verify::ItemView* item);
  Code CheckTogether(const Together& together, uint64_t now_us, size_t* inserts);
  bool MakeJournalRoom(size_t writes);
  void Overwrite(const Target& target, const verify::Bucket& item);
  std::optional<Code> Replace(const Target& target, const verify::Bucket& item, uint64_t now_us,
                              RoomSearch* room);
  bool FitsInline(const verify::Request& request, uint64_t now_us) const {
    return verify::InlineFits(ItemOf(request, now_us), table_->item_bytes());
  }
  bool MakeInline(verify::Bucket* item, uint32_t bucket_bytes) override;
  void Retract(const verify::Reference& reference) override;
  void Free(const verify::Reference& reference) override;
  std::optional<Code> Insert(uint64_t hash, const verify::Bucket& item, uint64_t now_us,
                             RoomSearch* room);
  // Changes with what may free a place in a table that was full.
  uint64_t Chances() const {
    return stats_.expired + stats_.evicted + stats_.deletes + growth_->phases();
  }
  bool StillFull(RoomSearch* room, uint64_t now_us) {
    return room->tried == Chances() && MakeRoom(room, 0, now_us);
  }
  // Makes the old value of an overwritten or deleted item history (W3), in two parts around the
  // bucket's rewrite.
  void Retract(const Target& target);
  void FreeOld(const Target& target);
  enum class Change { kStored, kGone };
  void Count(Change change, uint64_t payload_bytes, uint32_t expiry);
  void Erase(const Target& target);
  void EraseExpired(const Target& target);
  // Writes pay for looking at this many buckets while items with an expiry are stored.
  static constexpr size_t kSweepPerWrite = 2;
  // Two lines of memory.
  static constexpr size_t kHitWorkBytes = 128;
  void SweepIfDue(size_t buckets, uint64_t now_us);

  StoreOptions options_;
  cuckoo::SlotRange slots_;
  Region region_;
  Memory memory_;
  RecordArea records_;
  SuperblockPage superblock_;
  uint64_t record_seed_;
  OwnItems items_;
  HeldRecords held_;
  Masks masks_;
  uint64_t work_bytes_ = 0;  // but for records that were moved
  StoreStats stats_;
  cuckoo::Rewrites rewrites_;
  size_t commit_journal_bytes_ = 0;
  verify::CommitJournal commit_journal_;  // with memory from the first COMMIT on, if memory is kept
  std::vector<verify::Reference> free_later_;  // of COMMITs that are not published yet
  std::optional<cuckoo::GrowingTable> table_;
  std::optional<Growth> growth_;
  std::optional<Sweeper> sweeper_;
  std::optional<Evictor> evictor_;  // of cache mode
  RecoveryReport recovery_;
  log::CommitLog* log_ = nullptr;
  WarmTail* tail_ = nullptr;
  bool defers_ = false;  // strict
  PendingWrites pending_;
  bool publishes_ = false;                    // what room in the stash is kept for
  const verify::Logged* restored_ = nullptr;  // what is being restored
  verify::Bucket hit_;                        // what a Hit of an inline item points into
};

}  // namespace plov::server
