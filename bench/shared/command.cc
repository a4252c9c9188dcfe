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

constexpr auto kCommands = std::to_array<Command>({
    {"run", "a load of many clients on a server: YCSB's, HERD's, Twitter's, your own",
     "Stores items on a plovd, one of its own or --server, and puts a load on it from several\n"
     "processes: a known workload, a mix of your own, or a file of requests. Every value that "
     "comes\n"
     "back is checked. Prints operations a second, latencies to p99.99, READs, and what they "
     "cost.\n",
     RunOptions, RunRun},
    {"busy", "PUTs of plov and Redis while other programs want the processors",
     "Starts plovds and a Redis, and puts items one at a time and 32 in flight: with nothing else\n"
     "running, with more shards or more clients than processors, and beside busy loops. Prints "
     "the\n"
     "least, the median and the most of the rounds, and the goals that plov has set itself.\n",
     BusyOptions, RunBusy},
    {"compare", "plov and its peers at the same work, in one run, with a verdict",
     "Starts a plovd and the peers, stores the same items in all of them, and gets and puts them\n"
     "in the same random order, one side after the other in each round. Prints the goals that\n"
     "plov has set itself, each with the measured ratio, and whether it was reached; and all\n"
     "rates. Peers that are not installed are named as skipped.\n",
     CompareOptions, RunCompare},
    {"designs", "GETs of the designs that plov comes from, and of plov, over the same fabric",
     "Lays the same items out as Pilaf, FaRM-KV (inline, and behind pointers) and HERD do, each "
     "in\n"
     "a server process of its own, and in a plovd, and gets them in rounds that go over all of\n"
     "them, every value checked. Prints READs, bytes, GETs a second, latency and server CPU, and\n"
     "GETs a second by the number of clients.\n",
     DesignsOptions, RunDesigns},
    {"fabric", "GETs beside perftest's READs over the same fabric, in one run",
     "Starts a plovd of its own, stores items, and gets them over the RDMA device, in rounds that\n"
     "alternate with perftest's ib_read_bw and ib_read_lat of the same size. Prints the medians,\n"
     "how many READs a GET took, and the rate of GETs as a part of what so many READs allow.\n"
     "Over shm: there is no perftest, and only GETs are measured.\n",
     FabricOptions, RunFabric},
    {"table", "how full the cuckoo table becomes, and what lookups and PUTs cost in it",
     "Fills the writer's real table in this process under several seeds, and looks items up with\n"
     "the client's real lookups: bucket READs of hits and misses, items away from home, homes\n"
     "that overflow, items displaced by a PUT, by size of bucket and fill; and whether the\n"
     "claims of the design hold. Counts, not times: the same seeds give the same.\n",
     TableOptions, RunTable},
    {"scale", "how cost grows with items, sizes of values, clients and shards",
     "Starts a plovd of its own for each point, stores items, and measures GETs and PUTs: their "
     "rate\n"
     "one at a time and with 32 in flight, latency, READs, the server's memory and CPU. Prints "
     "tables\n"
     "for each axis, and their ratios to the first point. All of it takes about a quarter of an "
     "hour.\n",
     ScaleOptions, RunScale},
    {"verbs", "which verbs carry requests and replies best on this RDMA device",
     "A server and a client process, both here unless --server and --client say otherwise, send\n"
     "requests and replies of the same size by one combination of verbs after the other; every\n"
     "reply is checked. Prints tables and a plot: requests a second, latency, server CPU.\n",
     VerbsOptions, RunVerbs},
});

po::options_description HelpOption() {
  po::options_description options("Options", 100);
  options.add_options()("help,h", po::bool_switch(), "print this help and exit");
  return options;
}

std::string ProgramOf(const Command& command) { return fmt::format("plov-bench {}", command.name); }

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

std::string TextOf(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : &*found;
}

std::string HelpText(const Command& command) {
  return fmt::format("{0} - {1}\n\nUsage: {0} [OPTION]...\n\n{2}\n{3}{4}", ProgramOf(command),
                     command.summary, command.details, TextOf(command.options()),
                     TextOf(HelpOption()).substr(sizeof("Options:")));
}

std::string HelpText() {
  std::string text =
      "plov-bench - measures plov, and what it stands on\n\n"
      "Usage: plov-bench COMMAND [OPTION]...\n       plov-bench --help | --version\n\nCommands:\n";
  for (const Command& command : Commands()) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  for (const Command& command : Commands()) text += "\n" + TextOf(command.options());
  text +=
      "\nplov-bench COMMAND --help says more about one.\n"
      "Exit status: 0 done, 2 usage, 3 it could not be measured.\n";
  return text;
}

int RunTool(std::span<const std::string> words) {
  const std::string first = words.empty() ? "" : words[0];
  if (first == kServeDesign) return ServeDesign(words.subspan(1));
  const bool asks = first == "help" && words.size() > 1;
  if (first == "--version") return Print(fmt::format("plov-bench {}\n", PLOV_VERSION));
  if (first == "--help" || first == "-h" || (first == "help" && !asks)) return Print(HelpText());
  const Command* command = FindCommand(asks ? words[1] : first);
  if (command == nullptr) {
    const std::string problem =
        first.empty() ? "which command?" : fmt::format("no command '{}'", asks ? words[1] : first);
    return Complain("plov-bench", {Code::kInvalidArgument, problem + " (try plov-bench --help)"});
  }
  return asks ? Print(HelpText(*command)) : RunCommand(*command, words.subspan(1));
}

}  // namespace plov::bench
