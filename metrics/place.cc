#include "metrics/place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "fabric/os.h"

namespace plov::metrics {

namespace {

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// What the HTTP server would take for more than one place, and what ends a C string.
constexpr std::string_view kNeverInHosts("[]: ,\n\0", 7);

sockaddr_in SocketAddress(const Address& address, uint16_t port) {
  sockaddr_in socket{};
  socket.sin_family = AF_INET;
  socket.sin_port = htons(port);
  socket.sin_addr = address.host;
  return socket;
}

// As the calls take it.
const sockaddr* Generic(const sockaddr_in& address) {
  const void* any = &address;
  return static_cast<const sockaddr*>(any);
}

// The library that serves says neither what the system has against an address nor why.
std::expected<void, Error> TryToListen(const sockaddr_in& address, const std::string& what) {
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      ::bind(socket.get(), Generic(address), sizeof(address)) == 0 &&
      ::listen(socket.get(), 1) == 0) {
    return {};
  }
  if (errno == EADDRINUSE) return Fail(Code::kInUse, what + ": the port is in use");
  return FailErrno(what, errno);
}

}  // namespace

std::expected<Place, Error> ParsePlace(std::string_view text) {
  const auto invalid = [text] {
    return Fail(Code::kInvalidArgument,
                "metrics: '" + std::string(text) +
                    "' is not HOST:PORT, a name or an IPv4 address and a number: 127.0.0.1:9150");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid();
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.empty() || host.find_first_of(kNeverInHosts) != std::string_view::npos) return invalid();
  Place place{.host = std::string(host)};
  const auto [rest, failure] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (failure != std::errc() || rest != port.data() + port.size()) return invalid();
  return place;
}

std::string Address::text() const {
  std::array<char, INET_ADDRSTRLEN> numbers{};
  ::inet_ntop(AF_INET, &host, numbers.data(), numbers.size());
  return numbers.data();
}

std::expected<Address, Error> AddressOf(const Place& place) {
  const std::string what =
      "cannot serve metrics on " + place.host + ":" + std::to_string(place.port);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(place.host.c_str(), nullptr, &hints, &list);
  if (failed != 0) return Fail(Code::kSystem, what + ": " + ::gai_strerror(failed));
  const Found first(list, &::freeaddrinfo);
  sockaddr_in found;
  std::memcpy(&found, first->ai_addr, sizeof(found));
  const Address address{.host = found.sin_addr};
  if (auto tried = TryToListen(SocketAddress(address, place.port), what); !tried) {
    return std::unexpected(tried.error());
  }
  return address;
}

void Touch(const Address& address, uint16_t port) {
  const sockaddr_in to = SocketAddress(address, port);
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::connect(socket.get(), Generic(to), sizeof(to));
}

}  // namespace plov::metrics
