// static:FILE: a coordinator that an operator is. The file is a JSON object of paths and their values,
//
//   {"config": {"format": 1, ...}, "shards/0": {"epoch": 1, ...}, "servers/a1": {...}}
//
// Nothing but an editor changes it: servers start, and nobody takes over from one that fails. It is read again when it
// was replaced or written to; while it makes no sense, everything that reads it fails.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "cluster/coordinator.h"

namespace plov::cluster {

// kNotFound, kPermission; kInvalidArgument with the place of what is no JSON.
std::expected<std::unique_ptr<Coordinator>, Error> OpenStatic(const std::string& file);

}  // namespace plov::cluster
