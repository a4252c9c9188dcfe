// Peer: something that holds the items of a work and is asked for them, in one of four ways.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/peers/work.h"
#include "verify/error.h"

namespace plov::bench {

enum class Way : uint8_t { kGet, kGetMany, kPut, kPutMany };
inline constexpr std::array kWayNames = std::to_array<std::string_view>(
    {"GET, one at a time", "GETs, many in flight", "PUT, one at a time", "PUTs, many in flight"});
constexpr std::string_view NameOf(Way way) { return kWayNames.at(static_cast<size_t>(way)); }

// How many are in flight where many are.
inline constexpr size_t kPipelined = 32;

// Places in the order of the work, one after the other.
struct Turn {
  size_t first = 0;
  size_t count = 0;
};

class Peer {
 public:
  virtual ~Peer() = default;

  virtual bool Can(Way way) const = 0;

  // Gets or puts the items of a turn, one call for about a thousand operations. What was got was
  // looked at (Work::IsRight). Errors: kCorrupt (a wrong value), the peer's own.
  virtual std::expected<void, Error> Do(Way way, Turn turn) = 0;
};

using StartedPeer = std::expected<std::unique_ptr<Peer>, Error>;

// What peers need to start.
struct PeerPlace {
  std::string folder;         // of sockets and logs
  std::string memory_folder;  // of what is to lie in memory
  // As plov's table has, so that the memory limit is that of the same memory.
  uint64_t buckets = 0;
};

struct PeerKind {
  std::string_view name;     // in --peers
  std::string_view title;    // in tables
  std::string_view package;  // Debian's, without which it is skipped
  // Starts it with all items stored; nullptr where the package was not there to build with. Errors:
  // kUnavailable (its program is not installed), others.
  StartedPeer (*start)(const Work& work, const PeerPlace& place);
};

std::span<const PeerKind> PeerKinds();
const PeerKind* FindPeerKind(std::string_view name);  // nullptr: there is none

// One for each file of this folder. `work` outlives the peer.
StartedPeer StartMemory(const Work& work, const PeerPlace& place);

}  // namespace plov::bench
