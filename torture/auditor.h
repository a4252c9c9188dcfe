// Auditor: takes the operations out of the rings and has them checked, in a thread of its own.
//
//   Auditor auditor(memory, clients);
//   auditor.Open(client);    before its process starts
//   auditor.Close(client);   when its process has ended: what it had under way is unknown
//   auditor.EndHistory();      when all are parked: what comes then is a history of its own
//   auditor.EndLife(restart, survey);   likewise: the server was killed and is there again
//
// Memory: 24 bytes a key, the recent operations, and what is open. When more is open than
//         kHeldMax, because one operation does not end, only the ring that this one is in is
//         looked at, so that the others' clients wait.
// Threads: the calls are made by one thread, and wait until the auditor's thread has done them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "torture/interval_checker.h"
#include "torture/life_checker.h"
#include "torture/run_memory.h"
#include "torture/stale_counter.h"
#include "torture/transaction_auditor.h"

namespace plov::torture {

// What was checked so far. Operations by kind and outcome.
struct Audited {
  static constexpr size_t kKinds = 7;
  static constexpr size_t kOutcomes = 6;

  std::array<std::array<uint64_t, kOutcomes>, kKinds> operations{};
  uint64_t histories = 0;
  uint64_t undecided = 0;  // keys
  uint64_t violations = 0;
  uint64_t gone_back = 0;        // keys, at restarts
  uint64_t replica_gets = 0;     // GETs of any replica that were answered
  uint64_t stale_gets = 0;       // those of them that found what had been overwritten
  std::vector<Violation> found;  // the first of them, of keys
  TransactionTally transactions;

  uint64_t total() const;
  uint64_t of(Outcome outcome) const;
  uint64_t of(Kind kind, Outcome outcome) const {
    return operations[static_cast<size_t>(kind)][static_cast<size_t>(outcome)];
  }
};

class Auditor {
 public:
  static constexpr size_t kHeldMax = size_t{1} << 20;  // operations and the like: 100 MiB
  static constexpr size_t kFoundMax = 8;

  // lives:   of a server with a log that is killed and goes on with it.
  // max_age: of what the clients' GETs find (IntervalOptions).
  Auditor(RunMemory* memory, size_t clients, std::optional<LifeChecker> lives = {},
          Instant max_age = 0);
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;
  ~Auditor();

  void Open(size_t client);
  void Close(size_t client);
  void EndHistory();
  // survey: a GET of every key, before clients go on; found: of transactions what their keys hold. Only where there are
  // `lives`.
  void EndLife(Instant restart, std::span<const Operation> survey,
               std::span<const TransactionRecord> found = {});
  // Of a restart that loses nothing: operations may reach over it.
  void NoteRestart(Instant restart);

  // Of operations, violations, and of the history under way what is held and got no answer.
  uint64_t checked() const { return checked_.load(std::memory_order_relaxed); }
  uint64_t violations() const { return violations_.load(std::memory_order_relaxed); }
  uint64_t unknown() const {
    return unknown_.load(std::memory_order_relaxed) +
           unknown_transactions_.load(std::memory_order_relaxed);
  }
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }

  // After the last EndHistory.
  const Audited& audited() const { return audited_; }

 private:
  void Run();
  void Do(std::function<void()> task);
  bool RunTask();
  size_t TakeAll();
  void Feed(const Operation& operation);
  void Finish();
  size_t TakeTransactions();
  void NoteTransactions();
  void Collect();
  void Take(Violation violation);

  RunMemory* memory_;
  IntervalOptions rules_;
  std::vector<bool> open_;  // by client
  std::optional<IntervalChecker> checker_;
  std::optional<LifeChecker> lives_;
  std::optional<StaleCounter> stale_;  // of the history under way, with a max_age
  std::optional<TransactionAuditor> transactions_;
  std::vector<Restart> restarts_;  // of the history under way
  Audited audited_;
  uint64_t fed_ = 0;
  uint64_t looks_ = 0;
  std::atomic<uint64_t> checked_ = 0;
  std::atomic<uint64_t> violations_ = 0;
  std::atomic<uint64_t> unknown_ = 0;
  std::atomic<uint64_t> unknown_transactions_ = 0;
  std::atomic<uint64_t> held_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // under mutex_; empty: none waits
  bool stop_ = false;           // under mutex_
  std::thread thread_;          // last, so that it starts when all else is there
};

}  // namespace plov::torture
