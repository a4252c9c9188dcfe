// ReplicaLog: a replica's log on disk: what cluster::Replica gives to be kept, one after the other, and the snapshots
// after which what lies before is needed no more.
//
// A snapshot has what the replica has published. With it goes what the replica holds beside that, which is given to the
// log when the snapshot begins, and with which replay begins.
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "cluster/stream.h"
#include "cluster/stream_message.h"
#include "log/commit_log.h"
#include "server/log_writer.h"

namespace plov::server {

class ReplicaLog final : public log::CommitLog {
 public:
  // last: the number of the last of what former lives gave.
  ReplicaLog(std::unique_ptr<LogWriter> writer, const cluster::StreamId& stream, uint64_t last)
      : writer_(std::move(writer)), stream_(stream), last_(last) {}

  // Of Replica::Everything; before the first snapshot.
  void SetSource(std::function<cluster::Append()> everything) {
    everything_ = std::move(everything);
  }

  void Keep(const cluster::Append& held);
  // How many Keeps are durable.
  uint64_t kept();
  // For the end of a turn, and before the shard sleeps.
  void PassOn() { commit()->PassOn(); }

  log::GroupCommit* commit() const { return writer_->commit(); }
  log::SnapshotFeed* feed() const { return writer_->feed(); }

  // As of CommitLog, for a snapshot.
  uint64_t Append(const verify::Logged& operation, log::Piece value = {}) override {
    return commit()->Append(operation, std::move(value));
  }
  uint64_t last_batch() const override { return commit()->last_batch(); }
  uint64_t open_batch() const override { return commit()->open_batch(); }
  uint64_t BeginSnapshot(uint64_t first_pending) override;
  uint64_t latest_time_us() const override { return commit()->latest_time_us(); }
  uint64_t durable() const override { return commit()->durable(); }
  uint64_t RequestSync() override { return commit()->RequestSync(); }

 private:
  struct Given {
    uint64_t batch;
    uint64_t count;  // of all Keeps up to the last one in it
  };

  uint64_t AppendHeld(const cluster::Append& held);

  std::unique_ptr<LogWriter> writer_;
  cluster::StreamId stream_;
  std::function<cluster::Append()> everything_;
  uint64_t last_;  // number of what was appended
  uint64_t given_count_ = 0;
  uint64_t kept_count_ = 0;
  std::deque<Given> given_;  // that is not durable yet
};

}  // namespace plov::server
