// Info: the reply of INFO, from what the door counts.
#pragma once

#include <string>
#include <string_view>

#include "door/totals.h"

namespace plov::door::redis {

// section: "server", "clients", "memory", "stats" or "replication"; or all of them, "default", "all" or
// "everything". Of another one nothing is said.
std::string InfoText(std::string_view section, const Totals& totals);

}  // namespace plov::door::redis
