#include <chrono>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace plov::cli {

Outcome Sync(const Options& options, program::Output* output) {
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  const auto begun = std::chrono::steady_clock::now();
  if (auto synced = client->Sync(); !synced) return NoUsageError(std::move(synced.error()));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  if (options.json) {
    program::Json object = program::Json::object();
    object["server"] = options.server;
    object["seconds"] = took.count();
    output->Write(program::LineOf(object));
  }
  return {};
}

}  // namespace plov::cli
