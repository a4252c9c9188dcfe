// Journal: the bucket rewrite under way, so that a server killed in the middle of one leaves no
// torn bucket behind for a warm restart.
//
//  offset size field
//       0    8 generation   of the bucket's table
//       8    8 index        of the bucket
//      16    . bucket       as it is to become, 64 or 128 bytes, sealed for that place
//
// Whole if and only if the bucket is, under the seed of the generation and index that stand before
// it. Written before the bucket itself, whole before the first word of it; so at any instant the
// bucket, or the journal, is whole. A bucket is not rewritten before the last one is, so one entry
// is enough, and to write it once more is harmless.
//
// The buckets of a COMMIT become what they are to be together (plov(7), W12), and have a journal of their own, in
// memory of the region that only they use:
//  offset size field            in the journal's page, from 256 on
//       0    8 checksum         of the next two words and of shard and commit, under CommitJournalSeed
//       8    8 offset           of the entries in the region
//      16    8 entries          each as the one above, kJournalWords apart
//      24    8 redone           1: by a restart, since it was whole last
//      32    8 shard            whose journal's page decides
//      40    8 commit           that this is of; 0: it decides by itself
//      48    8 decided          the last commit that this page decided
// While it is whole and decided its entries are what is to be, and the single entry means nothing. While it is whole and
// not decided, its commit did not happen.
#pragma once

#include <array>
#include <cstdint>

#include "verify/bucket.h"
#include "verify/seal.h"
#include "verify/superblock.h"
#include "verify/words.h"

namespace plov::verify {

inline constexpr size_t kJournalBucketWord = 2;
inline constexpr size_t kJournalWords = kJournalBucketWord + kBucketWordsMax;
inline constexpr size_t kCommitJournalAt = 256;  // of the page

// Where a bucket belongs.
struct BucketPlace {
  uint64_t generation;
  uint64_t index;
};

inline void WriteJournal(uint64_t* journal, const BucketPlace& place, const Bucket& bucket,
                         uint32_t bucket_bytes) {
  StoreWord(journal, place.generation);
  StoreWord(journal + 1, place.index);
  StoreBucket(journal + kJournalBucketWord, bucket, bucket_bytes);
  KeepStoreOrder();
}

// It is not whole any more.
inline void ClearJournal(uint64_t* journal) {
  StoreWord(journal + kJournalBucketWord, 0);
  KeepStoreOrder();
}

constexpr uint64_t CommitJournalSeed(uint64_t incarnation) {
  return Mix(incarnation ^ 0x636f6d6d6974);
}

// Where it is said that a COMMIT of several shards happened: when the page of that shard says so of this id.
struct CommitDecision {
  uint64_t shard = 0;
  uint64_t id = 0;  // 0: a COMMIT of one shard, which happened when its journal is whole
};

// Of a shard whose memory is kept, else none.
struct CommitJournal {
  uint64_t* head = nullptr;
  uint64_t* entries = nullptr;
  uint64_t offset = 0;  // of the entries
  uint64_t seed = 0;

  static CommitJournal Of(std::byte* region, uint64_t offset, uint64_t incarnation) {
    return {.head = WordsAt(region, kJournalOffset + kCommitJournalAt),
            .entries = WordsAt(region, offset),
            .offset = offset,
            .seed = CommitJournalSeed(incarnation)};
  }

  void Put(size_t index, const BucketPlace& place, const Bucket& bucket,
           uint32_t bucket_bytes) const {
    WriteJournal(entries + index * kJournalWords, place, bucket, bucket_bytes);
  }
  void Seal(uint64_t count, const CommitDecision& decision) const {
    StoreWord(head + 1, offset);
    StoreWord(head + 2, count);
    StoreWord(head + 3, 0);
    StoreWord(head + 4, decision.shard);
    StoreWord(head + 5, decision.id);
    KeepStoreOrder();
    PublishSeal(head, Sum());
    KeepStoreOrder();
  }
  // Of a region whose memory is kept or not.
  static void Decide(std::byte* region, uint64_t id) {
    StoreWord(WordsAt(region, kJournalOffset + kCommitJournalAt) + 6, id);
    KeepStoreOrder();
  }
  static uint64_t Decided(std::byte* region) {
    return LoadWord(WordsAt(region, kJournalOffset + kCommitJournalAt) + 6);
  }
  void Clear() const {
    StoreWord(head, 0);
    KeepStoreOrder();
  }
  // Its buckets are what was to be.
  void EndRedo() const {
    KeepStoreOrder();
    StoreWord(head + 3, 1);
    KeepStoreOrder();
    Clear();
  }
  bool redone() const { return LoadWord(head + 3) == 1; }
  bool IsWhole() const { return LoadWord(head) == Sum(); }
  CommitDecision decision() const { return {LoadWord(head + 4), LoadWord(head + 5)}; }

 private:
  uint64_t Sum() const {
    const std::array words = {LoadWord(head + 1), LoadWord(head + 2), LoadWord(head + 4),
                              LoadWord(head + 5)};
    return Checksum(words.data(), sizeof(words), seed);
  }
};

}  // namespace plov::verify
