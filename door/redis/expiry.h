// Expiry: Redis counts milliseconds, plov whole Unix seconds of the server's clock. An item of plov ends with the second
// in which Redis's would, so at most a second later.
#pragma once

#include <plov/client.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace plov::door::redis {

inline constexpr int64_t kMsPerSecond = 1000;
inline constexpr int64_t kUsPerMs = 1000;

// Of what is to end at a moment, in Unix milliseconds, that is above 0.
constexpr Lifetime Until(int64_t unix_ms) {
  const int64_t second = unix_ms / kMsPerSecond + (unix_ms % kMsPerSecond > 0 ? 1 : 0);
  constexpr int64_t kLast = std::numeric_limits<uint32_t>::max();
  return Lifetime::Until(static_cast<uint32_t>(std::min(second, kLast)));
}

}  // namespace plov::door::redis
