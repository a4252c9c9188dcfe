// config: shows and changes what can change while the server runs.

#include <fmt/core.h>

#include <sstream>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace plov::cli {

namespace {

constexpr auto kUsage = "usage: plov config get [NAME] | set NAME VALUE (try plov config --help)";

// Lines of "name value".
std::string Shown(const Options& options, const std::string& lines) {
  std::istringstream text(lines);
  program::Json object = program::Json::object();
  std::string shown;
  std::string name;
  for (std::string value; text >> name && std::getline(text >> std::ws, value);) {
    object[name] = value;
    shown += fmt::format("{:<22} {}\n", name, value);
  }
  return options.json ? program::LineOf(object) : shown;
}

}  // namespace

Outcome Config(const Options& options, program::Output* output) {
  const auto& words = options.words;
  const bool sets = words[0] == "set" && words.size() == 3;
  if (!sets && (words[0] != "get" || words.size() > 2)) return Fail(Code::kInvalidArgument, kUsage);
  auto client = ConnectAsAdministrator(options);
  if (!client) return std::unexpected(client.error());
  const auto lines = sets ? client->Administer("set", words[1] + " " + words[2])
                          : client->Administer("config", words.size() == 2 ? words[1] : "");
  if (!lines) return std::unexpected(lines.error());
  if (!sets || options.json) output->Write(Shown(options, *lines));
  return {};
}

}  // namespace plov::cli
