#include "bench/shared/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "client/cli/report.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr auto kCommands = std::to_array<const Command*>(
    {&kRunCommand, &kBusyCommand, &kClusterCommand, &kCompareCommand, &kDesignsCommand,
     &kDurableCommand, &kEvictCommand, &kFabricCommand, &kTableCommand, &kScaleCommand,
     &kVerbsCommand});

po::options_description HelpOption() {
  po::options_description options("Options", 100);
  options.add_options()("help,h", po::bool_switch(), "print this help and exit");
  return options;
}

po::options_description OptionsOf(const Command& command) {
  po::options_description options = command.common(command.name);
  for (const Option& option : command.options) {
    const bool is_switch = *option.value == '\0';
    po::value_semantic* value = is_switch ? po::bool_switch() : nullptr;
    if (!is_switch) value = Text(option.value);
    options.add_options()(option.name, value, option.help.c_str());
  }
  return options;
}

std::string ProgramOf(const Command& command) { return fmt::format("plov-bench {}", command.name); }

std::string TextOf(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

std::string HelpText(const Command& command) {
  return fmt::format("{0} - {1}\n\nUsage: {0} [OPTION]...\n\n{2}{3}\nplov-bench(1) says more.\n",
                     ProgramOf(command), command.summary, TextOf(OptionsOf(command)),
                     TextOf(HelpOption()).substr(sizeof("Options:")));
}

std::string HelpText() {
  std::string text =
      "plov-bench - measures plov, and what it stands on\n\n"
      "Usage: plov-bench COMMAND [OPTION]...\n       plov-bench --help | --version\n\nCommands:\n";
  for (const Command* command : kCommands) {
    text += fmt::format("  {:<10} {}\n", command->name, command->summary);
  }
  for (const Command* command : kCommands) text += "\n" + TextOf(OptionsOf(*command));
  return text +
         "\nplov-bench(1) says more.\n"
         "Exit status: 0 done, 2 usage, 3 it could not be measured.\n";
}

int Complain(const std::string& program, const Error& error) {
  fmt::print(stderr, "{}: {}\n", program, cli::Printable(error.message));
  return cli::ExitStatusOf(error.code);
}

int RunCommand(const Command& command, std::span<const std::string> words) {
  po::options_description described;
  described.add(OptionsOf(command)).add(HelpOption());
  const auto given = Given::Parse(described, words, ProgramOf(command));
  if (!given) return Complain("plov-bench", given.error());
  program::Output output;
  Outcome outcome;
  if (given->On("help")) {
    output.Write(HelpText(command));
  } else {
    outcome = command.run(*given, &output);
  }
  if (const auto written = output.Finish(); outcome && !written) outcome = written;
  return outcome ? 0 : Complain(ProgramOf(command), outcome.error());
}

int Print(const std::string& text) {
  program::Output output;
  output.Write(text);
  const auto written = output.Finish();
  return written ? 0 : Complain("plov-bench", written.error());
}

}  // namespace

int RunTool(std::span<const std::string> words) {
  const std::string first = words.empty() ? "" : words[0];
  const bool asks = first == "help" && words.size() > 1;
  if (first == "--version") return Print(fmt::format("plov-bench {}\n", PLOV_VERSION));
  if (first == "--help" || first == "-h" || (first == "help" && !asks)) return Print(HelpText());
  const auto command = std::ranges::find(kCommands, asks ? words[1] : first, &Command::name);
  if (command == kCommands.end()) {
    const std::string problem =
        first.empty() ? "which command?" : fmt::format("no command '{}'", asks ? words[1] : first);
    return Complain("plov-bench", {Code::kInvalidArgument, problem + " (try plov-bench --help)"});
  }
  return asks ? Print(HelpText(**command)) : RunCommand(**command, words.subspan(1));
}

}  // namespace plov::bench
