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
#pragma once

#include <cstdint>

#include "verify/bucket.h"
#include "verify/words.h"

namespace plov::verify {

inline constexpr size_t kJournalBucketWord = 2;
inline constexpr size_t kJournalWords = kJournalBucketWord + kBucketWordsMax;

inline void WriteJournal(uint64_t* journal, uint64_t generation, uint64_t index,
                         const Bucket& bucket, uint32_t bucket_bytes) {
  StoreWord(journal, generation);
  StoreWord(journal + 1, index);
  StoreBucket(journal + kJournalBucketWord, bucket, bucket_bytes);
  KeepStoreOrder();
}

}  // namespace plov::verify
