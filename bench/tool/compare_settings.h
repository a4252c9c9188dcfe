// Settings of `plov-bench compare`: what its options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/peers/peer.h"
#include "bench/tool/command.h"

namespace plov::bench {

struct CompareSettings {
  std::string plovd;  // its path
  std::vector<const PeerKind*> peers;
  uint64_t items = 4'000'000;
  uint32_t rounds = 5;
  std::chrono::microseconds duration = std::chrono::milliseconds(500);
  bool huge_pages = false;  // of plov's server
  bool quick = false;
  bool json = false;
  std::string html;  // a file's path; empty: none
};

// kInvalidArgument with one line that says what is wrong; kUnavailable where there is no plovd.
std::expected<CompareSettings, Error> CompareSettingsOf(const Given& given);

}  // namespace plov::bench
