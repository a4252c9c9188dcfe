// Network: the fabric "sim:", deterministic and hostile, in one thread.
//
// A READ is a flight: its range is cut into pieces of whole words, which are copied in any order,
// each at an instant that the schedule chooses (Deliver), between any two stores of the server. A
// flight may be copied again in parts, as a retransmission does, before it completes, and it may
// be held up, also beyond the deadline of whoever asked for it. Flights of one connection overtake
// each other. Messages wait in queues until their receiver looks.
//
// Several servers can listen, each for several shards. The name leads to one of them (Lead); connections that are there
// stay with theirs, as they do when an address moves to another host.
//
// It keeps what fabric/fabric.h guarantees and nothing more. tests/fabric/conformance.h is for
// fabrics between threads and processes; what it checks of READs, messages and ends is checked of
// this one by network_test.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabric/fabric.h"
#include "tests/sim/random.h"
#include "tests/sim/virtual_host.h"

namespace plov::sim {

// How READs are cut.
enum class Cut : uint8_t {
  kWhole,   // one piece: a READ is an instant
  kHalves,  // two pieces, first or second half first
  kPieces,  // a few, of any length, in any order
  kWords,   // a piece per word, in any order
  kAny,     // one of the above, for each READ anew
};

struct NetworkOptions {
  Cut cut = Cut::kAny;
  uint32_t retransmit_one_in = 8;  // READs that are copied again in part; 0: none
  uint32_t hold_one_in = 0;        // READs that are held up; 0: none
  uint32_t hold_us_max = 0;        // for so long
  uint32_t read_depth = 16;
  bool loads = false;  // clients map the region, as over shared memory
};

// What a server listens with.
struct Endpoint {
  std::span<std::byte> region;
  int region_fd = -1;  // for `loads`
  uint32_t format_version = 0;
  uint64_t staging_bytes = 0;  // 0: connections have none, as without locked memory
  fabric::Claims* claims = nullptr;
};

using Message = std::vector<std::byte>;

class SimConnection;
class SimPort;

class Network {
 public:
  // random: of the schedule. Only one Network at a time; Connect("sim:") finds it.
  Network(const VirtualHost* host, Random* random, const NetworkOptions& options);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  // A server's end of a shard; one at a time of each number, from 0 on. Its memory must stay until Stop.
  static constexpr uint32_t kShardsMax = 4;
  fabric::Port* Listen(uint32_t server, uint32_t shard, const Endpoint& endpoint);
  // The server is dead from this instant on: no word is READ any more, no message arrives.
  void Stop(uint32_t server);
  // Who connects from now on comes to this server; 0 at first.
  void Lead(uint32_t server) { lead_ = server; }
  uint32_t lead() const { return lead_; }

  // READs that have pieces to copy or wait to complete.
  size_t flights() const { return flights_.size(); }
  // Copies the next piece of a flight, or completes it; whether it did that. Nothing when it is
  // held up.
  bool Deliver(size_t flight);

  // Whether only its completion is left of a flight; false when there is none of this number.
  bool is_read(size_t flight) const {
    return flight < flights_.size() && flights_[flight].next == flights_[flight].count;
  }

  // Ends some client's connection as a broken link does: either side learns it on its own.
  void BreakAny();
  // The same of all connections to servers to which the name does not lead.
  void BreakStrays();

  // Told of each connection that is made, with the server's number.
  std::function<void(uint32_t)> connect_observer;

  // Who has heard all that the clients said when they connected tries to come as each of them that
  // has been answered.
  void Impersonate();
  // Times that one was let in.
  uint64_t impostors() const { return impostors_; }

  uint64_t reads() const { return reads_; }
  // Times that a client wrote where its connection's limits forbid it.
  uint64_t overruns() const { return overruns_; }

 private:
  friend class SimConnection;
  friend class SimPort;
  friend struct Fabric;

  struct Piece {
    uint16_t first;
    uint16_t count;
  };
  static constexpr size_t kPiecesMax = 24;

  struct Flight {
    SimConnection* connection = nullptr;
    fabric::ReadOp op;
    uint64_t not_before_us = 0;
    uint32_t next = 0;
    uint32_t count = 0;
    bool gone = false;
    std::array<Piece, kPiecesMax> pieces;
  };

  // One client's connection, seen from both ends.
  struct Peer {
    fabric::PeerId id = 0;
    uint64_t client_id = 0;
    fabric::TakenClaim claim = {};
    SimConnection* connection = nullptr;  // null once the client has dropped it
    std::deque<Message> inbox;            // to the server
    std::deque<Message> outbox;
    std::vector<uint64_t> staging;  // and a guard behind it
    uint64_t staging_bytes = 0;
    std::optional<fabric::PeerRead> fetch;  // the server's READ of the staging memory
    bool opened = false;                    // kOpened has been told
    bool answering = false;                 // the server owes a reply
    bool answered = false;                  // there was a reply
    bool broken = false;                    // kClosed is to be told, unless it never opened
    bool closed = false;                    // by the server, or dead with it
  };

  using Peers = std::vector<std::shared_ptr<Peer>>;

  struct Listener {
    bool listens = false;
    Endpoint endpoint = {};
    Peers peers = {};
    std::shared_ptr<SimPort> port = nullptr;
  };

  std::expected<std::unique_ptr<fabric::Connection>, Error> Connect(
      const fabric::ConnectOptions& options);
  void Plan(Flight* flight);
  void CutAt(Flight* flight, uint32_t words, uint32_t pieces);
  void Copy(const Flight& flight, const Piece& piece);
  void Drop(SimConnection* connection);
  void Break(Peer* peer);
  // Those of a server's shards.
  std::span<Listener> ListenersOf(uint32_t server);
  Peer* PeerOf(Listener* listener, fabric::PeerId id);
  // The client's first connection that the server knows nothing of: connections of one client open
  // in their order.
  static std::shared_ptr<Peer> OldestOf(const Peers& peers, const std::shared_ptr<Peer>& peer);
  void EndFlights(const SimConnection* connection, bool forget);

  const VirtualHost* host_;
  Random* random_;
  NetworkOptions options_;
  int event_fd_;
  fabric::PeerId next_peer_ = 0;
  uint64_t reads_ = 0;
  uint64_t overruns_ = 0;
  uint64_t impostors_ = 0;
  std::vector<Flight> flights_;
  std::deque<std::array<Listener, kShardsMax>> servers_;
  uint32_t lead_ = 0;
};

}  // namespace plov::sim
