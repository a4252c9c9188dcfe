// The shared-memory fabric: for clients on the server's own host; the default, on every machine.
//
// Set-up goes over a Unix socket, which passes file descriptors; afterwards it carries the bytes
// that wake a sleeper, and tells each side that the other died. So a side waits for messages, new
// connections and dead peers in one place, which a futex could not. Clients map the server's region
// read-only; a READ is a word copy by the client's own processor. Messages go through a pair of
// rings per connection.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "fabric/fabric.h"

namespace plov::fabric::shm {

bool IsShm(std::string_view uri);

// The socket path behind a URI: "shm:/path" is that path; "shm:NAME" is /run/plov/NAME.sock for
// root, $XDG_RUNTIME_DIR/plov-NAME.sock for others (/tmp/plov-UID/NAME.sock where that is not set).
std::expected<std::string, Error> SocketPath(std::string_view uri);

std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view uri,
                                                          const ConnectOptions& options);

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options);

}  // namespace plov::fabric::shm
