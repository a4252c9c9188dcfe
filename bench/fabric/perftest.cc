#include "bench/fabric/perftest.h"

#include <chrono>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "bench/peers/peer_server.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::map<std::string, double>;

constexpr std::chrono::seconds kListensWithin{30};
constexpr std::chrono::seconds kEndsWithin{10};  // after its client

// "#bytes", "#iterations", then names that may have spaces and end with their unit in brackets.
std::vector<std::string> ColumnsOf(const std::string& header) {
  static const std::regex column(R"(#\w+|[^\s\[\]#][^\[\]#]*\[[^\]]*\])");
  std::vector<std::string> names;
  for (std::sregex_iterator at(header.begin(), header.end(), column), end; at != end; ++at) {
    names.push_back(at->str());
  }
  return names;
}

// What is not a number at all ends them; perftest prints "nan" and "inf" for some.
std::vector<double> NumbersOf(const std::string& line) {
  std::vector<double> numbers;
  const char* at = line.c_str();
  for (char* end = nullptr;; at = end) {
    const double number = std::strtod(at, &end);
    if (end == at) return numbers;
    numbers.push_back(number);
  }
}

}  // namespace

std::expected<Values, Error> ParsePerftest(std::string_view output) {
  std::istringstream lines{std::string(output)};
  std::vector<std::string> columns;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("#bytes") != std::string::npos) {
      columns = ColumnsOf(line);
      continue;
    }
    const std::vector<double> numbers = NumbersOf(line);
    if (columns.empty() || numbers.size() < columns.size()) continue;
    Values values;
    for (size_t i = 0; i < columns.size(); ++i) values[columns[i]] = numbers[i];
    return values;
  }
  return Fail(Code::kProtocol, "perftest printed no row of numbers");
}

// The server takes one client, and is told from one that does not listen yet only by trying.
std::expected<Values, Error> RunPerftest(const PerftestRun& run) {
  const auto port = FreePort();
  if (!port) return std::unexpected(port.error());
  PeerProgram program{
      .name = run.program,
      .package = "perftest",
      .arguments = {"-F", "-d", run.device.name, "-x", std::to_string(run.device.gid_index), "-p",
                    std::to_string(*port), "-s", std::to_string(run.bytes), "-n",
                    std::to_string(run.iterations)}};
  auto server = StartProgram(program);
  if (!server) return std::unexpected(server.error());
  program.arguments.emplace_back("127.0.0.1");
  for (const auto end = Clock::now() + kListensWithin;;) {
    const auto said = OutputOf(program);
    if (said) {
      if (!server->Await(kEndsWithin)) return Fail(Code::kTimeout, run.program + " does not end");
      return ParsePerftest(*said);
    }
    const bool refused = said.error().message.find("Couldn't connect") != std::string::npos;
    if (!refused || server->HasEnded() || Clock::now() > end) return std::unexpected(said.error());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace plov::bench
