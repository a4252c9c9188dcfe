// Faults: what a run injects besides load.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::torture {

enum class Fault : uint8_t {
  kPause,       // GETs that rest between their READs
  kStop,        // SIGSTOP and SIGCONT of a client, or of the tool's own server
  kKillClient,  // SIGKILL
  kKillServer,
  kGrowth,    // keys come into use over the run, so that the table grows under load
  kFull,      // memory is filled up to the last PUT, and freed again
  kDeadline,  // some calls have deadlines of microseconds
  kClock,     // clients run in time namespaces; items expire
  // Of a cluster of the tool's own:
  kStopServer,  // SIGSTOP and SIGCONT, so long that others take over, or not
  kMove,        // a shard's replica is placed on another server, or another one becomes the primary
  kCoordinator,  // ZooKeeper is stopped or killed, or its leader is
  kCut,    // a server is cut off from others, from ZooKeeper, or from both, but not from clients
  kPower,  // all servers are killed at once, and go on with their logs
};
inline constexpr size_t kFaults = 13;

using FaultSet = std::bitset<kFaults>;
constexpr size_t IndexOf(Fault fault) { return static_cast<size_t>(fault); }

inline constexpr std::array<std::string_view, kFaults> kFaultNames = {
    "pause", "stop",        "kill-client", "kill-server", "growth", "full", "deadline",
    "clock", "stop-server", "move",        "zookeeper",   "cut",    "power"};

// Those that need a server of the tool's own: no other server is killed, filled or made to grow.
inline FaultSet OwnServerFaults() {
  FaultSet faults;
  return faults.set(IndexOf(Fault::kKillServer))
      .set(IndexOf(Fault::kGrowth))
      .set(IndexOf(Fault::kFull));
}

// Those that need a cluster of the tool's own.
inline FaultSet ClusterFaults() {
  FaultSet faults;
  return faults.set(IndexOf(Fault::kStopServer))
      .set(IndexOf(Fault::kMove))
      .set(IndexOf(Fault::kCoordinator))
      .set(IndexOf(Fault::kCut))
      .set(IndexOf(Fault::kPower));
}

// "all", "none", or names with commas between. kInvalidArgument.
std::expected<FaultSet, Error> ParseFaults(std::string_view list);
std::string FaultText(const FaultSet& faults);

}  // namespace plov::torture
