// Peer: something that holds the items of a work and is asked for them, in one of four ways.
//
// Threads: one.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
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
struct Range {
  size_t first = 0;
  size_t count = 0;
};

class Peer {
 public:
  explicit Peer(const Work& work) : work_(&work) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  virtual bool Can(Way way) const = 0;

  // Gets or puts the items of a range, one call for about a thousand operations. What was got was
  // looked at (Work::IsRight). Errors: kCorrupt (a wrong value), the peer's own.
  virtual std::expected<void, Error> Do(Way way, Range range) = 0;

  // Operations a second: range after range for a time, from where it was left the last time.
  virtual std::expected<double, Error> Rate(Way way, std::chrono::microseconds duration);

  // Of its server's memory, what it takes more than when it was empty; 0: it has no server.
  virtual uint64_t memory_bytes() const { return 0; }

  // Another client of the same server, for a thread of its own. kInvalidArgument: it has none.
  virtual std::expected<std::unique_ptr<Peer>, Error> Another() const {
    return Fail(Code::kInvalidArgument, "this peer has only one client");
  }

 protected:
  const Work& work() const { return *work_; }
  std::span<const std::string_view> keys(Range range) const {
    return work_->keys().subspan(range.first, range.count);
  }

 private:
  const Work* work_;
  std::array<size_t, kWayNames.size()> next_{};  // place in the order
};

using StartedPeer = std::expected<std::unique_ptr<Peer>, Error>;

// What peers need to start.
struct PeerPlace {
  std::string folder;         // of sockets and logs
  std::string memory_folder;  // of what is to lie in memory
  std::string plov;  // the URI of a plovd that holds the items, for the limit of its memory
  // Redis: where it appends its writes to a file, and its appendfsync; empty: it does not.
  std::string log_folder = {};
  std::string log_sync = {};
};

using PeerStart = StartedPeer (*)(const Work& work, const PeerPlace& place);

struct PeerKind {
  std::string_view name;     // in --peers
  std::string_view title;    // in tables
  std::string_view package;  // Debian's, that plov-bench has to be built with
  PeerStart start;           // nullptr where that was not there to build with

  // Starts it with all items stored. Errors: kUnavailable (its program or the package was not there),
  // others.
  StartedPeer Start(const Work& work, const PeerPlace& place) const;
};

std::span<const PeerKind> PeerKinds();
const PeerKind* FindPeerKind(std::string_view name);  // nullptr: there is none

// One for each file of this folder. `work` outlives the peer.
StartedPeer StartMemory(const Work& work, const PeerPlace& place);
StartedPeer StartLmdb(const Work& work, const PeerPlace& place);
StartedPeer StartLibcuckoo(const Work& work, const PeerPlace& place);
StartedPeer StartRedis(const Work& work, const PeerPlace& place);
StartedPeer StartRedisBenchmark(const Work& work, const PeerPlace& place);
StartedPeer StartMemcached(const Work& work, const PeerPlace& place);

// Requests a second of a test, "GET" or "SET", in what redis-benchmark --csv printed. kProtocol:
// there are none.
std::expected<double, Error> ParseRedisBenchmark(std::string_view text, std::string_view test);

}  // namespace plov::bench
