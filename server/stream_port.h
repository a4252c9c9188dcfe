// StreamPort: where the other servers of a cluster send a replica of a shard the messages of its stream.
//
// It is exposed beside the shard, under a number of its own, so that clients' connections can be closed without it, and
// with a page of memory that holds nothing. Who may write may send: the servers of a cluster trust each other.
//
// Threads: one, the shard's.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/stream_message.h"
#include "cluster/stream_parts.h"
#include "fabric/fabric.h"

namespace plov::server {

// Of shard `number`, below verify::kSlots.
constexpr uint32_t StreamShardOf(uint32_t number) { return verify::kSlots + number; }

class StreamPort {
 public:
  using Receive = std::function<void(const cluster::StreamMessage&)>;

  // message_bytes_max: a sender of longer ones is not heard.
  StreamPort(const cluster::StreamId& id, size_t message_bytes_max, Receive receive)
      : id_(id), message_bytes_max_(message_bytes_max), receive_(std::move(receive)) {}

  // One listener's; outlives the last Step.
  void AddPort(fabric::Port* port) { endpoints_.push_back({port, {}}); }

  // To sleep, as of a fabric::Port; readable: those of fds() that ended the sleep.
  std::vector<int> fds() const;
  bool Arm();
  void Disarm(std::span<const int> readable);

  // Takes what has come, at most one event of each port. False when there was nothing.
  bool Step();
  // Whether a part of a message that is not whole has come since this was asked last.
  bool HasMoved() { return std::exchange(has_moved_, false); }
  // Of those that were not messages of this stream; their senders' connections were closed.
  uint64_t garbage() const { return garbage_; }

 private:
  struct Endpoint {
    fabric::Port* port;
    std::unordered_map<fabric::PeerId, cluster::PartReader> peers;
  };

  void Take(Endpoint* endpoint, const fabric::PortEvent& event);
  void OnPart(Endpoint* endpoint, const fabric::PortEvent& event);

  cluster::StreamId id_;
  size_t message_bytes_max_;
  Receive receive_;
  std::vector<Endpoint> endpoints_;
  uint64_t garbage_ = 0;
  bool has_moved_ = false;
};

}  // namespace plov::server
