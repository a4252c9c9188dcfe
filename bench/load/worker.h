// Worker: one client of a load, in a process of its own (process_pool.h).
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/load/driver.h"
#include "bench/load/process_pool.h"
#include "bench/load/source.h"

namespace plov::bench {

class Worker {
 public:
  // Connects. Errors: the client's. workload, options and shared outlive it.
  static std::expected<Worker, Error> Create(const Workload& workload, const DriveOptions& options,
                                             uint32_t index, Shared* shared);

  // Stores its part of the items.
  std::expected<void, Error> Load();

  // Warms up, waits for the others, and measures.
  std::expected<Result, Error> Measure();

 private:
  Worker(Client client, const Workload& workload, const DriveOptions& options, uint32_t index,
         Shared* shared);

  // Makes the next operations; false: there are none.
  bool Prepare();
  bool MayGoOn() const { return shared_->stopping.load(std::memory_order_relaxed) == 0; }
  void Announce(size_t first, size_t count);

  std::expected<void, Error> RunClosed(int64_t end_ns);
  std::expected<void, Error> RunOpen(int64_t start_ns, int64_t end_ns);
  std::expected<void, Error> Do(size_t first, size_t count);

  // Each counts what it did.
  void DoOne(size_t at);
  void GetTogether(size_t first, size_t count);
  void PutTogether(size_t first, size_t count);
  void IncrementTogether(size_t first, size_t count);
  void Get(const Operation& operation);
  void Write(const Operation& operation, Version version);
  void TakeGet(const Operation& operation, const Client::GetResult& result);
  void TakeWrite(const Error& error);
  void TakeNumber(const Client::IncrementResult& result);
  void Count(size_t at, int64_t began_ns);
  void CountSlice(int64_t now_ns, size_t count);

  Client client_;
  const Workload& workload_;
  const DriveOptions& options_;
  uint32_t index_;
  Shared* shared_;
  Source source_;

  // Prepared, and when each is due (open loop).
  std::vector<Operation> operations_;
  std::vector<int64_t> due_ns_;
  size_t prepared_ = 0;
  size_t next_ = 0;
  // Of those that are handed over together.
  std::vector<std::string_view> keys_;
  std::vector<PutItem> items_;
  std::vector<IncrementItem> increments_;
  std::vector<size_t> places_;

  Result result_;
  std::optional<Error> error_;
  int64_t now_ns_ = 0;    // as last looked at
  int64_t start_ns_ = 0;  // of what is measured
  int64_t busy_ns_ = 0;   // in calls
  int64_t slice_ns_ = 0;  // length of a slice; 0: they are not counted
};

}  // namespace plov::bench
