// Stats: the reply of memcached's stats, from what the door counts.
#pragma once

#include <string>
#include <string_view>

#include "door/totals.h"

namespace plov::door::memcached {

// argument: empty, settings, slabs, items; else "ERROR".
std::string StatsReply(std::string_view argument, const Totals& totals);

}  // namespace plov::door::memcached
