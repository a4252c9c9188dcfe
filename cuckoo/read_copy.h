// ReadCopy: the READs of a lookup as copies of a region in this process's memory.
//
// What was READ stays, as a lookup's driver promises, until the next READ.
#pragma once

#include <cstddef>
#include <vector>

#include "cuckoo/lookup.h"
#include "verify/bucket.h"
#include "verify/words.h"

namespace plov::cuckoo {

class ReadCopy {
 public:
  // Makes the READ that the lookup wants, and says what it wants next.
  Lookup::Action Feed(Lookup* lookup, const std::byte* region) {
    const Lookup::Want want = lookup->want();
    const std::byte* from = region + want.offset;
    if (!want.record) {
      verify::CopyFromShared(bucket_.words(), from, want.bytes);
      return lookup->FeedBucket(&bucket_);
    }
    record_.resize(want.bytes);
    verify::CopyFromShared(record_.data(), from, want.bytes);
    return lookup->FeedRecord(record_);
  }

 private:
  verify::Bucket bucket_;
  std::vector<std::byte> record_;
};

}  // namespace plov::cuckoo
