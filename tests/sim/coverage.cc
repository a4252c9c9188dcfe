#include <fmt/format.h>

#include "tests/sim/world.h"

namespace plov::sim {

namespace {

struct Line {
  const char* name;
  uint64_t Coverage::*count;
};
constexpr Line kLines[] = {{"schedules", &Coverage::schedules},
                           {"operations", &Coverage::operations},
                           {"READs", &Coverage::reads},
                           {"torn READs", &Coverage::torn},
                           {"confirmations", &Coverage::confirmations},
                           {"lookups begun again", &Coverage::restarts},
                           {"GETs by message", &Coverage::fallbacks},
                           {"superblocks READ anew", &Coverage::refreshes},
                           {"reconnects", &Coverage::reconnects},
                           {"writes sent again", &Coverage::retries},
                           {"READs of known locations", &Coverage::known_reads},
                           {"of these outdated", &Coverage::known_misses},
                           {"displacements", &Coverage::displacements},
                           {"overflowed homes", &Coverage::overflowed_homes},
                           {"items stashed", &Coverage::stashed},
                           {"growths", &Coverage::growths},
                           {"of these to wider buckets", &Coverage::widened},
                           {"records moved", &Coverage::cleaned_records},
                           {"writes without room", &Coverage::no_space},
                           {"items expired", &Coverage::expired},
                           {"items evicted", &Coverage::evicted},
                           {"hits told", &Coverage::hits_told},
                           {"READs that came too late", &Coverage::late_reads},
                           {"scans of all", &Coverage::scans},
                           {"flushes", &Coverage::flushes},
                           {"commits", &Coverage::commits},
                           {"snapshots of keys", &Coverage::key_snapshots},
                           {"switches to the other server", &Coverage::switches},
                           {"servers with more memory", &Coverage::raises},
                           {"servers killed", &Coverage::kills},
                           {"warm restarts", &Coverage::recoveries},
                           {"restarts from a log", &Coverage::restorations},
                           {"power cuts", &Coverage::power_cuts},
                           {"snapshots", &Coverage::snapshots},
                           {"faults of a disk", &Coverage::faults},
                           {"Syncs", &Coverage::syncs},
                           {"of modified items", &Coverage::modified}};

}  // namespace

void Coverage::Add(const Coverage& other) {
  for (const Line& line : kLines) this->*line.count += other.*line.count;
}

std::string Coverage::Text() const {
  std::string text;
  for (const Line& line : kLines) text += fmt::format("{:>12}  {}\n", this->*line.count, line.name);
  return text;
}

RunResult RunSeed(uint64_t seed, uint32_t operations_max, Worlds worlds) {
  Random random(seed ^ 0x5ce9a210);
  Scenario scenario = worlds.modify     ? DrawScenarioOfModified(worlds.have_log, &random)
                      : worlds.have_log ? DrawScenarioWithLog(&random)
                                        : DrawScenario(&random);
  scenario.operations = std::min(scenario.operations, operations_max);
  World world(seed, scenario);
  world.Run();
  RunResult result{.is_guilty = world.checker().is_guilty(),
                   .verdict = {},
                   .shortest = 0,
                   .fingerprint = world.checker().fingerprint(),
                   .coverage = world.coverage()};
  if (result.is_guilty) {
    result.verdict = Describe(scenario) + "\n" + world.checker().Verdict();
    result.shortest = world.checker().shortest();
  }
  return result;
}

}  // namespace plov::sim
