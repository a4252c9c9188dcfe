// Perftest: the package's ib_read_bw and ib_read_lat, run as a pair of processes here, and what
// they print.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

#include "bench/shared/network.h"
#include "verify/error.h"

namespace plov::bench {

// The first row of numbers that a program of perftest prints, by the names of the columns:
// "#bytes", "MsgRate[Mpps]", "t_typical[usec]". kProtocol: there is none.
std::expected<std::map<std::string, double>, Error> ParsePerftest(std::string_view output);

struct PerftestRun {
  std::string program;  // "ib_read_bw", "ib_read_lat"
  DeviceName device;
  uint32_t bytes = 0;
  uint64_t iterations = 0;
};

// Runs it to its end. Errors: kUnavailable (it is not installed, or failed, with the end of what it
// said), kTimeout, kProtocol.
std::expected<std::map<std::string, double>, Error> RunPerftest(const PerftestRun& run);

}  // namespace plov::bench
