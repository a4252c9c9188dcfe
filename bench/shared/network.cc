#include "bench/shared/network.h"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace plov::bench {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string NameOf(const std::string& host, uint16_t port) {
  return (host.empty() ? "*" : host) + ":" + std::to_string(port);
}

std::expected<Addresses, Error> Resolve(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                   std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(Code::kUnavailable, "cannot resolve " + host + ": " + ::gai_strerror(failed));
  }
  return Addresses(found, &::freeaddrinfo);
}

fabric::Fd SocketFor(const addrinfo& address) {
  return fabric::Fd(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0));
}

// Small messages, each waited for.
fabric::Fd WithoutDelay(fabric::Fd socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

}  // namespace

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

std::expected<std::pair<fabric::Fd, fabric::Fd>, Error> ConnectedPair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return FailErrno("cannot make a socket pair", errno);
  }
  return std::pair(fabric::Fd(fds[0]), fabric::Fd(fds[1]));
}

std::expected<fabric::Fd, Error> ListenOn(const std::string& host, uint16_t port) {
  const auto addresses = Resolve(host, port, AI_PASSIVE);
  if (!addresses) return std::unexpected(addresses.error());
  const addrinfo& address = **addresses;
  fabric::Fd socket = SocketFor(address);
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    const int error_number = errno;
    if (error_number == EADDRINUSE) {
      return Fail(Code::kInUse, NameOf(host, port) + " is in use: name another --port");
    }
    return FailErrno("cannot listen on " + NameOf(host, port), error_number);
  }
  return socket;
}

std::expected<fabric::Fd, Error> Accept(const fabric::Fd& listener) {
  fabric::Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return FailErrno("cannot accept a client", errno);
  return WithoutDelay(std::move(socket));
}

std::expected<fabric::Fd, Error> ConnectTo(const std::string& host, uint16_t port) {
  const auto addresses = Resolve(host, port, 0);
  if (!addresses) return std::unexpected(addresses.error());
  for (const addrinfo* address = addresses->get(); address != nullptr; address = address->ai_next) {
    fabric::Fd socket = SocketFor(*address);
    if (socket && ::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0) {
      return WithoutDelay(std::move(socket));
    }
  }
  return Fail(Code::kUnavailable, "no server on " + NameOf(host, port) + " (" +
                                      std::strerror(errno) +
                                      "): start plov-bench verbs --server there");
}

std::expected<uint16_t, Error> FreePort() {
  const auto socket = ListenOn("", 0);
  if (!socket) return std::unexpected(socket.error());
  sockaddr_storage storage{};
  auto* address = static_cast<sockaddr*>(static_cast<void*>(&storage));
  socklen_t bytes = sizeof(storage);
  std::array<char, NI_MAXSERV> name{};
  if (::getsockname(socket->get(), address, &bytes) != 0 ||
      ::getnameinfo(address, bytes, nullptr, 0, name.data(), name.size(), NI_NUMERICSERV) != 0) {
    return FailErrno("cannot find a free port", errno);
  }
  return static_cast<uint16_t>(std::strtoul(name.data(), nullptr, 10));
}

}  // namespace plov::bench
