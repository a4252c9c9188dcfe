// Result: the result of a load, of one client or of all.
#pragma once

#include <plov/client.h>

#include <array>
#include <cstdint>
#include <vector>

#include "bench/load/histogram.h"
#include "bench/load/operation.h"
#include "program/json.h"

namespace plov::bench {

struct Result {
  // Of Result::slices there are this many, equal parts of the time.
  static constexpr size_t kSlices = 50;

  std::array<Histogram, kKinds> latencies;  // of each kind's operations
  uint64_t hits = 0;                        // GETs, also those of operations that modify
  uint64_t misses = 0;
  uint64_t refused = 0;        // writes whose condition did not hold: add, replace, delete, cas
  ClientStats stats;           // while it was measured, summed
  double per_second = 0;       // operations; of several clients their sum
  double seconds = 0;          // from the start to the last end
  double cpu_seconds = 0;      // of clients' processes
  uint64_t late_starts = 0;    // open loop: begun later than the next one was due
  uint64_t never_started = 0;  // open loop: due, and not begun when the time was over
  uint64_t inserted = 0;       // new items that every client has in common
  std::vector<uint64_t> slices = std::vector<uint64_t>(kSlices);  // operations

  uint64_t operations() const;
  Histogram latency() const;  // of all operations
  double reads_per_get() const;
  uint64_t missed_starts() const { return late_starts + never_started; }

  // That of a client that ran beside.
  void AddClient(const Result& other);
  // That of a later round, whose rate and time are its own: they are left alone.
  void AddCounts(const Result& other);
};

// What a client's process sends to the one that started it.
program::Json EncodeResult(const Result& result);
Result DecodeResult(const program::Json& json);

// ClientStats as an object, by their names.
program::Json JsonOf(const ClientStats& stats);
// What was added to `before`.
ClientStats Difference(const ClientStats& after, const ClientStats& before);

}  // namespace plov::bench
