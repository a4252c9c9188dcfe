// Host memory: whether a server's memory, once it is full, leaves the host enough.
#pragma once

#include <cstdint>
#include <string>

#include "server/server_options.h"

namespace plov::server {

// What the operator should hear when --memory and what others use now are nearly all of the host's memory, or
// of what a control group allows this process; empty when they are not. A host that does not say how much
// others use has none in use. own_bytes: in use, and this server's. root: of /proc and /sys, for tests.
std::string WarnOfHostMemory(const ServerOptions& options, uint64_t own_bytes,
                             const std::string& root = "");

// What the files of --warm take of the memory already, before a start.
uint64_t WarmBytes(const ServerOptions& options);

}  // namespace plov::server
