// What `plov top --json` prints each time.
#pragma once

#include "client/cli/top_view.h"
#include "program/json.h"

namespace plov::cli {

// Numbers are per second; what is not known is not there.
program::Json TopJson(const TopView& view);

}  // namespace plov::cli
