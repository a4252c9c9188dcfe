// DesignsStudy: the designs that plov comes from, and plov, side by side, in rounds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

// Emulations first, as in Design; plov with the buckets that it chooses, then with those of 64 bytes.
inline constexpr auto kDesignNames = std::to_array<std::string_view>(
    {"Pilaf", "FaRM-KV, inline", "FaRM-KV, pointers", "HERD", "plov, cold", "plov, known",
     "plov 64, cold", "plov 64, known"});
inline constexpr size_t kHerdDesign = 3;
inline constexpr size_t kColdDesign = 4;
inline constexpr size_t kKnownDesign = 5;
inline constexpr size_t kCold64Design = 6;
inline constexpr size_t kKnown64Design = 7;
constexpr bool RemembersLocations(size_t design) {
  return design == kKnownDesign || design == kKnown64Design;
}

struct DesignsSettings : StudySettings, FabricChoice {
  DesignsSettings() : StudySettings(3, std::chrono::milliseconds(200)) {}

  uint64_t items = 100'000;
  std::vector<uint32_t> value_bytes = {16, 64, 256, 1024};
  uint32_t window = 32;
  std::vector<uint32_t> clients = {1, 2, 4, 8};  // processes; ascending
  std::vector<uint32_t> servers = {1, 2, 4};     // processes or shards; ascending
};

// What is asked of a design.
struct DesignWork {
  size_t design = 0;     // its index in kDesignNames
  uint32_t servers = 1;  // that share the items: processes; plovd's shards
  bool puts = false;     // of the items that are there; of plov's alone

  bool operator==(const DesignWork&) const = default;
};

// One work, size of values, window and number of clients; a value of each round's.
struct DesignRow {
  DesignWork work;
  uint32_t value_bytes = 0;
  uint32_t window = 0;
  uint32_t clients = 1;
  Sample per_second = {};     // of all clients
  Sample reads = {};          // a GET
  Sample bytes = {};          // a GET
  Sample server_cpu_us = {};  // an operation
  Sample median_us = {};      // one at a time
  Sample p99_us = {};

  // By Little's law, of one client.
  double mean_us() const { return per_second.empty() ? 0 : 1e6 * window / per_second.median(); }
  // The servers' CPU time in a second.
  double cores() const { return per_second.median() * server_cpu_us.median() / 1e6; }
};

struct DesignsStudy {
  DesignsSettings settings;
  std::string fabric;           // its URI's scheme
  std::string device;           // empty: no RDMA
  std::vector<DesignRow> rows;  // GETs of one client of every design, by size of values and window
  // Of the first size of values, at the window: GETs of every design by the numbers of clients; and
  // by the numbers of servers, with the most clients, what needs the servers' CPU: HERD's GETs,
  // plov's PUTs.
  std::vector<DesignRow> clients;
};

// The windows that latency by load is measured at, ascending, the largest `window`.
std::vector<uint32_t> WindowsUpTo(uint32_t window);

// Starts the servers, measures, ends them. Clients are processes, begin at the same moment, each at a
// place of its own in the load's order.
//
// Threads: the main thread, while there is no other (process_pool.h).
// Errors:  those of device, servers and clients; kCorrupt (a wrong value).
std::expected<DesignsStudy, Error> StudyDesigns(const DesignsSettings& settings);

Page PageOf(const DesignsStudy& study);
program::Json JsonOf(const DesignsStudy& study);

}  // namespace plov::bench
