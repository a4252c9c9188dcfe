// A command line from its words to its exit status.
#pragma once

#include <string>
#include <vector>

#include "client/cli/options.h"

namespace plov::cli {

// Writes to standard output and standard error. Returns the exit status.
int Run(const std::vector<std::string>& words, const Options& defaults);

}  // namespace plov::cli
