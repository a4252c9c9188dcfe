// zk: a ZooKeeper ensemble as the coordinator, by Debian's C client (libzookeeper-mt).
//
// What is known to go wrong with that client, and what is done here:
//  - It has threads of its own, and its documentation does not say which calls may be made at the same time: all of
//    them are made under one mutex, which none of its callbacks takes.
//  - zookeeper_close in a callback deadlocks, and a handle is dead when its session has ended: a callback only notes
//    that, the next call closes the handle and makes another.
//  - Host names may be used after they are freed (ZOOKEEPER-4699): it is given addresses. They are looked up at the
//    start of each session.
//  - Its log of level debug uses freed memory (ZOOKEEPER-4809), and goes to standard error: the level is warn, the
//    stream /dev/null, and lines about a handle go to Options::log.
//  - Watches fire once: every look at a watched path arms its watch again, and a connection that has come back is a
//    hint for all.
//  - It has neither TLS nor SASL.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "cluster/coordinator.h"

namespace plov::cluster {

// place: HOSTS/ROOT, what follows zk://. Errors: as Open.
std::expected<std::unique_ptr<Coordinator>, Error> OpenZk(const std::string& place,
                                                          const Options& options);

}  // namespace plov::cluster
