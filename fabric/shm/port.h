// Port: one shard's end of the shared-memory fabric.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/shm/channel.h"

namespace plov::fabric::shm {

// A connection as the listener hands it over.
struct NewPeer {
  Fd socket;
  Channel channel;
  uint64_t client_id;
};

class ShmPort final : public Port {
 public:
  static std::expected<std::unique_ptr<ShmPort>, Error> Create();

  // From the listener's thread.
  void Adopt(NewPeer peer);

  std::optional<PortEvent> Poll() override;
  void Send(PeerId peer, std::span<const std::byte> message) override;
  void Read(PeerId peer, const PeerRead& read) override;
  void Close(PeerId peer) override;
  int fd() const override { return epoll_.get(); }
  bool Arm() override;
  void Disarm() override;
  void Wake() override { Ring(bell_.get()); }

 private:
  struct Peer {
    PeerId id;
    Fd socket;
    Channel channel;
    RingReader requests;
    RingWriter replies;
    bool owes_reply = false;
  };

  ShmPort() : message_(kMessageBytesMax) {}

  Peer* Find(PeerId id);
  std::optional<PortEvent> TakeNew();
  std::optional<PortEvent> TakeClosed();
  std::optional<PortEvent> ReadSome();
  std::optional<PortEvent> TakeMessage();
  bool WatchSockets();

  Fd epoll_;
  Fd bell_;
  std::vector<std::unique_ptr<Peer>> peers_;
  size_t next_peer_ = 0;
  PeerId last_id_ = 0;
  uint32_t polls_ = 0;
  std::vector<PeerId> closed_;
  struct Reading {
    PeerId peer;
    PeerRead read;
    uint64_t done = 0;  // bytes
  };
  std::deque<Reading> reads_;  // each has its slices in turn
  std::vector<std::byte> message_;

  std::atomic<bool> has_new_ =
      false;  // set under the mutex, read without: pairs acquire with release
  std::mutex mutex_;
  std::vector<NewPeer> new_peers_;  // under mutex_
};

}  // namespace plov::fabric::shm
