// ReplicaAge: how old what is READ of a replica may be, which need not be the primary's: as its server says (the safe time,
// verify/superblock.h), by that server's clock.
//
// A replica's safe time only grows, and so does what it has. So a GET that begins when the age is no more than it may be
// is right whatever becomes of the replica meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>

#include "client/server_clock.h"

namespace plov {

class ReplicaAge {
 public:
  ReplicaAge() = default;  // of a primary: what is READ is the newest
  explicit ReplicaAge(uint64_t max_us) : max_us_(max_us) {}

  bool is_bounded() const { return max_us_ != 0; }
  // The safe time was READ; 0: there is none yet.
  void See(uint64_t safe_us) { safe_us_ = std::max(safe_us_, safe_us); }
  // At most, of what is READ from now on. now: by the server's clock.
  uint64_t At(ServerClock::Bounds now) const {
    return now.latest_us - std::min(now.latest_us, safe_us_);
  }
  bool Allows(uint64_t age_us) const { return age_us <= max_us_; }
  // Whether the safe time is to be READ again: half of the time that a look is good for is over.
  bool IsDue(uint64_t age_us) const { return age_us > max_us_ / 2; }

 private:
  uint64_t max_us_ = 0;  // 0: not bounded
  uint64_t safe_us_ = 0;
};

}  // namespace plov
