#include "program/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace plov::program {

namespace {

union Address {
  sockaddr any;
  sockaddr_in in;
};

Address Loopback(uint16_t port) {
  Address address{};
  address.in.sin_family = AF_INET;
  address.in.sin_port = htons(port);
  address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

std::optional<uint16_t> BindLoopback(int socket) {
  Address address = Loopback(0);
  socklen_t bytes = sizeof(address.in);
  if (::bind(socket, &address.any, bytes) != 0) return std::nullopt;
  if (::getsockname(socket, &address.any, &bytes) != 0) return std::nullopt;
  return ntohs(address.in.sin_port);
}

bool ConnectLoopback(int socket, uint16_t port) {
  const Address address = Loopback(port);
  return ::connect(socket, &address.any, sizeof(address.in)) == 0;
}

}  // namespace plov::program
