// Settings of `plov-bench table`: what its options say.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/tool/command.h"

namespace plov::bench {

struct TableSettings {
  uint64_t items = 1'000'000;  // what a table would hold if every bucket had one
  uint32_t seeds = 5;
  std::vector<uint32_t> bucket_bytes = {64, 128};
  bool json = false;
  std::string html;  // its path; empty: none
};

// kInvalidArgument with one line that says what is wrong.
std::expected<TableSettings, Error> TableSettingsOf(const Given& given);

}  // namespace plov::bench
