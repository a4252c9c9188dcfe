// What the commands that scan a server's items share.
#pragma once

#include <plov/client.h>

#include "client/cli/commands.h"
#include "client/cli/options.h"

namespace plov::cli {

// What the user of a scan must know, though every item that could be read was visited.
Outcome Conclude(const Options& options, const ScanSummary& summary);

}  // namespace plov::cli
