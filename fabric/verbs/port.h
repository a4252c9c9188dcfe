// Port: one shard's end of the verbs fabric: one completion queue for all its peers, and a channel
// of rdmacm's events of its own, so that the listener's thread has no part in a connection's end.
//
//   listener's thread                     shard's thread
//     Attach(device) -------------------->  Poll takes the device, and the peers
//     Admit(connection request) --------->
//     Detach() -------------------------->  Poll closes all peers, one event each, then lets go of
//     is_attached() turns false <---------  the device and rings the listener's bell
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/verbs/cm.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/peer.h"
#include "fabric/verbs/port_device.h"

namespace plov::fabric::verbs {

// A client that the listener lets in.
struct Newcomer {
  uint64_t client_id;
  TakenClaim claim;
  Welcome welcome;
  ReadDepths depths;
  Admission::Place place;
  bool may_write = true;
  bool reads_only = false;
  bool never_writes = false;
};

class VerbsPort final : public Port {
 public:
  // detached_bell: rung when the port has let go of its device; outlives the port.
  static std::expected<std::unique_ptr<VerbsPort>, Error> Create(int detached_bell);
  ~VerbsPort() override;

  // All from the listener's thread. A device for a port that has none.
  std::expected<void, Error> Attach(std::unique_ptr<PortDevice> device);
  // Begins to let go of the device, if there is one.
  void Detach();
  // Whether there is a device: from Attach until Detach is done.
  bool is_attached();
  // Takes a connection request over and accepts it; kUnavailable of a port that has no device, or
  // is to lose it. The port knows the client before the client hears of it. Where it fails, the
  // identifier stays the caller's.
  std::expected<void, Error> Admit(CmId* id, Newcomer newcomer);

  std::optional<PortEvent> Poll() override;
  void Send(PeerId peer, std::span<const std::byte> message) override;
  void Read(PeerId peer, const PeerRead& read) override;
  void Close(PeerId peer) override;
  int fd() const override { return epoll_.get(); }
  bool Arm() override;
  void Disarm() override;
  void StayAwake() override {}
  void Wake() override { Ring(bell_.get()); }
  uint64_t connection_bytes() const override {
    return peer_bytes_ + (device_ != nullptr ? Slices::kPinnedBytes : 0);
  }

 private:
  using ReadsDone = std::deque<std::pair<PeerId, Peer::ReadDone>>;

  explicit VerbsPort(int detached_bell) : detached_bell_(detached_bell) {}

  std::expected<void, Error> Open();

  Peer* Find(PeerId id);
  Peer* FindNow(PeerId id);
  void TakeNew();
  void MarkGone(PeerId id) { gone_.push_back(id); }
  std::optional<PortEvent> TakeOpened();
  std::optional<PortEvent> TakeDoomed();
  std::optional<PortEvent> TakeRead();
  std::optional<PortEvent> TakeMessage();
  void PostReads();
  bool HasWork();
  void FinishDetach();
  void PollCompletions();
  void OnCompletion(const ibv_wc& completion);
  void LookAtEvents();
  void AskTheSilent();

  int detached_bell_;
  EventChannel events_;
  Fd epoll_;
  Fd bell_;
  Fd timer_;  // runs while there are peers

  std::unique_ptr<PortDevice> device_;
  bool detaching_ = false;
  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  Peer* last_found_ = nullptr;  // of peers_
  std::deque<PeerId> opened_;   // not told yet
  std::deque<PeerId> ready_;    // peers with a message that may be given out, in turn
  // Each once: peers whose staging memory is to be READ, a slice each in turn.
  std::deque<PeerId> reading_;
  std::deque<PeerId> gone_;  // peers that have died or broken the protocol
  ReadsDone reads_done_;
  uint64_t peer_bytes_ = 0;                          // of peers_
  std::array<std::byte, kMessageBytesMax> message_;  // that Poll gave out last
  uint32_t polls_ = 0;

  // The listener's thread and the shard's: held while a connection is accepted and while one is
  // destroyed, so that none is destroyed while rdma_accept still looks at it.
  std::mutex mutex_;
  std::unique_ptr<PortDevice> new_device_;        // under mutex_
  PortDevice* admits_to_ = nullptr;               // under mutex_: device_ or new_device_
  bool is_attached_ = false;                      // under mutex_
  bool detach_wanted_ = false;                    // under mutex_
  std::vector<std::unique_ptr<Peer>> new_peers_;  // under mutex_
  std::vector<PeerId> failed_;                    // under mutex_: rdma_accept failed
  PeerId last_id_ = 0;                            // under mutex_
  size_t completions_ = 0;                        // under mutex_: of all peers
  std::atomic<bool> has_new_ =
      false;  // set under the mutex, read without: pairs acquire with release
};

}  // namespace plov::fabric::verbs
