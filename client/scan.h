// Scan: every item by one-sided READs of the tables.
//
// A key that moves from a bucket not yet read to one read already would be missed by one pass. So
// passes are repeated over the buckets whose version changed since they were read, until none has.
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

 private:
  enum class Step {
    kDone,
    kAgain,    // the record was overwritten meanwhile: the bucket is to be READ again
    kStop,     // the caller has seen enough
    kRetired,  // the table is history
  };
  using Outcome = std::expected<Step, Error>;

  Outcome ScanShard();
  Outcome ScanTable();
  Outcome ScanPass();
  template <typename Geometry>
  Outcome ScanBuckets(const Geometry& geometry, uint64_t count, std::vector<uint32_t>* versions);
  template <typename Geometry>
  Outcome ScanBucket(const Geometry& geometry, uint64_t index, bool is_new, uint32_t* version,
                     verify::Bucket* bucket);
  std::expected<void, Error> Refresh();
  bool MayWait(fabric::Deadline* begun);
  // The bucket is a copy; the mask is taken off its item.
  Outcome ScanItem(verify::Bucket* bucket);
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
  std::vector<uint32_t> versions_;        // of the table's buckets as last read
  std::vector<uint32_t> stash_versions_;  // of the stash's
  uint64_t record_bytes_ = 0;             // of the records of this pass
  bool changed_ = false;
  std::vector<uint64_t> chunk_;  // buckets as they were READ
};

}  // namespace plov
