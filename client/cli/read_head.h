// ReadHead: one READ of the first bytes of a region, and how long it takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <span>

#include "fabric/fabric.h"

namespace plov::cli {

using Microseconds = std::chrono::duration<double, std::micro>;

// Waits until they are there. `to` outlives the connection, since a READ that is given up may still arrive. kTimeout,
// kUnavailable, kSystem.
std::expected<Microseconds, Error> ReadHead(fabric::Connection* connection, std::span<std::byte> to,
                                            fabric::Deadline deadline);

}  // namespace plov::cli
