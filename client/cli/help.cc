#include "client/cli/help.h"

#include <fmt/core.h>

#include "client/cli/options.h"

namespace plov::cli {

namespace {

std::string HelpOf(const Command& command) {
  const std::string_view gap = command.synopsis.empty() ? "" : " ";
  std::string text = fmt::format("plov {0} - {1}\n\nUsage: plov [OPTION]... {0}{2}{3}\n\n",
                                 command.name, command.summary, gap, command.synopsis);
  if (!command.alias.empty()) text += fmt::format("plov {} is the same.\n\n", command.alias);
  for (const auto& part : {std::string(command.details), OptionsText(command)}) {
    if (!part.empty()) text.append(part).append("\n");
  }
  text += "plov --help lists the options of every command.\n";
  return text;
}

std::string HelpOfAll() {
  std::string text =
      "plov - gets, puts and looks after the items of a plov server\n\n"
      "Usage: plov [--server URI] [--timeout DURATION] [--wait DURATION] [--json] COMMAND "
      "[WORD]...\n"
      "       plov, on a terminal: a shell\n\n"
      "Commands:\n";
  for (const Command& command : Commands()) {
    text += fmt::format("  {:<18} {}\n", fmt::format("{} {}", command.name, command.synopsis),
                        command.summary);
  }
  text += fmt::format("  {:<18} {}\n\n", "help [COMMAND]", "print this help, or that of COMMAND");
  text += OptionsText();
  text +=
      "\nOptions may stand anywhere; after -- every word is taken as it is.\n"
      "Exit status: 0 done, 1 not found, 2 usage, 3 server unreachable or other error.\n";
  return text;
}

}  // namespace

std::string HelpText(const Command* command) {
  return command == nullptr ? HelpOfAll() : HelpOf(*command);
}

}  // namespace plov::cli
