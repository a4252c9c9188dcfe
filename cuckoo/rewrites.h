// Rewrites: how rewritten buckets of a table and its stash come to where readers see them - each at once, or several so
// that no reader finds some of them as they were after others as they have become (rule W12).
//
// From Begin to Publish they are kept here: the shard's own thread finds them, readers find the former ones. Publish takes
// the seals off all the former ones before the first new one is there, so whoever READs one of them READs it again.
//
// Thread safety: one thread, the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verify/bucket.h"
#include "verify/journal.h"

namespace plov::cuckoo {

class Rewrites {
 public:
  // journal: null unless a restart is to find every bucket whole.
  explicit Rewrites(uint64_t* journal = nullptr) : journal_(journal) {}
  Rewrites(const Rewrites&) = delete;
  Rewrites& operator=(const Rewrites&) = delete;

  // A sealed bucket, for its place in the region.
  void Store(uint64_t* words, const verify::BucketPlace& place, const verify::Bucket& bucket,
             uint32_t bucket_bytes) {
    if (keeps_) return Keep(words, {words, place, bucket, bucket_bytes});
    if (journal_ != nullptr) verify::WriteJournal(journal_, place, bucket, bucket_bytes);
    verify::StoreBucket(words, bucket, bucket_bytes);
    if (journal_ != nullptr) verify::KeepStoreOrder();
  }

  // What this bucket is to become; null: it is as it is.
  const verify::Bucket* Find(const uint64_t* words) const {
    if (!keeps_) return nullptr;
    const auto found = index_.find(words);
    return found == index_.end() ? nullptr : &kept_[found->second].bucket;
  }

  bool keeps() const { return keeps_; }
  // Items are moved to make room for others only while so many buckets are kept at most; then those are stashed.
  static constexpr size_t kMovedMax = 72;
  bool MayMove(size_t items) const {
    constexpr size_t kBucketsPerMove = 3;  // the old place, the new one, the home
    return !keeps_ || kept_.size() + items * kBucketsPerMove <= kMovedMax;
  }

  void Begin() { keeps_ = true; }
  // All that are kept, in three steps, for who has those of several tables: what a restart redoes, which needs room for
  // all of them where there is a journal; no reader finds any of them whole; all find the new ones.
  void Record(const verify::CommitJournal& journal, const verify::CommitDecision& decision);
  void Retract();
  void Publish(const verify::CommitJournal& journal);

 private:
  struct Kept {
    uint64_t* words;
    verify::BucketPlace place;
    verify::Bucket bucket;
    uint32_t bucket_bytes;
  };

  void Keep(uint64_t* words, const Kept& bucket);

  uint64_t* journal_;
  bool keeps_ = false;
  std::vector<Kept> kept_;
  std::unordered_map<const uint64_t*, size_t> index_;
};

}  // namespace plov::cuckoo
