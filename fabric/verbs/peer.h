// Peer: one client of a port: its queue pair, its receive buffers, what it has announced.
//
// Each peer has receive buffers of its own, as many as it may have messages on their way, and not a
// share of a shared receive queue. For "receiver not ready" never to be said to an honest client, a
// shared queue needs as many buffers as all credits together, so it would save none; and its
// buffers could be used up by one peer that sends more than it may, which a card does not know, or
// be lost with a queue pair that dies in the middle of a message (InfiniBand Architecture
// Specification, volume 1, 10.3.1). A peer that sends more than its credits only waits for itself.
//
// A peer that only READs has no buffers, and one work request: that which asks whether it is alive.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "fabric/fabric.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/port_device.h"
#include "fabric/verbs/qp.h"
#include "fabric/verbs/reply_pool.h"
#include "fabric/verbs/wire.h"

namespace plov::fabric::verbs {

inline constexpr uint32_t kRequestBuffers = kCredits;
// READs of staging memory, and as many replies that are not known to have arrived: a few more than
// between two that are signalled.
inline constexpr uint32_t kPeerSends = 32;
inline constexpr QpSizes kPeerSizes = {.sends = kPeerSends, .receives = kRequestBuffers};
inline constexpr QpSizes kReaderSizes = {.sends = 1, .receives = 0};

// What a completion says of itself (wr_id): whose it is, and which buffer or work request.
struct CompletionTag {
  PeerId peer;
  bool is_receive;
  uint32_t number;  // of receives the buffer, of sends the low bits of the work request's number

  uint64_t Pack() const { return peer << 24 | (is_receive ? kReceiveBit : 0) | (number & kNumber); }
  static CompletionTag Of(uint64_t wr_id) {
    return {wr_id >> 24, (wr_id & kReceiveBit) != 0, static_cast<uint32_t>(wr_id & kNumber)};
  }

 private:
  static constexpr uint64_t kReceiveBit = uint64_t{1} << 23;
  static constexpr uint64_t kNumber = kReceiveBit - 1;
};

class Peer {
 public:
  struct Message {
    uint32_t buffer;
    uint32_t bytes;
  };
  struct ReadDone {
    uint64_t tag;
    bool ok;
  };

  // Ready to be connected: the buffers are posted.
  static std::expected<std::unique_ptr<Peer>, Error> Create(PeerId number, rdma_cm_id* id,
                                                            PortDevice* device, QpSizes sizes);
  ~Peer();

  PeerId number() const { return number_; }
  Qp& qp() { return qp_; }
  uint64_t client_id() const { return client_id_; }
  // Who it is; from here on the identifier is the peer's.
  void Introduce(CmId id, uint64_t client_id, const TakenClaim& claim, uint64_t staging_bytes) {
    id_ = std::move(id);
    client_id_ = client_id;
    claim_ = claim;
    staging_bytes_max_ = staging_bytes;
  }

  // All that follow: false when the peer broke the protocol or its queue pair, and has to go.
  bool OnReceive(const ibv_wc& completion);
  // Appends the READs of its staging memory that are done to `done`; gives buffers back.
  bool OnSent(uint32_t number, PortDevice* device, std::deque<std::pair<PeerId, ReadDone>>* done);
  bool Reply(std::span<const std::byte> message, ReplyPool* pool);
  // Once in a while: a peer that has been silent since the last call is asked for a sign of life.
  bool AskWhetherAlive();
  // Posts the next slice of the READs that wait, if there is room for it; needs has_reads().
  enum class Slice { kPosted, kWaits, kBroken };
  Slice PostSlice(Slices* slices, std::deque<std::pair<PeerId, ReadDone>>* done);

  void QueueRead(const PeerRead& read) { waiting_.push_back({read, 0}); }
  bool has_reads() const { return !waiting_.empty(); }
  bool has_message() const { return !messages_.empty(); }
  // Copies the next message out and posts its buffer again; the copy, which lasts as long as `to`,
  // of kMessageBytesMax. nullopt when the queue pair is broken.
  std::optional<std::span<const std::byte>> TakeMessage(std::span<std::byte> to);
  void Abandon(PortDevice* device);

  bool owes_reply = false;
  Admission::Place place;
  bool may_write = true;
  bool never_writes = false;

  bool reads_only() const { return sizes_.receives == 0; }
  // That a port's queue must have room for.
  uint32_t completions() const { return sizes_.completions(); }
  // What the server's process takes for it: its buffers, and what a queue pair's driver maps,
  // librdmacm and we keep. Measured with rxe: 182 KiB, and 13 KiB of one that only READs.
  uint64_t bytes() const { return (reads_only() ? uint64_t{16} : uint64_t{192}) << 10; }

 private:
  struct Posted {
    enum class Kind : uint8_t { kInlineReply, kReply, kRead, kProbe } kind;
    uint32_t detail;  // the reply's buffer, or the READ's slice
  };

  Peer(PeerId number, QpSizes sizes) : number_(number), sizes_(sizes) {}
  uint64_t PinnedBytes() const { return uint64_t{sizes_.receives} * kMessageBytesMax; }
  bool PostAgain(uint32_t buffer);
  std::span<const std::byte> BytesOf(const Message& message) const;
  bool Announce(const ibv_wc& completion);
  bool InStaging(const PeerRead& read) const;
  uint64_t TagOfNext() const;

  PeerId number_;
  QpSizes sizes_;
  uint64_t client_id_ = 0;
  TakenClaim claim_;
  uint64_t staging_bytes_max_ = 0;
  CmId id_;
  RegisteredPages requests_;
  Qp qp_;
  std::optional<Announcement> staging_;
  bool has_sent_message_ = false;
  bool silent_ = false;  // since AskWhetherAlive
  bool asked_ = false;   // a probe is on its way
  std::deque<Message> messages_;
  struct Waiting {
    PeerRead read;
    uint64_t posted;  // bytes
  };
  std::deque<Waiting> waiting_;
  std::deque<Posted> posted_;
  uint64_t retired_ = 0;  // work requests that are done; posted_ are those after
  uint32_t unsignaled_ = 0;
};

}  // namespace plov::fabric::verbs
