// Loopback: sockets of 127.0.0.1. Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace plov::program {

// Binds it to a port that is free; nothing: there is none, errno says why.
std::optional<uint16_t> BindLoopback(int socket);

// As connect(2).
bool ConnectLoopback(int socket, uint16_t port);

}  // namespace plov::program
