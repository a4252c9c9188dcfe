// TableRequest: a command about all items, which another thread answers.
//
// Threads: a worker's.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "door/connection.h"
#include "door/counters.h"
#include "door/redis/lone_request.h"
#include "door/redis/reply.h"
#include "door/worker.h"

namespace plov::door::redis {

class TableRequest : public LoneRequest {
 public:
  void Start(Worker* worker) final {
    worker_ = worker;
    worker->counters().Add(Count::kOthers);
    Begin();
  }
  void Abandon() final { abandoned_->store(true, std::memory_order_relaxed); }
  size_t bytes() const override { return sizeof(*this) + reply.capacity(); }

 protected:
  // Has another thread post to the worker's mailbox what ends it.
  virtual void Begin() = 0;
  Worker* worker() const { return worker_; }
  // Whether nobody waits any more: stands alone, so relaxed.
  const std::shared_ptr<std::atomic<bool>>& abandoned() const { return abandoned_; }

  // In the worker's thread. `reply` is there.
  void End() { connection()->End(this); }
  void EndWithFailure(const Error& error) {
    worker_->counters().Add(error.code == Code::kNoSpace ? Count::kOutOfMemory : Count::kFailures);
    has_failed = true;
    reply.clear();
    AddFailure(error, &reply);
    End();
  }

 private:
  const std::shared_ptr<std::atomic<bool>> abandoned_ = std::make_shared<std::atomic<bool>>(false);
  Worker* worker_ = nullptr;
};

}  // namespace plov::door::redis
