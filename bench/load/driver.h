// Driver: stores a workload's items, and puts its load on a server from processes side by side.
//
// Threads: the main thread, while there is no other (process_pool.h).
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "bench/load/process_pool.h"
#include "bench/load/result.h"
#include "bench/load/workload.h"

namespace plov::bench {

// The pool's clients are processes; its functions may be empty, bytes are those of keys and values.
struct DriveOptions : PoolOptions {
  std::string uri;
  // Operations that a client hands over together: 1 is one call for each, more is GetMany and
  // PutMany of so many.
  uint32_t window = 1;
  // Operations a second of all clients together, each begun when it is due, whatever came of those
  // before it (open loop); 0: each when those before it have ended (closed loop).
  double rate = 0;
  std::chrono::microseconds warmup{0};
  std::chrono::microseconds duration{0};  // 0: until the replay is over
  ClientOptions client;                   // its `window` is set to the one above
  uint64_t seed = 1;
};

// Stores items 0.. of the workload, from all clients. A replay has none.
// Errors: the client's; kNoSpace says how much was stored.
std::expected<void, Error> Load(const Workload& workload, const DriveOptions& options);

// Puts the load on the server, and checks every value that comes back.
//
// Latencies are those of calls: in a closed loop from the call, in an open loop from the moment
// when the operation was due; of a window of many, of each operation from when all were handed
// over. Closed loop: keys and values are made between the measured parts, and per_second leaves the
// time for that out. Operations whose keys are absent, or whose conditions do not hold, count.
//
// Errors: kCorrupt (a value that nobody wrote), the client's.
std::expected<Result, Error> Drive(const Workload& workload, const DriveOptions& options);

}  // namespace plov::bench
