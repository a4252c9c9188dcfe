#include "door/place.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace plov::door {

namespace {

constexpr int kBacklog = 4096;

bool IsPath(std::string_view place) { return place.find('/') != std::string_view::npos; }

struct HostPort {
  std::string host;  // empty: all
  std::string port;
};

std::expected<HostPort, Error> SplitPlace(const std::string& place) {
  const size_t colon = place.rfind(':');
  const auto wrong = [&] {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is neither HOST:PORT nor a path with a '/'", place));
  };
  if (colon == std::string::npos) return wrong();
  HostPort split{place.substr(0, colon), place.substr(colon + 1)};
  uint16_t port = 0;
  const char* end = split.port.data() + split.port.size();
  const auto [rest, failure] = std::from_chars(split.port.data(), end, port);
  if (split.port.empty() || failure != std::errc() || rest != end) return wrong();
  if (split.host == "*") split.host.clear();
  if (split.host.starts_with('[') && split.host.ends_with(']')) {
    split.host = split.host.substr(1, split.host.size() - 2);
  } else if (split.host.find(':') != std::string::npos) {
    return wrong();
  }
  return split;
}

std::expected<sockaddr_un, Error> UnixAddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}' is longer than the {} bytes that a socket's path may have", path,
                            sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const void* address) { return static_cast<const sockaddr*>(address); }

std::unexpected<Error> CannotListen(const std::string& place, int error_number) {
  if (error_number == EADDRINUSE) {
    return Fail(Code::kInUse, fmt::format("{}: another program listens there", place));
  }
  return FailErrno("cannot listen at " + place, error_number);
}

std::expected<fabric::Fd, Error> ListenAtAddress(int family, const sockaddr* address,
                                                 socklen_t bytes, const std::string& place) {
  fabric::Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return CannotListen(place, errno);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  if (::bind(socket.get(), address, bytes) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return CannotListen(place, errno);
  }
  return socket;
}

// A socket file is left behind by a process that was killed: nobody answers there.
bool IsLeftBehind(const sockaddr_un& address) {
  struct stat status;
  if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const fabric::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && ::connect(probe.get(), Generic(&address), sizeof(address)) != 0 &&
         errno == ECONNREFUSED;
}

std::expected<std::vector<fabric::Fd>, Error> ListenAtPath(const std::string& path) {
  const auto address = UnixAddressOf(path);
  if (!address) return std::unexpected(address.error());
  if (IsLeftBehind(*address)) ::unlink(path.c_str());
  auto socket = ListenAtAddress(AF_UNIX, Generic(&*address), sizeof(*address), path);
  if (!socket) return std::unexpected(socket.error());
  std::vector<fabric::Fd> sockets;
  sockets.push_back(std::move(*socket));
  return sockets;
}

}  // namespace

std::expected<void, Error> CheckPlace(const std::string& place) {
  if (IsPath(place)) {
    const auto address = UnixAddressOf(place);
    if (!address) return std::unexpected(address.error());
    return {};
  }
  const auto split = SplitPlace(place);
  if (!split) return std::unexpected(split.error());
  return {};
}

std::expected<std::vector<fabric::Fd>, Error> ListenAt(const std::string& place) {
  if (IsPath(place)) return ListenAtPath(place);
  const auto split = SplitPlace(place);
  if (!split) return std::unexpected(split.error());
  const addrinfo hints{.ai_flags = AI_PASSIVE,
                       .ai_family = AF_UNSPEC,
                       .ai_socktype = SOCK_STREAM,
                       .ai_protocol = 0,
                       .ai_addrlen = 0,
                       .ai_addr = nullptr,
                       .ai_canonname = nullptr,
                       .ai_next = nullptr};
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(split->host.empty() ? nullptr : split->host.c_str(),
                                    split->port.c_str(), &hints, &found);
  if (failure != 0) {
    return Fail(Code::kSystem, fmt::format("{}: {}", place, ::gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  std::vector<fabric::Fd> sockets;
  std::unexpected<Error> last = Fail(Code::kSystem, place + ": no address");
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    auto socket = ListenAtAddress(one->ai_family, one->ai_addr, one->ai_addrlen, place);
    if (socket) {
      sockets.push_back(std::move(*socket));
    } else {
      last = std::unexpected(socket.error());
      // A host without IPv6 has addresses of it all the same.
      if (socket.error().code == Code::kInUse) return last;
    }
  }
  if (sockets.empty()) return last;
  return sockets;
}

std::string NameOfSocket(const fabric::Fd& socket, const std::string& place) {
  if (IsPath(place)) return place;
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  void* const to = &address;
  if (::getsockname(socket.get(), static_cast<sockaddr*>(to), &bytes) != 0 ||
      ::getnameinfo(Generic(&address), bytes, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return place;
  }
  const bool is_long = address.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", is_long ? "[" : "", host.data(), is_long ? "]" : "", port.data());
}

}  // namespace plov::door
