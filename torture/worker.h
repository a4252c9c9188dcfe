// Worker: a client process of the tool. It uses the public API and nothing else of the store, and
// writes every operation into its ring before and after.
//
// Operations go out in batches; all of a batch start at one instant, and each ends when its
// callback runs. Single ones have the shortest intervals, so they are the sharpest; batches make
// the load.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torture/choices.h"
#include "torture/expiries.h"
#include "torture/key_names.h"
#include "torture/modified.h"
#include "torture/run_memory.h"
#include "torture/standing.h"
#include "torture/transactions.h"

namespace plov::torture {

class Worker {
 public:
  // index: of its ring; process: its number in the run.
  Worker(RunMemory* memory, size_t index, uint32_t process);

  // Works until the run is stopped.
  void Work();

 private:
  static constexpr size_t kGetsPerBatch = 64;
  static constexpr size_t kStoresPerBatch = 32;
  static constexpr size_t kAsyncPerBatch = 32;
  static constexpr size_t kGetIntosPerBatch = 16;
  static constexpr size_t kTransactionsPerBatch = 8;

  bool stopped() const { return memory_->stop.load(std::memory_order_relaxed); }
  // std::nullopt when the run is stopped first. Each try has so many times the timeout of the one before.
  std::optional<Client> Connect(std::chrono::microseconds timeout, int growth = 1);
  bool AwaitRoom();
  bool AwaitRun();
  bool IsParked();
  bool IsAwaited() const;
  void Rest();
  void RunBatch(Form form);
  void PauseInGet();
  void WorkToDeadline();
  void GetStanding();
  void Modify();
  void Transact();
  void PauseInSnapshot();
  void Lie(std::string text);

  // The batch being made: entries of the ring, with their keys and values.
  void Name(size_t index);
  size_t Fill(size_t index);
  void Issue(size_t count);

  void GetMany();
  void PutMany();
  void Async();
  void Start(size_t index, size_t* left);
  void Single();
  void GetInto();
  Client::GetResult Get(bool into);

  void OnGet(const Client::GetResult& result, Operation* operation);
  template <typename Result>
  void OnWrite(const Result& result, size_t index);
  void CountError(Code code);
  void Report();

  RunMemory* memory_;
  OperationRing& ring_;
  TransactionRing& transaction_ring_;
  ClientReport& report_;
  Choices choices_;
  uint32_t process_;
  uint32_t history_ = 0;
  uint32_t life_ = 0;
  uint64_t keys_open_ = 0;
  uint64_t batches_ = 0;
  std::optional<Client> client_;
  std::optional<Client> short_deadline_;  // its calls have microseconds
  std::optional<Expiries> expiries_;
  std::optional<Standing> standing_;
  std::optional<Modified> modified_;
  std::optional<Transactions> transactions_;
  std::vector<KeyName> names_;
  std::vector<std::string_view> keys_;
  std::vector<std::string> values_;
  std::vector<PutItem> items_;
  std::vector<std::byte> buffer_;
};

// The process that the tool starts, `plov-torture worker FD CLIENT PROCESS`: its exit status.
int RunWorker(int argc, char** argv);

}  // namespace plov::torture
