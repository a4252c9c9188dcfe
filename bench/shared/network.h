// Devices and sockets: the RDMA device that is measured and that servers of the tool's own listen on;
// streams between the two sides of a measurement.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "fabric/os.h"
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

// The two ends of a stream within this machine.
std::expected<std::pair<fabric::Fd, fabric::Fd>, Error> ConnectedPair();

// Of an empty host: all addresses of this machine. kInUse, kUnavailable.
std::expected<fabric::Fd, Error> ListenOn(const std::string& host, uint16_t port);
std::expected<fabric::Fd, Error> Accept(const fabric::Fd& listener);
std::expected<fabric::Fd, Error> ConnectTo(const std::string& host, uint16_t port);

// A TCP port that nobody listens on now.
std::expected<uint16_t, Error> FreePort();

}  // namespace plov::bench
