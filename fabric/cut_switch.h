// CutSwitch: hosts that are cut off from each other, for tests of several servers in which there is
// no packet to drop: over shared memory a READ is loads. plovd has it with --test-cuts.
//
// A CutTable says which hosts are cut off from which; a CutSwitch makes the connections of one of
// them, which obey it. While its hosts are cut off, a connection is as one of RDMA is over a dead
// wire:
//   - READs and messages are taken and do not get through; nothing of the server is seen, not even
//     that it ends;
//   - healed soon enough, they get through: what was on its way is sent again;
//   - once a READ or a message has had no answer for `dies_after`, the connection is dead, with all
//     that was on its way, and stays so. The server hears of it when the client drops it.
// A call that is under way when its hosts are cut off may still get through. So may the server's
// READs of staging memory at any time: they do no more than those that came just before the cut.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fabric/fabric.h"
#include "fabric/os.h"

namespace plov::fabric {

// Hosts have numbers.
using HostId = uint32_t;

// Zeroed memory is one in which nothing is cut, also memory that processes share. Threads: any.
class CutTable {
 public:
  static constexpr HostId kHostsMax = 64;

  // Both ways; nothing happens to hosts that are cut off, or not, already.
  void Cut(HostId one, HostId other) { At(one, other).fetch_or(1, std::memory_order_seq_cst); }
  void Heal(HostId one, HostId other) {
    std::atomic<uint32_t>& turns = At(one, other);
    uint32_t cut = turns.load(std::memory_order_seq_cst) | 1;
    turns.compare_exchange_strong(cut, cut + 1, std::memory_order_seq_cst);
  }

  // How often they were cut off and healed: odd while they are cut off.
  uint32_t Turns(HostId one, HostId other) const {
    return At(one, other).load(std::memory_order_seq_cst);
  }
  bool IsCut(HostId one, HostId other) const { return Turns(one, other) % 2 == 1; }

 private:
  std::atomic<uint32_t>& At(HostId one, HostId other) {
    return turns_.at(std::min(one, other)).at(std::max(one, other));
  }
  const std::atomic<uint32_t>& At(HostId one, HostId other) const {
    return turns_.at(std::min(one, other)).at(std::max(one, other));
  }

  std::array<std::array<std::atomic<uint32_t>, kHostsMax>, kHostsMax> turns_{};
};

// A CutTable that processes share, in a file; its hosts have names. Threads: any.
class CutFile {
 public:
  static constexpr size_t kNameBytes = 64;

  // Makes it, with nothing cut. kInvalidArgument: more hosts than there may be, or longer names; kSystem.
  static std::expected<CutFile, Error> Create(const std::string& path,
                                              std::span<const std::string> names);
  // kInvalidArgument: the file is none; kSystem.
  static std::expected<CutFile, Error> Open(const std::string& path);

  // Stays as long as this does, wherever it is moved.
  CutTable* table() const;
  std::optional<HostId> Find(std::string_view name) const;

 private:
  struct Content;
  explicit CutFile(Mapping mapping) : mapping_(std::move(mapping)) {}
  Content* content() const;

  Mapping mapping_;
};

// Threads: any; a connection's like any other's.
class CutSwitch {
 public:
  using Connector = std::function<std::expected<std::unique_ptr<Connection>, Error>(
      std::string_view uri, const ConnectOptions& options)>;

  // As long as a queue pair tries (fabric/verbs/qp.h).
  static constexpr std::chrono::milliseconds kDiesAfter{400};

  // table: outlives the switch and its connections. dies_after: with zero a connection dies of the
  // cut itself, and its READs may be loads (Connection::region); else they are requests.
  CutSwitch(const CutTable* table, HostId mine, Clock::duration dies_after = kDiesAfter,
            Connector connector = Connection::Connect)
      : table_(table), mine_(mine), dies_after_(dies_after), connector_(std::move(connector)) {}

  // To a host, as Connection::Connect; kTimeout where the hosts stay cut off until the deadline, or are
  // cut off before the connection is there.
  std::expected<std::unique_ptr<Connection>, Error> Connect(HostId host, std::string_view uri,
                                                            const ConnectOptions& options) const;

 private:
  const CutTable* table_;
  HostId mine_;
  Clock::duration dies_after_;
  Connector connector_;
};

}  // namespace plov::fabric
