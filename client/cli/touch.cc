// touch: another expiry, by a PUT of the same item over its version.

#include <fmt/core.h>

#include <chrono>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace plov::cli {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// Again where somebody else has written the item in between. From the primary: the PUT needs the
// newest version.
Outcome Touch(const Options& options, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  Options of_primary = options;
  of_primary.read_from = ReadFrom::kPrimary;
  const auto client = ConnectOnce(of_primary);
  if (!client) return std::unexpected(client.error());
  const auto end = Clock::now() + options.timeout;
  PutOptions put = options.put;
  do {
    const auto hit = (*client)->Get(key);
    if (!hit) return std::unexpected(hit.error());
    if (!*hit) return NoItem(key);
    put.flags = (*hit)->flags;
    put.expected_version = (*hit)->version;
    const std::string value((*hit)->value);  // the client's own bytes do not outlive its next call
    const auto version = (*client)->Put(key, value, put);
    if (version) {
      program::Json object = program::Json::object();
      AddBytes("key", key, &object);
      object["version"] = *version;
      if (options.json) output->Write(program::LineOf(object));
      return {};
    }
    if (version.error().code == Code::kNotFound) return NoItem(key);
    if (version.error().code != Code::kVersionMismatch) return std::unexpected(version.error());
  } while (Clock::now() < end);
  return Fail(Code::kVersionMismatch,
              fmt::format("the key '{}' was written again before each try: its expiry is as its "
                          "writers set it; allow more with --timeout",
                          key));
}

}  // namespace plov::cli
