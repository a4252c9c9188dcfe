// Simulation: a cluster that is too large for one machine, by what plov decides with its own code - where shards are placed,
// who takes over, where a lost server's part goes - and by counting, held against what the formulas of plov(7) say.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/compare/study.h"
#include "bench/page/page.h"
#include "bench/shared/options.h"

namespace plov::bench {

struct SimulationSettings : OutputSettings {
  uint32_t servers = 1000;
  uint32_t clients = 10'000;
  uint32_t shards = 8;  // of which a server is the primary
};

struct Simulation {
  SimulationSettings settings;
  std::vector<GoalRow> figures;
};

// kInvalidArgument: there are no such clusters. kSystem: what should have happened did not.
std::expected<Simulation, Error> Simulate(const SimulationSettings& settings);

Page PageOf(const Simulation& simulation);
program::Json JsonOf(const Simulation& simulation);

}  // namespace plov::bench
