// BusyStudy: PUTs of plov and of Redis while the processors are wanted by others, too. What counts is
// the worst round: a server that is fast when nothing else runs and stalls when something does
// is not fast.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/page/page.h"
#include "bench/peers/peer.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

enum class Busy : uint8_t { kQuiet, kShards, kClients, kLoops };
inline constexpr std::array kBusyNames = std::to_array<std::string_view>(
    {"quiet", "shards = 2 x processors", "clients = 4 x processors", "2 busy loops a processor"});
constexpr std::string_view NameOf(Busy busy) { return kBusyNames.at(static_cast<size_t>(busy)); }

struct BusySettings : StudySettings {
  BusySettings() : StudySettings(8, std::chrono::milliseconds(300)) {}
};

// PUTs a second, of all clients together, round by round.
struct BusyRow {
  Busy busy;
  Way way;
  Sample plov;
  Sample redis;  // empty: skipped
};

// What is wanted of a ratio.
struct BusyGoal {
  std::string what;
  double least;
  double measured;

  bool reached() const { return measured >= least; }
};

struct BusyStudy {
  BusySettings settings;
  uint32_t processors = 0;
  std::string skipped;  // why there is no Redis
  std::vector<BusyRow> rows;

  const BusyRow& Find(Busy busy, Way way) const;
};

// Errors: the server's and the clients'.
std::expected<BusyStudy, Error> StudyBusy(const BusySettings& settings);

std::vector<BusyGoal> GoalsOf(const BusyStudy& study);
void to_json(program::Json& json, const BusyRow& row);
void to_json(program::Json& json, const BusyGoal& goal);
Page PageOf(const BusyStudy& study);
program::Json JsonOf(const BusyStudy& study);

}  // namespace plov::bench
