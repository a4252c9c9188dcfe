// What the parts of `plov shell` share.
#pragma once

#include <functional>
#include <string_view>

#include "client/cli/options.h"

namespace plov::cli {

// Runs the lines that come from a file descriptor, to its end or to `exit`, and tells the exit status of each
// that has words. Returns that of the last one.
int RunLines(const Options& defaults, int fd, const std::function<void(int)>& done);

}  // namespace plov::cli
