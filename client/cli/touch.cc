// touch: another expiry.

#include <string>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace plov::cli {

Outcome Touch(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto version = (*client)->Touch(key, options.put.ttl);
  if (!version && version.error().code == Code::kNotFound) return NoItem(key);
  if (!version) return std::unexpected(version.error());
  if (options.json) output->Write(program::LineOf(JsonOfWrite(key, *version)));
  return {};
}

}  // namespace plov::cli
