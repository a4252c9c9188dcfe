// The RDMA device that servers of the tool's own listen on.
#pragma once

#include <expected>
#include <string>

#include "bench/verbs/measure.h"
#include "verify/error.h"

namespace plov::bench {

// Has an IP address. Errors: FindDevice's; kUnavailable.
std::expected<DeviceName, Error> FindServingDevice(const WantedDevice& wanted);

// A server's URI on it, with a port that nobody listens on now.
std::expected<std::string, Error> FreeUriOn(const DeviceName& device);

}  // namespace plov::bench
