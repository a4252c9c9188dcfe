// Transaction: commands that take effect together or not at all: EXEC, and MSETNX.
//
// It reads all keys that its steps concern and that are watched, runs the steps on what it read, and commits what they
// made of it, if all that it read still stands. Where it does not, it reads and runs them again.
//
// Threads: a worker's.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "door/redis/lone_request.h"
#include "door/redis/multi.h"
#include "door/redis/reply.h"
#include "door/redis/step.h"
#include "door/redis/transaction_items.h"

namespace plov::door::redis {

inline constexpr std::string_view kCrossSlot =
    "CROSSSLOT Keys in request don't hash to the same slot";

struct RedisOptions;

class Transaction final : public LoneRequest {
 public:
  // What came of it.
  struct Outcome {
    bool is_there = false;
    bool took_effect = false;
  };
  struct Content {
    // May be nullptr. Stays until it is over, with what the steps refer to.
    std::shared_ptr<Outcome> outcome;
    Steps steps;
    // What precedes their replies.
    std::string heading;
    // nullptr: no keys are watched.
    std::shared_ptr<const Watches> watches;
    // That the steps and what they refer to have allocated.
    size_t bytes = 0;
  };

  Transaction(Content content, Resp resp, const RedisOptions* options);

  void Start(Worker* worker) override;
  size_t bytes() const override { return sizeof(*this) + reserved_bytes_; }

 private:
  using Clock = std::chrono::steady_clock;

  void WantKeys();
  void Read();
  void TakeRead(size_t i, const Client::GetResult& result);
  void GoOn();
  bool WatchesStand() const;
  // Whether all steps have run; else it has ended.
  bool RunSteps();
  void Commit();
  void TakeCommitted(const Client::PutResult& result);
  void CountWrites();
  // Whether that is within the budget, beside what it has.
  bool HasMemory(size_t more_bytes);
  void End();
  void EndWell();
  void EndWithNull();
  void EndWithError(std::string_view text);
  void EndWithFailure(const Error& error);

  const Content content_;
  const Resp resp_;
  const RedisOptions* const options_;
  Worker* worker_ = nullptr;
  Clock::time_point deadline_;
  TransactionItems items_;
  size_t reserved_bytes_;
  size_t left_ = 0;  // reads under way
  std::optional<Error> error_;
};

}  // namespace plov::door::redis
