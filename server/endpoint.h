// Peer and Endpoint: a shard's clients, by the port that they came to.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fabric/fabric.h"
#include "server/batch.h"
#include "server/sessions.h"

namespace plov::server {

// A record that is kept for a client to READ.
struct Held {
  uint64_t offset;
  uint64_t until_us;
};

struct Peer {
  SessionOwner owner;
  uint64_t logged_owner = 0;  // 0: there is no log
  bool may_write;
  // Null: nobody's, who only READs, never writes or is here to administer a replica.
  Session* session = nullptr;
  bool never_writes = false;          // it GETs without a session, also what may be old
  std::unique_ptr<Batch> batch = {};  // the message that has no reply yet
  std::vector<Held> held = {};
  uint64_t confirmed_version = 0;  // of the superblock; 0 = none yet
};

// A port with its clients. Its place does not change once there are clients.
struct Endpoint {
  fabric::Port* port;
  std::unordered_map<fabric::PeerId, Peer> peers;
};

// A peer that may be gone when its turn comes.
struct Waiting {
  Endpoint* endpoint;
  fabric::PeerId id;

  // Null: it is gone.
  Peer* peer() const {
    const auto it = endpoint->peers.find(id);
    return it == endpoint->peers.end() ? nullptr : &it->second;
  }
};

}  // namespace plov::server
