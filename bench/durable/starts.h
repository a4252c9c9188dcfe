// Starts of servers on logs that hold items, by replay and from snapshots.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "bench/durable/study.h"

namespace plov::bench {

struct StartPlace {
  std::string folder;      // of sockets
  std::string log_folder;  // of logs
};

// For values of 64 bytes and of 1 KB, of the settings' items; of the larger as many as make 128 MiB.
// Errors: kCorrupt (an item is missing), the server's, the client's.
std::expected<std::vector<StartRow>, Error> MeasureStarts(
    const DurableSettings& settings, const StartPlace& place,
    const std::function<void(const std::string&)>& say);

}  // namespace plov::bench
