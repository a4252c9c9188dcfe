// CommitLog: where a shard's operations go before they are acknowledged, or in strict mode published: to a disk
// (log/group_commit.h), or to the shard's other replicas (server/replicated_log.h).
//
// It takes operations in batches, numbered from 1, and says up to which one they are durable.
//
// Threads: the shard's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "verify/log.h"

namespace plov::log {

enum class CommitMode : uint8_t {
  kStrict,  // published when durable, then acknowledged
  kAcked,   // published, acknowledged when durable
  kAsync,   // published and acknowledged; durable within the interval
};

// Memory of a long value, which is not zeroed first.
struct Piece {
  std::unique_ptr<std::byte[]> memory;
  size_t bytes = 0;

  static Piece OfBytes(size_t bytes) {
    return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  }
};

class CommitLog {
 public:
  virtual ~CommitLog() = default;

  // Copies the operation; or, of a long value, takes the piece that holds it and no `operation.value`. The caller has
  // asked whether there is room. Versions grow. Returns the number of the batch that it will be in.
  virtual uint64_t Append(const verify::Logged& operation, Piece value = {}) = 0;
  // The last batch that has an operation, open or passed on; 0: there is none.
  virtual uint64_t last_batch() const = 0;
  // The one that the next operation goes to.
  virtual uint64_t open_batch() const = 0;
  // With which replay begins of who has what the table has now. first_pending: the batch of the oldest operation that is
  // appended and not in the table.
  virtual uint64_t BeginSnapshot(uint64_t first_pending) {
    return std::min(first_pending, open_batch());
  }
  // When the newest operation was appended, microseconds since 1970; 0: that is not known.
  virtual uint64_t latest_time_us() const { return 0; }
  // The greatest batch that is durable. Acquire.
  virtual uint64_t durable() const = 0;
  // What was appended so far becomes durable soon. Returns the batch to wait for.
  virtual uint64_t RequestSync() = 0;
};

}  // namespace plov::log
