// SendQueue: work requests of one queue pair: posted in batches with one doorbell, completions
// asked for now and then, room known by what has completed.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <expected>
#include <vector>

#include "fabric/verbs/memory.h"
#include "verify/error.h"

namespace plov::bench {

using QueuePair = std::unique_ptr<ibv_qp, fabric::verbs::FreeBy<ibv_destroy_qp>>;

class SendQueue {
 public:
  // depth: work requests that the queue pair takes. The queue pair and its completion queue of
  // sends outlive this.
  SendQueue(ibv_qp* qp, uint32_t depth);

  // Adds a work request of one gather element to the next batch; `tag` comes back from
  // Poll once it is done, when it is not kNoTag. May wait for room.
  static constexpr uint64_t kNoTag = UINT64_MAX;
  std::expected<void, Error> Add(ibv_send_wr request, const ibv_sge& memory, uint64_t tag = kNoTag);

  // Posts the batch.
  std::expected<void, Error> Flush();

  // Appends the tags of what has completed.
  std::expected<void, Error> Poll(std::vector<uint64_t>* tags);

 private:
  std::expected<void, Error> Collect();

  ibv_qp* qp_;
  uint32_t depth_;
  uint64_t posted_ = 0;
  uint64_t retired_ = 0;
  uint32_t unsignaled_ = 0;
  bool batch_is_awaited_ = false;
  std::vector<ibv_send_wr> batch_;
  std::vector<ibv_sge> memory_;
  std::vector<uint64_t> tags_;  // of all in flight, a ring
  std::vector<uint64_t> done_;
};

}  // namespace plov::bench
