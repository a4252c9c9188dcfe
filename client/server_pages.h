// What a server tells of itself in pages of its regions, as a Client hands it out.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "client/server_clock.h"

namespace plov {

// The text of one shard, of its page of counters; kProtocol when it is none.
std::expected<void, Error> AppendStats(std::span<const std::byte> page, ServerClock::Bounds now,
                                       std::vector<std::string>* texts);

// Those of one shard that are whole.
std::expected<void, Error> AppendSlowWrites(uint32_t shard, std::span<const std::byte> pages,
                                            std::vector<SlowWrite>* all);

}  // namespace plov
