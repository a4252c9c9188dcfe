// ShardCounters: what a shard counts itself; its page of counters tells more (server/counter_publisher.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "verify/counters.h"
#include "verify/message.h"

namespace plov::server {

// What a shard counts itself.
struct ShardCounters {
  uint64_t messages = 0;
  uint64_t requests = 0;
  uint64_t retries_answered = 0;     // writes that were applied before
  uint64_t protocol_errors = 0;      // clients dropped for garbage
  uint64_t suspicions = 0;           // GETs by message of clients that saw unchanging damage
  uint64_t dropped_unconfirmed = 0;  // clients that kept to a table that was history
  uint64_t sleeps = 0;
  verify::GetReport reported = {};  // by clients
};

// Of a shard's clients together.
struct ClientTotals {
  size_t connected = 0;
  uint64_t refused = 0;
  uint64_t bytes = 0;  // that they may make the server use
  size_t sessions = 0;
};

// What clients cause is logged the 1st, 2nd, 4th, 8th ... time: no client can fill the log.
inline bool IsWorthALine(uint64_t count) { return std::has_single_bit(count); }

}  // namespace plov::server
