// DesignsClients: how many GETs several clients get from each design's server at the same time.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "bench/designs/side.h"
#include "bench/tool/designs_servers.h"
#include "bench/tool/designs_settings.h"
#include "bench/tool/sample.h"
#include "verify/error.h"

namespace plov::bench {

// One design and number of clients, at the window; a value of each round's.
struct DesignClientsRow {
  size_t design = 0;  // its index in kDesignNames
  uint32_t clients = 0;
  Sample per_second;     // of all clients
  Sample server_cpu_us;  // a GET
};

// Clients are processes, begin at the same moment, each at a place of its own in the load's order.
// Rounds go over all numbers of clients and all designs. The items are stored already.
//
// Threads: the main thread, while there is no other (crew.h); before this process has connected.
// Errors: kCorrupt (a wrong value), the servers'.
std::expected<std::vector<DesignClientsRow>, Error> MeasureClients(const DesignsSettings& settings,
                                                                   const DesignServers& servers,
                                                                   const DesignLoad& load);

}  // namespace plov::bench
