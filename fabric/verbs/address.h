// Addresses: what "rdma://HOST:PORT" names.
#pragma once

#include <sys/socket.h>

#include <expected>
#include <string>
#include <string_view>

#include "fabric/fabric.h"

namespace plov::fabric::verbs {

struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  std::string port;  // 1 to 65535
};

// kInvalidArgument where the URI is no "rdma://HOST:PORT".
std::expected<HostPort, Error> ParseUri(std::string_view uri);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  sockaddr* get();
  // Of no particular interface: 0.0.0.0 or ::.
  bool any() const;
};

// The first address of the host; kUnavailable when its name is unknown, kTimeout when nobody says
// so by the deadline.
std::expected<SocketAddress, Error> Resolve(const HostPort& name, Deadline deadline);

}  // namespace plov::fabric::verbs
