// Port: one shard's end of the shared-memory fabric.
//
// A port may have thousands of peers, of which most are silent. It looks into the rings of the
// *hot* ones only: those that came, woke it or sent a message lately. All others are *cold*: their
// rings say that we sleep there, so their next message comes with a wake, a byte on the socket,
// which the port's epoll watches. A silent connection costs nothing.
//
// No message is lost. A peer gets cold by a RingReader::Sleep that found its ring empty; a message
// that is written later finds `sleeps` set (ring.h) and is followed by a byte. The epoll is readable
// until WatchSockets takes that byte, and only then the peer gets hot, so its ring is looked into
// after its byte is gone. A port that sleeps waits for the epoll; one that is awake looks at it
// every kBusyLook, or kQuietLook where the hot peers send nothing: so long a cold peer's message may
// wait beside what everybody's waits for, its turn.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "fabric/admission.h"
#include "fabric/fabric.h"
#include "fabric/shm/channel.h"
#include "fabric/shm/staging.h"

namespace plov::fabric::shm {

// A connection as the listener hands it over.
struct NewPeer {
  Fd socket;
  Channel channel;
  uint64_t client_id;
  std::optional<uid_t> user = {};
  bool may_write = true;
  bool reads_only = false;
  bool never_writes = false;
  uint64_t staging_bytes = 0;
  Admission::Place place = {};
};

class ShmPort final : public Port {
 public:
  static std::expected<std::unique_ptr<ShmPort>, Error> Create();
  // Closes all connections, also those that nobody has polled.
  ~ShmPort() override;

  // From the listener's thread.
  void Adopt(NewPeer peer);

  std::optional<PortEvent> Poll() override;
  void Send(PeerId peer, std::span<const std::byte> message) override;
  void Read(PeerId peer, const PeerRead& read) override;
  void Close(PeerId peer) override;
  int fd() const override { return epoll_.get(); }
  bool Arm() override;
  void Disarm() override;
  void StayAwake() override;
  void Wake() override { Ring(bell_.get()); }
  bool OnPeersCore() override;
  uint64_t connection_bytes() const override { return connection_bytes_; }

  // How many peers each Poll looks at.
  size_t hot_count() const { return hot_.size(); }

 private:
  struct Peer {
    PeerId id;
    Fd socket;
    Channel channel;
    RingReader requests;
    RingWriter replies;
    StagingView staging;
    Admission::Place place;
    bool owes_reply = false;  // such a one stays hot, and is not looked at
    size_t hot_index = kCold;
    uint64_t heard_at = 0;  // age_ when it came, woke us or sent its last message
  };
  static constexpr size_t kCold = SIZE_MAX;

  ShmPort() : slice_(PeerRead::kWholeBytes), message_(kMessageBytesMax) {}

  static void TellClosed(const Channel& channel);
  Peer* Find(PeerId id);
  void Heat(Peer* peer);
  bool Cool(Peer* peer);
  void RemoveFromHot(Peer* peer);
  bool IsSilent(const Peer& peer) const;
  std::optional<PortEvent> TakeNew();
  std::optional<PortEvent> TakeClosed();
  std::optional<PortEvent> ReadSome();
  std::optional<PortEvent> TakeMessage();
  std::optional<PortEvent> Take();
  std::optional<PortEvent> TakeWork();
  bool LookIsDue();
  void NoteDead(Peer* peer);
  static bool HearWakes(Peer* peer);
  bool WatchSockets();

  Fd epoll_;
  Fd bell_;
  std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> hot_;
  size_t next_hot_ = 0;
  uint64_t age_ = 0;      // messages that were taken, and sleeps
  Peer* last_ = nullptr;  // whose message was taken last, if it is still there
  PeerId last_id_ = 0;
  uint64_t connection_bytes_ = 0;
  size_t work_ = 0;  // since the clock was read
  bool quiet_ = true;
  bool closed_last_ = false;
  Clock::time_point looked_at_;
  std::vector<PeerId> closed_;
  struct Reading {
    PeerId peer;
    PeerRead read;
    uint64_t done = 0;  // bytes
  };
  std::deque<Reading> reads_;     // each has its slices in turn
  std::vector<std::byte> slice_;  // of one of them
  std::vector<std::byte> message_;

  std::atomic<bool> has_new_ =
      false;  // set under the mutex, read without: pairs acquire with release
  std::mutex mutex_;
  std::deque<NewPeer> new_peers_;  // under mutex_
};

}  // namespace plov::fabric::shm
