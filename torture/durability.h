// Durability: what a key may be when a server that was killed has been started again on its log.
//
// The server writes a log on disk (plovd --log). When it is killed, what is left of each shard's
// writes are all up to one of them, in the order of their versions: the cut. What may be behind the
// cut depends on --commit (plov(7), "What can be lost"):
//
//   strict  nothing that an operation has told of. The lives of the server are one history.
//   acked   nothing that the answer to a write has told of, a refusal too. What only GETs have
//           returned may be gone.
//   async   anything of that life, but not what the life began with.
//
// A life of a key is right if and only if
//   1. its operations are linearizable from the state that it began with, and
//   2. they still are with one more GET in it that returns the state that the next life begins with,
//      with strict at the end of the life, with async at any instant of it; and with acked at its
//      end, when GETs of what is gone are left out and the writes without an answer may never have
//      happened (which they may not anyway).
// A write without an answer happens in the life that it began in, or never.
//
// The cut is one for all keys of a shard. So when a version of the life is known to be kept, no
// lower version of the shard may be gone (Restart::kept).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "torture/history.h"
#include "torture/key_sweep.h"

namespace plov::torture {

enum class Commit : uint8_t { kStrict, kAcked, kAsync };
inline constexpr std::array<std::string_view, 3> kCommitNames = {"strict", "acked", "async"};
std::optional<Commit> CommitNamed(std::string_view name);
constexpr std::string_view CommitName(Commit commit) {
  return kCommitNames[static_cast<size_t>(commit)];
}

// Where a life ends and the next one begins: no server was there. An operation with an answer lies
// before or behind it.
struct Restart {
  Instant at = 0;
  uint64_t kept = 0;  // of the key's shard: this version of the life before is there; 0: none known

  bool operator==(const Restart&) const = default;
};

// One life of one key. Needs no order of the operations.
struct Life {
  Settled before;
  std::span<const Operation> operations;
  Instant begin = 0;
  Restart end;
};

// Rule 2 and the cut, of a life of which rule 1 holds. What cannot be decided may be.
bool MayBecome(const Life& life, const Settled& after, Commit commit);

// The state that a GET tells of, which has an answer.
Settled StateOf(const Operation& get);

// Why a life of which rule 1 holds cannot become `after`.
Reason LossReason(const Life& life, const Settled& after, Commit commit);

}  // namespace plov::torture
