// ReplicatedLog: a shard's operations as the entries of its stream (cluster/stream.h): what is appended in one turn is
// one entry, and durable is what all replicas hold.
//
// An entry is a word whose first byte says what it holds, and operations as in a log's batch; or, for a replica that joins,
// items or sessions as in a block of a snapshot. A batch's number is its entry's.
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "log/commit_log.h"

namespace plov::server {

enum class EntryHolds : uint8_t {
  kOperations = 1,
  kSessions = 2,
  kAllSessions = 3,  // of a client without one no write was ever applied
  kItems = 4,
};

class ReplicatedLog final : public log::CommitLog {
 public:
  uint64_t Append(const verify::Logged& operation, log::Piece value = {}) override;
  uint64_t last_batch() const override { return entry_.empty() ? last_ : last_ + 1; }
  uint64_t open_batch() const override { return last_ + 1; }
  uint64_t durable() const override { return durable_; }
  uint64_t RequestSync() override { return last_batch(); }
  size_t open_bytes() const { return entry_.size(); }

  // Entries of their own: need open_bytes() 0, and a TakeEntry at once.
  void AppendItems(std::span<const std::byte> operations);
  void AppendSessions(std::span<const verify::LoggedSession> sessions, bool are_all);

  // The stream has so many entries, all of them published.
  void Begin(uint64_t entries) { last_ = durable_ = entries; }
  // All that was appended since the last Begin or TakeEntry; empty: nothing was.
  std::string TakeEntry() {
    last_ = last_batch();
    return std::exchange(entry_, {});
  }
  void SetDurable(uint64_t entry) { durable_ = entry; }

 private:
  std::byte* Extend(size_t bytes);

  std::string entry_;  // open
  uint64_t last_ = 0;  // that was taken
  uint64_t durable_ = 0;
};

}  // namespace plov::server
