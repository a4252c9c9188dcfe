// Messages of the stream, in the bytes that one server of a cluster sends another.
//
//  offset size field        guards against
//       0    8 checksum     garbage, another shard's and another cluster's: XXH3 of bytes 8..end under a seed of both
//       8    4 magic        "plst"
//      12    1 kind         1 Append, 2 Ack, 3 Join, 4 HandOver
//      13    1 flags        of an Append 1: is_first; of an Ack 1: follows, 2: has_gap, 4: has_caught_up, 8: leaves,
//                           its 16: memory, 32: log is full; else 0
//      14    2 name bytes   of an Append's sender, of a Join's server; else 0
//      16    8 bytes        of the message: one that was cut short
//      24    8 epoch        not 0
//      32    8 incarnation  not 0; to whom an Append or a HandOver is, from whom an Ack or a Join
//      40    8 number       of an Append: published; of an Ack: end; of a Join: what it has; else 0
//      48    8 sent         microseconds, of an Append and an Ack; of a Join: the chain of what it has; else 0
//      56    8 clock        microseconds of the replica's: of an Append its safe time, of an Ack now; else 0
//      64    . name, zeros to the next word
//
// then of an Append
//       0    8 before       its number
//       8    8 chain        and its chain
//      16    8 entries
//      24    8 revision     of the configuration; else 0
//      32    8 bytes        of the configuration, 0: there is none
//      40    . configuration, as the coordinator holds it, zeros to the next word
// and of each entry
//       0    8 epoch        not 0
//       8    8 bytes
//      16    . data, zeros to the next word
//
// An entry's place is not sent: it follows from what is before it and from its bytes.
//
// A message is accepted if the checksum, the magic and all lengths agree, and all that is to be 0 is. Whoever decodes
// takes every byte for hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cluster/stream.h"

namespace plov::cluster {

// Whose stream it is.
struct StreamId {
  uint64_t cluster_id = 0;
  uint32_t shard = 0;
};

std::vector<std::byte> Encode(const StreamId& id, const StreamMessage& message);

// Writes the length and the checksum, as Encode does, of 64 bytes or more.
void Seal(const StreamId& id, std::span<std::byte> message);

// nullopt: it is no message of this stream.
std::optional<StreamMessage> Decode(const StreamId& id, std::span<const std::byte> bytes);

}  // namespace plov::cluster
