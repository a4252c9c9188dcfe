#include "bench/shared/device.h"

#include <fmt/core.h>

#include "bench/shared/sockets.h"

namespace plov::bench {

std::expected<DeviceName, Error> FindServingDevice(const WantedDevice& wanted) {
  auto device = FindDevice(wanted);
  if (device && device->address.empty()) {
    return Fail(Code::kUnavailable, device->name + " has no IP address: name it by --address");
  }
  return device;
}

std::expected<std::string, Error> FreeUriOn(const DeviceName& device) {
  const auto port = FreePort();
  if (!port) return std::unexpected(port.error());
  const bool is_ipv6 = device.address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + device.address + "]" : device.address;
  return fmt::format("rdma://{}:{}", host, *port);
}

}  // namespace plov::bench
