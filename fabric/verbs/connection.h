// The client's end of the verbs fabric.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "fabric/fabric.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/qp.h"
#include "fabric/verbs/read_queue.h"
#include "fabric/verbs/wire.h"

namespace plov::fabric::verbs {

// One more than may be on their way: the one that Receive gave out last is posted again later.
inline constexpr uint32_t kReplyBuffers = kCredits + 1;
inline constexpr uint32_t kSendBuffers = kCredits;
// READs of the largest depth in two pieces each, sends and announcements.
inline constexpr uint32_t kWorkRequestsMax = 160;

// What the set-up (connect.cc) makes, in the order of making. Destroyed in reverse: the queue pair
// before the memory that it uses.
struct ClientParts {
  EventChannel channel;
  CmId id;
  Device device;  // none where the one that librdmacm has opened will do
  Pd pd;
  CompletionChannel completions;
  Cq cq;
  RegisteredPages replies;  // kReplyBuffers; like `sends`, none of one that only READs
  RegisteredPages sends;    // kSendBuffers
  RegisteredPages bounce;
  Qp qp;
  Fd epoll;
  Fd timer;
  ReadDepths depths;
  RemoteRegion region;
  uint64_t staging_bytes = 0;
  bool reads_only = false;

  QpSizes sizes() const {
    return {.sends = kWorkRequestsMax, .receives = reads_only ? 0 : kReplyBuffers};
  }
  // Everything but memory, channel and epoll; from then on the device does nothing for us.
  void ReleaseDevice();
};

class VerbsConnection final : public Connection {
 public:
  explicit VerbsConnection(ClientParts parts);
  ~VerbsConnection() override;

  // Before the peer can send: posts the receive buffers, registers small staging memory.
  std::expected<void, Error> Open();
  // Once both sides are connected.
  void Begin();

  const Limits& limits() const override { return limits_; }
  size_t Read(std::span<const ReadOp> batch) override;
  size_t Poll(std::span<Completion> completions) override;
  bool Send(std::span<const std::byte> message) override;
  std::optional<std::span<const std::byte>> Receive() override;
  std::expected<std::span<std::byte>, Error> staging() override;
  bool alive() const override { return !dead_; }
  int fd() const override { return parts_.epoll.get(); }
  bool Arm() override;

 private:
  // A work request that was posted; they complete in order.
  enum class Posted : uint8_t { kRead, kInlineSend, kSend, kProbe };
  struct Reply {
    uint32_t buffer;
    uint32_t bytes;
  };

  bool HasRoom() const { return posted_ - retired_ < kWorkRequestsMax; }
  bool Signals(bool must);
  void PostReads();
  bool PostSend(std::span<const std::byte> bytes, bool announces);
  bool PostReply(uint32_t buffer);
  bool AnnounceStaging();
  void PollCompletions();
  void OnCompletion(const ibv_wc& completion);
  void Retire(uint64_t number);
  void LookAtEvents();
  void AskWhetherAlive();
  void Die();

  ClientParts parts_;
  Limits limits_;
  ReadQueue reads_;
  RegisteredPages staging_;
  bool staging_announced_ = false;
  std::array<Posted, kWorkRequestsMax> kinds_;
  uint64_t posted_ = 0;   // work requests ever
  uint64_t retired_ = 0;  // of which is known that they are done
  uint32_t unsignaled_ = 0;
  uint64_t sends_posted_ = 0;  // those that hold a buffer
  uint64_t sends_done_ = 0;
  std::deque<Reply> received_;
  std::optional<uint32_t> held_;  // the buffer that Receive gave out
  uint32_t unanswered_ = 0;
  bool announcement_on_its_way_ = false;  // no reply has come since
  uint32_t empty_polls_ = 0;
  bool armed_ = false;
  bool timer_runs_ = false;
  bool asked_ = false;  // a probe is on its way
  bool dead_ = false;
};

}  // namespace plov::fabric::verbs
