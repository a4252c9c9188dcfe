// Devices: the RDMA device that is measured, and that servers of the tool's own listen on.
#pragma once

#include <expected>
#include <string>

#include "verify/error.h"

namespace plov::bench {

struct WantedDevice {
  std::string name = {};     // empty: any
  std::string address = {};  // of its netdev; empty: any
};

struct DeviceName {
  std::string name = {};
  std::string address = {};  // of its netdev; empty where its GID is none of IPv4 or routable IPv6
  unsigned gid_index = 0;
};

// The device that the measurements use. kUnavailable where there is none, or plov was built without
// rdma-core.
std::expected<DeviceName, Error> FindDevice(const WantedDevice& wanted);

// One with an IP address. Errors: FindDevice's; kUnavailable.
std::expected<DeviceName, Error> FindServingDevice(const WantedDevice& wanted);

// A server's URI on it, with a port that nobody listens on now.
std::expected<std::string, Error> FreeUriOn(const DeviceName& device);

}  // namespace plov::bench
