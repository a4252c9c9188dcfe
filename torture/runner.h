// Runner: one run, from the start of its server to the evidence it leaves.
//
//   runner ──forks──► plovd                 ┌──────────── run memory ────────────┐
//       │     ──forks──► client processes ───► │ rings of operations, counters      │
//       │                                      └──────────────┬─────────────────────┘
//       └── thread: auditor ◄── takes operations, checks them ┘
//
// A history ends when the server begins an empty life, and when so many writes got no answer that
// what they may still do would slow the checker down: then all clients are parked, so that every
// operation belongs to one history, and go on with keys of other names.
//
// Threads: all calls by the main thread.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "torture/auditor.h"
#include "torture/choices.h"
#include "torture/fleet.h"
#include "torture/run_memory.h"
#include "torture/survey.h"
#include "torture/target.h"
#include "torture/verdict.h"

namespace plov::torture {

class Runner {
 public:
  // Starts server and clients. SIGINT, SIGTERM and SIGHUP are blocked by the caller: they end the
  // run early. Errors: what keeps the run from starting.
  static std::expected<std::unique_ptr<Runner>, Error> Create(const ToolOptions& options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Errors: the server is gone, or does not start again.
  std::expected<Evidence, Error> Run();

 private:
  using Clock = std::chrono::steady_clock;

  Runner(const ToolOptions& options, RunMapping mapping, std::unique_ptr<Target> target,
         uint32_t run);
  RunMemory* memory() { return mapping_.memory(); }
  double seconds() const;

  // runner.cc
  bool IsOver();
  std::expected<void, Error> Tick();
  void OpenKeys();
  void ShowProgress();
  std::expected<void, Error> BeginHistory();
  bool EndHistory();
  void Wrong(std::string what);
  void BeginKeys();
  bool DeleteKeys(uint32_t history);
  Evidence Finish();

  // injector.cc
  void Schedule();
  std::expected<void, Error> Inject(Fault fault);
  void InjectStop();
  std::expected<void, Error> InjectIntoCluster(Fault fault);
  std::expected<void, Error> InjectKillServer();
  std::expected<void, Error> InjectKillLogged();
  std::expected<void, Error> InjectRestart();
  std::expected<void, Error> InjectLoss();
  std::expected<void, Error> LookAtPrimaries();
  std::expected<void, Error> LookAtKeysInHistory();
  std::expected<void, Error> LookAtKeys(const Survey::Take& take);
  std::expected<std::vector<TransactionRecord>, Error> LookAtTransactions();
  std::expected<void, Error> InjectEmptyLife();
  void InjectFull();
  std::chrono::microseconds Draw(std::chrono::microseconds least, std::chrono::microseconds most);

  ToolOptions options_;
  RunMapping mapping_;
  std::unique_ptr<Target> target_;
  Auditor auditor_;
  Fleet fleet_;
  program::Random random_;
  Evidence evidence_;
  std::vector<Fault> round_;  // to be injected next, the last first
  uint64_t kills_ = 0;        // of the server
  Instant began_ = Now();     // before the first operation
  Clock::time_point start_;
  Clock::time_point end_;
  Clock::time_point next_fault_;
  Clock::time_point next_progress_;
  uint64_t shown_ = 0;  // operations that were checked at the last line of progress
};

}  // namespace plov::torture
