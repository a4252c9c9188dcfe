// The process of a server, as this host shows it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "program/machine.h"

namespace plov::cli {

struct ServerProcess {
  pid_t id;
  bool is_stopped;  // by a signal
};

// text: what a shard tells of its server (Client::ServerStats). nullopt: it is on another host, where the
// number would be somebody else's here, or no plovd has the number.
std::optional<ServerProcess> ProcessOf(std::string_view uri, std::string_view text,
                                       const program::Machine& machine = program::Machine());

}  // namespace plov::cli
