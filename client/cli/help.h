// What --help prints.
#pragma once

#include <string>

#include "client/cli/commands.h"

namespace plov::cli {

// Of one command, or of plov when it is null.
std::string HelpText(const Command* command);

}  // namespace plov::cli
