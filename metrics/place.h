// Places: where to listen, HOST:PORT. Of IPv4, since the HTTP server of Debian knows no other.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::metrics {

struct Place {
  std::string host;  // a name or an address
  uint16_t port = 0;
};

// kInvalidArgument.
std::expected<Place, Error> ParsePlace(std::string_view text);

// An address of this host that one can listen at.
struct Address {
  in_addr host{};

  bool is_loopback() const { return ntohl(host.s_addr) >> 24 == IN_LOOPBACKNET; }
  std::string text() const;  // as numbers
};

// Looks the name up, and tries whether one can listen there. kInUse, kPermission, kSystem.
std::expected<Address, Error> AddressOf(const Place& place);

// Connects to who listens at this port of it, and goes.
void Touch(const Address& address, uint16_t port);

}  // namespace plov::metrics
