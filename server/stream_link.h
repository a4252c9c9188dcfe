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
#include <vector>

#include "cluster/stream_parts.h"
#include "fabric/fabric.h"
#include "server/dialer.h"

namespace plov::server {

class StreamLink {
 public:
  // dialer: of the server, outlives the link. waiting_bytes_max: of what waits to be sent; what does not fit beside
  // others is lost.
  StreamLink(Dialer* dialer, uint32_t shard, size_t waiting_bytes_max)
      : dialer_(dialer), shard_(shard), waiting_bytes_max_(waiting_bytes_max) {}

  // Sends it now or in the Steps that follow.
  void Send(std::vector<std::byte> message);
  // Sends what there is room for. False when there was nothing to do.
  bool Step();

  bool is_up() const { return connection_ != nullptr; }
  size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Waiting {
    cluster::PartWriter parts;
    size_t bytes;
  };

  void Connect();
  bool SendParts();

  Dialer* dialer_;
  uint32_t shard_;  // of the listener
  size_t waiting_bytes_max_;
  std::unique_ptr<fabric::Connection> connection_;
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace plov::server
