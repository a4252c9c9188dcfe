// The options of plov-door: command line, file and environment, in this order of precedence.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "service/options.h"
#include "verify/error.h"

namespace plov::door {

struct Options : service::Options {
  std::string server = "shm:default";
  std::vector<std::string> memcached;
  std::string memcached_auth_file;  // empty: clients of memcached need no password
  std::vector<std::string> redis;
  unsigned threads = 0;  // 0: as many as processors
  size_t clients_max = 10'000;
  size_t memory_bytes = size_t{1} << 30;
  size_t item_bytes_max = size_t{1} << 20;
  std::chrono::microseconds timeout = std::chrono::seconds(1);
};

// kInvalidArgument with one line that says what is wrong.
std::expected<Options, Error> ParseOptions(int argc, const char* const* argv);

std::string HelpText();

}  // namespace plov::door
