// Places: where the door listens, HOST:PORT (a name, an IPv4 address or [IPv6]; empty or * for all) or the path of
// a Unix socket, which has a '/'.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::door {

// kInvalidArgument: it is no place.
std::expected<void, Error> CheckPlace(const std::string& place);

// Sockets that listen there, one for each address of the host. A socket file that nobody listens at any more is
// replaced. kInUse, kPermission, kSystem.
std::expected<std::vector<fabric::Fd>, Error> ListenAt(const std::string& place);

// As a client names it: with the port that was chosen for port 0.
std::string NameOfSocket(const fabric::Fd& socket, const std::string& place);

}  // namespace plov::door
