// Settings of `plov-bench designs`: what its options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/tool/command.h"
#include "bench/verbs/measure.h"

namespace plov::bench {

struct DesignsSettings {
  bool is_rdma = false;
  WantedDevice device;
  std::string plovd;  // its path
  uint64_t items = 100'000;
  std::vector<uint32_t> value_bytes = {16, 64, 256, 1024};
  uint32_t window = 32;
  std::vector<uint32_t> clients = {1, 2, 4, 8};  // processes; ascending
  std::vector<uint32_t> servers = {1, 2, 4};     // processes or shards; ascending
  uint32_t rounds = 3;
  std::chrono::microseconds duration = std::chrono::milliseconds(200);
  bool json = false;
  std::string html;  // its path; empty: none
};

// kInvalidArgument with one line that says what is wrong; kUnavailable where there is no plovd.
std::expected<DesignsSettings, Error> DesignsSettingsOf(const Given& given);

}  // namespace plov::bench
