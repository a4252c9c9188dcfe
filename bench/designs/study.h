// DesignsStudy: the designs that plov comes from, and plov, side by side, in rounds.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/designs/clients.h"
#include "bench/designs/servers.h"
#include "bench/page/page.h"
#include "bench/shared/sample.h"

namespace plov::bench {

// kInvalidArgument with one line that says what is wrong; kUnavailable where there is no plovd.
std::expected<DesignsSettings, Error> DesignsSettingsOf(const Given& given);

// One design, size of values and window; a value of each round's.
struct DesignRow {
  size_t design = 0;  // its index in kDesignNames
  uint32_t value_bytes = 0;
  uint32_t window = 0;
  Sample per_second;
  Sample reads;          // a GET
  Sample bytes;          // a GET
  Sample server_cpu_us;  // a GET
  Sample median_us;      // one at a time
  Sample p99_us;

  // By Little's law.
  double mean_us() const { return per_second.empty() ? 0 : 1e6 * window / per_second.median(); }
};

struct DesignsStudy {
  DesignsSettings settings;
  std::string fabric;  // its URI's scheme
  std::string device;  // empty: no RDMA
  std::vector<DesignRow> rows;
  std::vector<DesignClientsRow> clients;  // of the first size of values

  const DesignRow* Find(size_t design, uint32_t value_bytes, uint32_t window) const;
  const DesignClientsRow* FindClients(const DesignWork& work, uint32_t clients) const;
};

// The windows that latency by load is measured at, ascending, the largest `window`.
std::vector<uint32_t> WindowsUpTo(uint32_t window);

// Starts the servers, measures, ends them. Errors: those of device, servers and clients; kCorrupt
// (a wrong value).
std::expected<DesignsStudy, Error> StudyDesigns(const DesignsSettings& settings);

Page PageOf(const DesignsStudy& study);
program::Json JsonOf(const DesignsStudy& study);

}  // namespace plov::bench
