// Writing: a write under way in a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "log/group_commit.h"
#include "server/room.h"
#include "verify/mask.h"

namespace plov::server {

// A write under way. A write may have to grow the table or clean memory first; it does that in
// slices, so that a shard can serve others in between.
struct Writing {
  // Where the record will be: cleaning leaves it there. Its value goes to `at` bytes of `shared`.
  struct Place {
    uint64_t offset;
    uint64_t* shared;
    size_t at;
    size_t record_bytes;
  };
  std::optional<Place> place;
  RoomSearch room;
  verify::Mask mask;
  // Of a value that arrives by rendezvous, for each slice of it (fabric::PeerRead).
  std::vector<uint64_t> arrival_masks;
  size_t settled_bytes = 0;              // of the value, which lie under `mask`
  std::optional<uint64_t> value_digest;  // of a long value that has arrived
  uint64_t client_id = 0;                // whose write it is, for the log
  std::shared_ptr<log::Piece> logged;    // a copy of the settled bytes, when there is a log
  size_t copied_bytes = 0;               // of these
};

}  // namespace plov::server
