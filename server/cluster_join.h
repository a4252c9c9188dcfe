// Makes of the options of a server of a cluster what its coordinator says of it: URIs, shards, and what it shows.
#pragma once

#include <expected>

#include "server/options.h"

namespace plov::server {

// Reads what the coordinator of --cluster holds, once: of a file, who changes it restarts the servers. Of a single
// server nothing changes. URIs that were given with --listen stay.
//
// kInvalidArgument, kNotFound, kProtocol, and those of the coordinator: one line that says what is wrong with it, with
// --id or with --memory.
std::expected<void, Error> JoinCluster(Options* options);

}  // namespace plov::server
