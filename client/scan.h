// Scan: every item by one-sided READs of the tables.
//
// A key that moves from a bucket not yet read to one read already would be missed by one pass. So
// passes are repeated, over the buckets whose version changed since they were read, until every home
// is settled: none of its keys that were there all the time was missed. One of these shows it.
//  - A bucket of the home was whole and had no directory. At that instant all keys of the home that
//    the table held were in it (plov(7), Lemma 3), and what was in it was reported.
//  - The home was READ in one pass and, not `stashed`, with the same version in the next, and again after
//    all else of its chunk: so it was not rewritten between these, and no key of it moved (W4, W5, W8,
//    W10). Every bucket of the table was READ meanwhile, those behind it in the first pass, those before
//    it and beside it in the second, so each of these keys was met where it was.
//  - A whole pass found nothing changed. Then what was READ is what was there, at once, when it began.
// What others overwrite in its place all the time keeps only its own home from being settled, and that
// only if the home has a directory. Eight passes are the most.
//
// While the table grows there are two, and keys only travel from the older to the newer. So tables
// are scanned in the order of their generations: a key that the last pass over the older one did
// not meet had left it by then, and is in the newer one when that is begun. A bucket that is
// `retired` says that nothing is left in its table at all.
//
// The stash is a part of each pass, after the buckets and by a superblock that is READ after them: a
// key that left its bucket before that was READ is there, or has left it for a bucket whose version
// has changed since.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <vector>

#include "client/callbacks.h"
#include "client/peers.h"
#include "cuckoo/geometry.h"
#include "verify/bucket.h"

namespace plov {

class Scan {
 public:
  // Waits until a shard is up; an error when it is not in time.
  using Await = std::move_only_function<std::expected<void, Error>(uint32_t shard)>;

  // timeout: of each READ.
  Scan(const Peers* peers, std::chrono::microseconds timeout, Callbacks* callbacks,
       ScanCallback* item, Await await);

  std::expected<ScanSummary, Error> Run();
  // Each shard once, the first from a random bucket on, and that one once more from its beginning.
  std::expected<ScanSummary, Error> RunFrom(uint64_t random);

 private:
  enum class Step {
    kDone,
    kAgain,    // the record was overwritten meanwhile: the bucket is to be READ again
    kStop,     // the caller has seen enough
    kRetired,  // the table is history
  };
  using Outcome = std::expected<Step, Error>;

  // What the passes over one table, or the stash, have seen of its buckets.
  struct Seen {
    uint64_t first = 0;  // those before it are left out
    std::vector<uint32_t>
        versions;               // as last READ; it grows with what is there, whatever is claimed
    std::vector<bool> settled;  // of a table: homes
    uint64_t unsettled_count = 0;

    void GrowTo(uint64_t end) {
      if (versions.size() >= end - first) return;
      unsettled_count += end - first - versions.size();
      versions.resize(end - first);
      settled.resize(end - first);
    }
    void Settle(uint64_t index);
  };

  Outcome ScanShard();
  Outcome ScanShardOnce(uint64_t random);
  Outcome ScanTable();
  Outcome ScanPass();
  Outcome ScanStash();
  template <typename Geometry>
  Outcome ScanBuckets(const Geometry& geometry, uint64_t end, Seen* seen);
  template <typename Geometry>
  Outcome ScanChunk(const Geometry& geometry, uint64_t first, uint64_t count, size_t known,
                    Seen* seen);
  template <typename Geometry>
  Outcome ScanBucket(const Geometry& geometry, uint64_t index, bool is_new, Seen* seen,
                     verify::Bucket* bucket);
  std::expected<void, Error> SettleHomes(const cuckoo::Geometry& geometry, uint64_t first,
                                         uint64_t count, Seen* seen);
  std::expected<void, Error> Refresh();
  bool MayWait(fabric::Deadline* begun);
  // The bucket is a copy; the mask is taken off its item.
  Outcome ScanItem(verify::Bucket* bucket, uint32_t bucket_bytes);
  Outcome NextTable(uint64_t done_generation, bool retired);
  std::expected<void, Error> Resume();
  std::expected<void, Error> SeeOaths();
  std::expected<std::span<std::byte>, Error> Read(uint64_t offset, uint32_t bytes);
  bool IsExpired(uint32_t expiry);
  Link& link() { return *peers_->link(shard_); }

  const Peers* peers_;
  std::chrono::microseconds timeout_;
  Callbacks* callbacks_;
  ScanCallback* item_;
  Await await_;
  ScanSummary summary_;
  fabric::Clock::duration waited_{};  // for buckets that were torn

  // Of the shard that is scanned.
  uint32_t shard_ = 0;
  uint64_t incarnation_ = 0;
  cuckoo::Geometry table_;
  Seen seen_;  // of table_
  Seen stash_seen_;
  uint64_t record_bytes_ = 0;  // of the records of this pass
  bool changed_ = false;
  std::vector<uint64_t> same_homes_;  // of the chunk: may be settled by this pass
  std::vector<uint64_t> chunk_;       // buckets as they were READ
};

}  // namespace plov
