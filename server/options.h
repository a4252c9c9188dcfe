// The options of plovd: command line, file and environment, in this order of precedence.
#pragma once

#include <expected>
#include <string>

#include "server/server.h"

namespace plov::server {

struct Options {
  enum class Action { kServe, kHelp, kVersion };

  Action action = Action::kServe;
  ServerOptions server;
  std::string log_level = "info";
};

// kInvalidArgument with one line that says what is wrong.
std::expected<Options, Error> ParseOptions(int argc, const char* const* argv);

std::string HelpText();

}  // namespace plov::server
