// ReplicatedLog: a shard's operations as the entries of its stream (cluster/stream.h): what is appended in one turn is
// one entry, in the bytes of a log's batch, and durable is what all replicas hold.
//
// A batch's number is its entry's.
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "log/commit_log.h"

namespace plov::server {

class ReplicatedLog final : public log::CommitLog {
 public:
  uint64_t Append(const verify::Logged& operation, log::Piece value = {}) override;
  uint64_t last_batch() const override { return entry_.empty() ? last_ : last_ + 1; }
  uint64_t durable() const override { return durable_; }
  uint64_t RequestSync() override { return last_batch(); }
  size_t open_bytes() const { return entry_.size(); }

  // The stream has so many entries, all of them published.
  void Begin(uint64_t entries) { last_ = durable_ = entries; }
  // All that was appended since the last Begin or TakeEntry; empty: nothing was.
  std::string TakeEntry() {
    last_ = last_batch();
    return std::exchange(entry_, {});
  }
  void SetDurable(uint64_t entry) { durable_ = entry; }

 private:
  std::string entry_;  // open
  uint64_t last_ = 0;  // that was taken
  uint64_t durable_ = 0;
};

}  // namespace plov::server
