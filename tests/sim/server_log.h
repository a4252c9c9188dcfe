// Server log: the disk of a simulated host, and what its server's process has of the log on it. The threads
// that plovd has for a log are none here: Step is one thing that one of them does.
//
// The disk outlives processes. Killed, one leaves what it has written; when the power goes, what was synced
// and anything of the rest; one that is stopped writes all it has first.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <random>

#include "server/durable_log.h"
#include "server/shard.h"
#include "tests/log/simulated_disk.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"

namespace plov::sim {

enum class Death : uint8_t { kKilled, kPowerCut, kStopped };

class ServerLog {
 public:
  ServerLog(const LogScenario& scenario, Random* random);

  // A process begins: reads heads. The log that the shard's store is restored from.
  std::expected<server::DurableLog*, Error> Open();
  // Restores the shard, and begins a segment for it.
  std::expected<void, Error> Begin(server::Shard* shard);

  // Of a beginning that failed: the power has gone, and the next one is to be tried, after Close.
  bool WasCut();

  // Of the last beginning: the last version that was left, and whether a snapshot was.
  uint64_t cut() const { return cut_; }
  bool had_snapshot() const { return had_snapshot_; }
  // The last batch that was left, and the one that the life before must have left, for it was written.
  uint64_t kept_batch() const { return kept_batch_; }
  uint64_t written_batch() const { return written_batch_; }

  // One thing that the log's thread or the snapshots' does, or that befalls the disk; false: nothing did.
  bool Step();
  // The shard has had its turn.
  void OnTurn();
  // All that the store has appended becomes durable and is published.
  void Settle(server::Store* store);

  // The power goes in the middle of what the disk does so many calls from now, or at its end.
  void CutAfter(uint64_t calls);
  bool power_is_gone() const { return is_cut_ && disk_->calls() > cut_at_; }
  // The process is dead. After it the shard must go, and then Close.
  void Die(Death death);
  void Close() { log_.reset(); }

  // Of all lives.
  uint64_t faults() const { return faults_; }
  uint64_t snapshots() const { return snapshots_; }

 private:
  log::GroupCommit* commit() { return log_->of_shard(0); }
  void Trouble();
  void BeginFault();
  void FindCut();

  LogScenario scenario_;
  Random* random_;
  test::SimulatedDisk::Random losses_;
  std::unique_ptr<test::SimulatedDisk> next_disk_;  // between two lives
  test::SimulatedDisk* disk_ = nullptr;             // the log's
  std::unique_ptr<server::DurableLog> log_;
  uint64_t cut_ = 0;
  uint64_t kept_batch_ = 0;
  bool had_snapshot_ = false;
  // Batches: the last one that the log's thread was handed when the shard had had its turn, that it
  // was seen to have written, and that the life must leave.
  uint64_t passed_on_ = 0;
  uint64_t written_ = 0;
  uint64_t written_batch_ = 0;
  bool is_cut_ = false;
  uint64_t cut_at_ = 0;  // of the disk's calls
  bool is_faulty_ = false;
  uint64_t faults_ = 0;
  uint64_t snapshots_ = 0;
};

}  // namespace plov::sim
