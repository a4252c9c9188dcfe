#include "bench/shared/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "bench/designs/serve.h"
#include "client/cli/report.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  // Its own options; --help comes with them.
  po::options_description (*options)();
  // kInvalidArgument is a wrong command line; all other codes end with the status of an error.
  Outcome (*run)(const Given& given, program::Output* output);
};

constexpr auto kCommands = std::to_array<Command>({
    {"run", "a load of many clients on a server: YCSB's, HERD's, Twitter's, your own", RunOptions,
     RunRun},
    {"busy", "PUTs of plov and Redis while other programs want the processors", BusyOptions,
     RunBusy},
    {"compare", "plov and its peers at the same work, in one run, with a verdict", CompareOptions,
     RunCompare},
    {"designs", "GETs of the designs that plov comes from, and of plov, over the same fabric",
     DesignsOptions, RunDesigns},
    {"durable", "what a log on disk costs, beside the disk itself and Redis, with a verdict",
     DurableOptions, RunDurable},
    {"fabric", "GETs beside perftest's READs over the same fabric, in one run", FabricOptions,
     RunFabric},
    {"table", "how full the cuckoo table becomes, and what lookups and PUTs cost in it",
     TableOptions, RunTable},
    {"scale", "how cost grows with items, sizes of values, clients and shards", ScaleOptions,
     RunScale},
    {"verbs", "which verbs carry requests and replies best on this RDMA device", VerbsOptions,
     RunVerbs},
});

po::options_description HelpOption() {
  po::options_description options("Options", 100);
  options.add_options()("help,h", po::bool_switch(), "print this help and exit");
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
                     ProgramOf(command), command.summary, TextOf(command.options()),
                     TextOf(HelpOption()).substr(sizeof("Options:")));
}

std::string HelpText() {
  std::string text =
      "plov-bench - measures plov, and what it stands on\n\n"
      "Usage: plov-bench COMMAND [OPTION]...\n       plov-bench --help | --version\n\nCommands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  for (const Command& command : kCommands) text += "\n" + TextOf(command.options());
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
  described.add(command.options()).add(HelpOption());
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
  if (first == kServeDesign) return ServeDesign(words.subspan(1));
  const bool asks = first == "help" && words.size() > 1;
  if (first == "--version") return Print(fmt::format("plov-bench {}\n", PLOV_VERSION));
  if (first == "--help" || first == "-h" || (first == "help" && !asks)) return Print(HelpText());
  const auto command = std::ranges::find(kCommands, asks ? words[1] : first, &Command::name);
  if (command == kCommands.end()) {
    const std::string problem =
        first.empty() ? "which command?" : fmt::format("no command '{}'", asks ? words[1] : first);
    return Complain("plov-bench", {Code::kInvalidArgument, problem + " (try plov-bench --help)"});
  }
  return asks ? Print(HelpText(*command)) : RunCommand(*command, words.subspan(1));
}

}  // namespace plov::bench
