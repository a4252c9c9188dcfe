// Qp: a reliable queue pair, brought up by hand and not by rdma_create_qp, so that it never allows
// more than it should: rdmacm's own way lets peers write until the flags are taken back.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>

#include "fabric/verbs/cm.h"
#include "verify/error.h"

namespace plov::fabric::verbs {

// Messages up to this go inside the work request: one DMA less, and no buffer to wait for. Most
// requests and nearly all replies of PUTs.
inline constexpr uint32_t kInlineBytes = 256;
// Of the work requests that no caller waits for, one in so many asks for a completion.
inline constexpr uint32_t kSignalEvery = 8;
inline constexpr int kCompletionsPerPoll = 16;

// A peer that answers nothing for (kRetries + 1) * 4.096 us * 2^kAckTimeout = 0.40 s is gone. 7
// retries would mean for ever on some devices (rxe).
inline constexpr uint8_t kAckTimeout = 14;
inline constexpr uint8_t kRetries = 5;
// An honest peer never answers "receiver not ready": a few tries of 0.64 ms, then the peer is gone.
inline constexpr uint8_t kRnrRetries = 6;
inline constexpr uint8_t kRnrTimer = 12;

// How often an end asks a peer that it waits for (a client for a reply), and one that is silent (a
// server all its clients), whether it is alive. The first and the time of the retries make 0.5 s.
inline constexpr std::chrono::milliseconds kAskPeriod{80};
inline constexpr std::chrono::seconds kAskSilentPeriod{1};

// A signalled READ of no bytes: nothing but an answer.
ibv_send_wr ZeroRead(uint64_t wr_id);

// Outstanding READs: that this side answers, and that it asks.
struct ReadDepths {
  uint8_t responder = 0;
  uint8_t initiator = 0;
};

// The most that a device can, bounded by what is of use.
std::expected<ReadDepths, Error> DepthsOf(ibv_context* device);

struct QpSizes {
  uint32_t sends = 0;
  uint32_t receives = 0;

  uint32_t completions() const { return sends + receives; }
};

class Qp {
 public:
  // In the state INIT: receive buffers can be posted. Only READs are allowed to the peer.
  static std::expected<Qp, Error> Create(rdma_cm_id* id, ibv_pd* pd, ibv_cq* cq, QpSizes sizes);

  // To the peer of `id`, whose REQ or REP has come; ready to receive and to send then. The depths
  // are what both sides agreed on.
  std::expected<void, Error> Connect(rdma_cm_id* id, ReadDepths depths);

  // What rdmacm has to know of a queue pair that is not its own.
  uint32_t number() const { return qp_->qp_num; }

  // Work requests linked by `next`: one doorbell. False when the device refuses.
  bool Post(ibv_send_wr* first);
  bool PostReceive(uint64_t wr_id, std::span<std::byte> buffer, uint32_t lkey);

  // From its return on the device neither answers a READ of the peer with what is in memory now,
  // nor touches memory for a request of ours: destroying a queue pair waits for both. (rxe stops
  // the queue pair's tasks, a card confirms the command; the state ERR alone would let a READ that
  // is being answered run on.) Completions that were made before may still be in the queue.
  void Destroy() { qp_.reset(); }
  explicit operator bool() const { return qp_ != nullptr; }

 private:
  std::unique_ptr<ibv_qp, FreeBy<ibv_destroy_qp>> qp_;
};

}  // namespace plov::fabric::verbs
