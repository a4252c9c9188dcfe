// Sockets: streams between the two sides of a measurement.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

// The two ends of a stream within this machine.
std::expected<std::pair<fabric::Fd, fabric::Fd>, Error> ConnectedPair();

// Of an empty host: all addresses of this machine. kInUse, kUnavailable.
std::expected<fabric::Fd, Error> ListenOn(const std::string& host, uint16_t port);
std::expected<fabric::Fd, Error> Accept(const fabric::Fd& listener);
std::expected<fabric::Fd, Error> ConnectTo(const std::string& host, uint16_t port);

// A TCP port that nobody listens on now.
std::expected<uint16_t, Error> FreePort();

}  // namespace plov::bench
