// StreamLink: a replica's way to another server's replica of its shard: one connection, on which messages go one way. The
// other's come back by a link of its own.
//
// What is sent while there is no connection is lost, and what waited when one ended: no message reaches another life of
// the server. Nobody is told: a replica's messages are repeated by its beats.
//
// Threads: one, the shard's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/stream_parts.h"
#include "fabric/fabric.h"
#include "server/dialer.h"

namespace plov::server {

class StreamLink {
 public:
  // dialer: of the server, outlives the link. epoll_fd: watches its connections; -1: none does. waiting_bytes_max: of what waits to be
  // sent; what does not fit beside others is lost.
  StreamLink(Dialer* dialer, uint32_t shard, int epoll_fd, size_t waiting_bytes_max)
      : dialer_(dialer),
        shard_(shard),
        epoll_fd_(epoll_fd),
        waiting_bytes_max_(waiting_bytes_max) {}

  // There is to be a connection, for messages that may follow; it is tried once.
  void Connect();
  // Sends it now or in the Steps that follow.
  void Send(std::vector<std::byte> message);
  // Sends what there is room for. False when there was nothing to do.
  bool Step();

  // Before a sleep, in which what the epoll watches is waited for: false when something can be sent now.
  bool Arm() { return waiting_.empty() || connection_->Arm(); }

  // Whether parts were taken of a message that is not whole yet, since this was asked last.
  bool HasMoved() { return std::exchange(has_moved_, false); }
  // Whether the last connection has ended and nobody answers any more; once after each.
  bool TakeLoss();
  bool is_up() const { return connection_ != nullptr; }
  size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Waiting {
    cluster::PartWriter parts;
    size_t bytes;
  };

  void Take();
  bool SendParts();

  Dialer* dialer_;
  uint32_t shard_;  // of the listener
  int epoll_fd_;
  size_t waiting_bytes_max_;
  std::unique_ptr<fabric::Connection> connection_;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  bool has_moved_ = false;
  bool has_ended_ = false;  // and it is not known yet whether the server has
};

}  // namespace plov::server
