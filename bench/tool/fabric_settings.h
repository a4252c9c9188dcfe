// Settings of `plov-bench fabric`: what its options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "bench/tool/command.h"
#include "bench/verbs/measure.h"

namespace plov::bench {

struct FabricSettings {
  bool is_rdma = true;
  WantedDevice device;
  std::string plovd;  // its path
  uint64_t items = 10'000;
  uint32_t value_bytes = 64;  // of items that lie in records
  uint32_t window = 32;
  uint32_t rounds = 5;
  std::chrono::microseconds duration = std::chrono::milliseconds(500);
  bool json = false;
  std::string html;  // a file; empty: none
};

// kInvalidArgument with one line that says what is wrong; kUnavailable where there is no plovd.
std::expected<FabricSettings, Error> FabricSettingsOf(const Given& given);

}  // namespace plov::bench
