// Settings of `plov-bench verbs`: what its options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/tool/command.h"
#include "bench/verbs/combination.h"
#include "bench/verbs/measure.h"

namespace plov::bench {

struct VerbsSettings {
  enum class Role { kBoth, kServer, kClient };

  Role role = Role::kBoth;
  std::string host;  // of the server, for kClient
  uint16_t port = 7471;
  WantedDevice device;
  std::vector<const Combination*> combinations;
  std::vector<uint32_t> bytes;
  std::vector<uint32_t> windows;  // ascending, 1 among them: latency
  std::chrono::microseconds duration = std::chrono::milliseconds(300);
  uint32_t rounds = 3;
  bool json = false;
  std::string svg;  // files; empty: none
  std::string html;
};

// kInvalidArgument with one line that says what is wrong.
std::expected<VerbsSettings, Error> VerbsSettingsOf(const Given& given);

}  // namespace plov::bench
