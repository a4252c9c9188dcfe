// Who may begin a shard with nothing: a new cluster's, or one whose replicas have all lost their memory, when an operator
// has said so.
//
// A member's incarnation names memory (rule S5 of cluster/replica.h), so a configuration with a new one has to become true
// once and no more: a server that did not notice that it had begun, and began again, would deny what was acknowledged
// meanwhile. So the member is written a second time, at a path of its own, and begins when it has marked that as taken.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "cluster/configuration_register.h"

namespace plov::cluster {

std::string EmptyStartPath(uint32_t shard);

// The shard is to begin with nothing on this server: its items and sessions are lost, wherever a replica still has them.
// Errors: as of the coordinator, and kVersionMismatch: the configuration has changed meanwhile; kUnknown: call it again.
std::expected<void, Error> ForceEmptyStart(Coordinator* coordinator, uint64_t cluster_id,
                                           uint32_t shard, const std::string& server);

// The configuration in which `server` alone begins with nothing, under the incarnation that it names; the caller is the
// one who does. nullopt: it is not to. Errors: as of the coordinator; after kUnknown nobody may begin, until it is forced.
std::expected<std::optional<Held>, Error> TakeEmptyStart(Coordinator* coordinator,
                                                         uint64_t cluster_id, uint32_t shard,
                                                         const std::string& server);

}  // namespace plov::cluster
