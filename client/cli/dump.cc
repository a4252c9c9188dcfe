#include <fmt/core.h>

#include <cstdio>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"

namespace plov::cli {

namespace {

// What the reader of the dump must know, though every item that could be read is there.
Outcome Conclude(const ScanSummary& summary) {
  if (summary.unreadable > 0) {
    return Fail(Code::kSystem,
                fmt::format("{} items could not be read and are missing: dump again, or restart "
                            "plovd if that does not help",
                            summary.unreadable));
  }
  if (!summary.settled) {
    fmt::print(stderr,
               "plov: dump: note: items were written all the while; dump again when it is quiet "
               "to be sure of having all\n");
  }
  return {};
}

}  // namespace

Outcome Dump(const Options& options, program::Output* output) {
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  std::string line;
  const auto summary = client->Scan([&](std::string_view key, const Item& item) {
    if (options.json) {
      line = program::LineOf(JsonOf(key, item));
    } else {
      line.clear();
      AppendLine(key, item.value, &line);
    }
    output->Write(line);
    return output->good();
  });
  if (!summary) return std::unexpected(summary.error());
  if (!output->good()) return {};  // Finish tells it
  return Conclude(*summary);
}

}  // namespace plov::cli
