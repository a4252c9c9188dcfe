// Descriptors: whether the process may open as many files as its clients need.
#pragma once

#include <string>

#include "server/server_options.h"

namespace plov::server {

// Raises the soft limit of open files to the hard one. Returns what the operator should hear when
// that is too low for the clients that these options let in; empty when it is enough.
std::string RaiseDescriptorLimit(const ServerOptions& options);

}  // namespace plov::server
