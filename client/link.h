// Link: a client's connection to one shard, and the shard's superblock as last read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/write_queue.h"
#include "cuckoo/geometry.h"
#include "fabric/fabric.h"
#include "verify/superblock.h"

namespace plov {

struct Link {
  explicit Link(uint64_t client_id) : writes(client_id) {}

  // Whether a GET may go straight to the connection.
  bool quiet() const { return reads_in_flight == 0 && !confirm_due; }

  std::unique_ptr<fabric::Connection> connection;
  std::span<const std::byte> region;  // of the connection, where READs are loads; else empty
  uint32_t reads_in_flight = 0;       // of lookups and of the superblock
  // The superblock is to be READ anew. No READ is posted beside that one, so the view changes under
  // none.
  bool stale = false;
  bool confirm_due = false;  // the server is to be told which superblock we go by
  uint32_t torn_superblocks = 0;
  uint32_t messages_in_flight = 0;
  cuckoo::ShardView view;
  WriteQueue writes;
  std::vector<fabric::ReadOp> reads;  // to be posted; kept for its capacity
  verify::Superblock page;            // the superblock as it is READ
};

// Connects to one shard and reads its superblock.
struct Connected {
  std::unique_ptr<fabric::Connection> connection;
  cuckoo::ShardView view;
};
std::expected<Connected, Error> ConnectShard(const std::string& uri, uint32_t shard,
                                             uint64_t client_id, fabric::Deadline deadline);

// What a READ of the superblock brought; nullopt when it is torn.
std::expected<std::optional<cuckoo::ShardView>, Error> ViewOf(const verify::Superblock& page,
                                                              uint32_t shard,
                                                              uint64_t region_bytes);

// Reads the superblock anew, waiting for it. Only while no other READ of this connection is under
// way.
std::expected<cuckoo::ShardView, Error> ReadSuperblock(fabric::Connection* connection,
                                                       uint32_t shard, fabric::Deadline deadline);

}  // namespace plov
