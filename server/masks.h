// Masks: a shard's supply of masks, which nobody can foresee (rule W11 of plov(7)).
//
// Thread safety: one thread, the shard's.
// Memory:        a page of the heap, which no client READs.
// Cost:          a system call in 512 masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "fabric/random.h"
#include "verify/mask.h"

namespace plov::server {

class Masks {
 public:
  // A mask that was never given out before, but by chance.
  verify::Mask Next() {
    if (next_ == words_.size()) {
      fabric::FillRandom(std::as_writable_bytes(std::span(words_)));
      next_ = 0;
    }
    return verify::Mask::Of(std::exchange(words_[next_++], 0));
  }

 private:
  std::array<uint64_t, 512> words_{};
  size_t next_ = words_.size();
};

}  // namespace plov::server
