#include "client/cli/scans.h"

#include <fmt/core.h>

#include <cstdio>

namespace plov::cli {

Outcome Conclude(const Options& options, const ScanSummary& summary) {
  const auto command = options.command->name;
  if (summary.unreadable > 0) {
    return Fail(Code::kSystem,
                fmt::format("{} items could not be read and are missing: {} again, or restart "
                            "plovd if that does not help",
                            summary.unreadable, command));
  }
  if (!summary.settled) {
    fmt::print(stderr,
               "plov: {0}: note: items were written all the while; {0} again when it is quiet to "
               "be sure of having all\n",
               command);
  }
  return {};
}

}  // namespace plov::cli
