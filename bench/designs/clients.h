// DesignsClients: how much several clients get from a design's servers at the same time.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "bench/designs/servers.h"
#include "bench/designs/side.h"
#include "bench/shared/sample.h"
#include "verify/error.h"

namespace plov::bench {

// One work and number of clients, at the window; a value of each round's.
struct DesignClientsRow {
  DesignWork work;
  uint32_t clients = 0;
  Sample per_second;     // of all clients
  Sample server_cpu_us;  // an operation

  // The servers' CPU time in a second.
  double cores() const { return per_second.median() * server_cpu_us.median() / 1e6; }
};

// GETs of every design by the numbers of clients; and by the numbers of servers, with the most
// clients, what needs the servers' CPU: HERD's GETs, plov's PUTs.
//
// Clients are processes, begin at the same moment, each at a place of its own in the load's order.
// Rounds go over all of it. The items are stored already.
//
// Threads: the main thread, while there is no other (process_pool.h); before this process has connected.
// Errors: kCorrupt (a wrong value), the servers'.
std::expected<std::vector<DesignClientsRow>, Error> MeasureClients(const DesignsSettings& settings,
                                                                   const DesignServers& servers,
                                                                   const DesignLoad& load);

}  // namespace plov::bench
