#include <fmt/core.h>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"

namespace plov::cli {

Outcome Ping(const Options& options, program::Output* output) {
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto time = (*client)->Ping();
  if (!time) return std::unexpected(time.error());
  const double microseconds = static_cast<double>(time->count()) / 1e3;
  if (options.json) {
    program::Json object = program::Json::object();
    object["server"] = options.server;
    object["round_trip_us"] = microseconds;
    output->Write(program::LineOf(object));
  } else {
    output->Write(fmt::format("{} answered in {:.1f} us\n", options.server, microseconds));
  }
  return {};
}

}  // namespace plov::cli
