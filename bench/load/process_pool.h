// ProcessPool: processes that do the same work side by side, and the memory they share.
//
// Started by fork, for each gets a function rather than a command line; so before this process has
// threads, and from its main thread: the kernel kills a child when the thread that started it ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <vector>

#include "bench/load/clock.h"
#include "program/json.h"
#include "verify/error.h"

namespace plov::bench {

inline constexpr uint32_t kClientsMax = 256;

// One member's own line of memory. It writes, all others read.
struct alignas(64) MemberCounts {
  std::atomic<uint64_t> operations;  // so far, also of a warm-up
  std::atomic<uint64_t> bytes;       // of keys and values, likewise
  std::atomic<uint64_t> inserted;    // new items that the server has
};

// Zeroed memory is a valid one.
struct Shared {
  std::atomic<uint32_t> ready;     // members that wait for the start
  std::atomic<int64_t> start_ns;   // on NowNs's clock; 0: not yet
  std::atomic<uint32_t> stopping;  // somebody failed: the others may end
  std::array<MemberCounts, kClientsMax> counts;

  // Of so many members.
  uint64_t Sum(std::atomic<uint64_t> MemberCounts::*member, uint32_t count) const;
};

struct PoolOptions {
  uint32_t clients = 1;  // members, 1 to kClientsMax
  // Called when all are ready, right before the start, and when the last has ended; may be empty.
  std::function<void()> before;
  std::function<void()> after;
  // Called about ten times a second: how many operations there were, and bytes; may be empty.
  std::function<void(uint64_t operations, uint64_t bytes)> progress;
};

// In a member's process: its result, or why it failed.
using MemberWork =
    std::function<std::expected<program::Json, Error>(uint32_t index, Shared* shared)>;

// Starts the processes, lets them begin together once each has called AwaitStart, and returns their
// results. None outlives this call, nor this process.
// Errors: the first member's that failed; kSystem; kTimeout when none has done anything for a
//         minute.
std::expected<std::vector<program::Json>, Error> RunPool(const PoolOptions& options,
                                                         const MemberWork& work);

// A member's: waits for all the others. Returns when it started.
int64_t AwaitStart(Shared* shared);

}  // namespace plov::bench
