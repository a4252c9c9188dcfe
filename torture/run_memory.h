// Run memory: what the tool and its client processes share: the plan, the barrier, rings, counters.
//
// A memfd that the clients inherit. The plan is written before the first client starts; everything
// else is atomics, each written by one side.
#pragma once

#include <plov/client.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "torture/modified_state.h"
#include "torture/operation_ring.h"
#include "torture/transaction_record.h"
#include "verify/error.h"

namespace plov::torture {

inline constexpr size_t kClientsMax = 64;
inline constexpr size_t kTextBytes = 256;

// What every client process does; fixed for the run.
struct Plan {
  std::array<char, kTextBytes> uri{};
  uint32_t run = 0;  // for KeyName
  uint32_t hot_keys = 0;
  uint64_t keys = 0;
  uint64_t value_bytes_min = 0;
  uint64_t value_bytes_max = 0;
  uint64_t seed = 0;
  uint64_t timeout_us = 0;
  uint64_t max_age_us = 0;  // of what GETs of any replica find; 0: GETs READ the primary
  bool pauses = false;
  bool short_deadlines = false;
  bool shifted_clocks = false;
  bool standing_items = false;
  bool loses_answered = false;            // a kill of the server may, with --commit async
  bool transactions = false;              // half of the batches are of transactions
  bool transactions_over_shards = false;  // their keys are of several shards
  bool modifies = false;                  // nothing that a GET has found is ever lost
};

// What READs cost a client process, from its ClientStats; numbers of errors by code follow.
enum class Count : uint8_t {
  kGets,
  kReads,
  kTornBuckets,
  kTornRecords,
  kConfirmations,
  kRestarts,
  kFallbacks,
  kKnownReads,
  kKnownMisses,
  kRefreshes,
  kReconnects,
  kRetries,
  kDeposed,
  kDeposedStale,
  kPauses,       // GETs that paused in the middle
  kRecordBytes,  // values stored that are too long for a bucket
  kDeadlines,    // calls with a deadline of microseconds
  kExpiries,     // GETs of items with a time to live whose end was certain
  kModified,     // operations on items that the server modifies
  kErrors,       // and kErrors + code
};
inline constexpr size_t kCodes = static_cast<size_t>(Code::kWrongType) + 1;
inline constexpr size_t kCounts = static_cast<size_t>(Count::kErrors) + kCodes;
using Counts = std::array<uint64_t, kCounts>;

constexpr size_t IndexOf(Count count) { return static_cast<size_t>(count); }
constexpr size_t IndexOf(Code code) { return IndexOf(Count::kErrors) + static_cast<size_t>(code); }

// Written by one client process after another; each begins with zeros.
struct ClientReport {
  std::array<std::atomic<uint64_t>, kCounts> counts{};
  std::atomic<uint64_t> parked_at = 0;  // the barrier's number at which the client waits
  std::atomic<bool> connected = false;
  std::atomic<bool> is_lie = false;    // `lie` is written
  std::array<char, kTextBytes> lie{};  // the first value that did not prove itself
};

// Clients run while the barrier's number is even, and wait while it is odd: parked_at says who does.
struct RunMemory {
  Plan plan;
  alignas(64) std::atomic<uint64_t> barrier = 1;
  std::atomic<bool> stop = false;
  std::atomic<uint32_t> history = 0;  // changes only while all are parked
  std::atomic<uint32_t> life = 0;     // likewise: of the server, with a log that may lose something
  std::atomic<uint64_t> keys_open = 0;  // of plan.keys, those in use
  ModifiedState modified;
  std::array<ClientReport, kClientsMax> reports;
  std::array<OperationRing, kClientsMax + 1> rings;  // committed as used; one for the tool
  std::array<TransactionRing, kClientsMax + 1> transaction_rings;  // likewise
};

// Maps it; the memory is that of a file descriptor without a name.
class RunMapping {
 public:
  static std::expected<RunMapping, Error> Create();
  static std::expected<RunMapping, Error> Open(int fd);
  RunMapping(RunMapping&& other) noexcept;
  RunMapping& operator=(RunMapping&&) = delete;
  ~RunMapping();

  RunMemory* memory() const { return memory_; }
  int fd() const { return fd_; }

 private:
  RunMapping(int fd, RunMemory* memory) : fd_(fd), memory_(memory) {}

  int fd_;
  RunMemory* memory_;
};

// CLOCK_MONOTONIC, which all processes share, in nanoseconds; without what SetClockShift says.
Instant Now();

// This process's clock is ahead of the others' by so much, from the next Now() on.
void SetClockShift(std::chrono::seconds ahead);

// Copies what fits, with a 0 at the end.
void SetText(std::string_view text, std::span<char, kTextBytes> to);

}  // namespace plov::torture
