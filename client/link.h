// Link: a client's connection to one shard, and the shard's superblock as last read.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "client/write_queue.h"
#include "cuckoo/geometry.h"
#include "fabric/fabric.h"

namespace plov {

struct Link {
  explicit Link(uint64_t client_id) : writes(client_id) {}

  std::unique_ptr<fabric::Connection> connection;
  cuckoo::ShardView view;
  WriteQueue writes;
  uint32_t messages_in_flight = 0;
  std::vector<fabric::ReadOp> reads;  // to be posted; kept for its capacity
};

// Connects to one shard and reads its superblock.
struct Connected {
  std::unique_ptr<fabric::Connection> connection;
  cuckoo::ShardView view;
};
std::expected<Connected, Error> ConnectShard(const std::string& uri, uint32_t shard,
                                             uint64_t client_id, fabric::Deadline deadline);

// Reads the superblock anew. Only while no other READ of this connection is under way.
std::expected<cuckoo::ShardView, Error> ReadSuperblock(fabric::Connection* connection,
                                                       uint32_t shard, fabric::Deadline deadline);

}  // namespace plov
