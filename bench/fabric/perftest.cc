#include "bench/fabric/perftest.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "bench/shared/sockets.h"
#include "program/process.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::map<std::string, double>;
using program::Process;

constexpr std::chrono::seconds kListensWithin{30};
constexpr std::chrono::seconds kEndsWithin{300};
constexpr size_t kSaidBytes = 400;  // as much of its end as one looks at

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

// A process and all that it writes, errors too.
class Recorded {
 public:
  static std::expected<Recorded, Error> Start(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
    fabric::Fd read_end(ends[0]);
    const fabric::Fd write_end(ends[1]);
    auto process =
        Process::Start(arguments, {.output = write_end.get(), .errors = write_end.get()});
    if (!process) return std::unexpected(process.error());
    return Recorded(std::move(*process), std::move(read_end));
  }

  // Reads until it has ended; whether it did so with status 0. kTimeout.
  std::expected<bool, Error> Finish() {
    const auto end = Clock::now() + kEndsWithin;
    std::array<char, 4096> bytes;
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      pollfd poll_fd{output_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&poll_fd, 1, static_cast<int>(left.count())) == 0) {
        return Fail(Code::kTimeout, "it does not end");
      }
      const ssize_t count = ::read(output_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      said_.append(bytes.data(), static_cast<size_t>(count));
    }
    if (!process_.Await(std::chrono::seconds(10))) return Fail(Code::kTimeout, "it does not end");
    return process_.ending() == "exit status 0";
  }

  bool HasEnded() { return process_.HasEnded(); }
  const std::string& said() const { return said_; }

 private:
  Recorded(Process process, fabric::Fd output)
      : process_(std::move(process)), output_(std::move(output)) {}

  Process process_;
  fabric::Fd output_;
  std::string said_;
};

std::unexpected<Error> Failed(const PerftestRun& run, Code code, const std::string& said) {
  std::string end = said.size() > kSaidBytes ? said.substr(said.size() - kSaidBytes) : said;
  for (char& c : end) {
    if (c == '\n') c = ' ';
  }
  return Fail(code, fmt::format("{} of {} bytes, {} times, failed; it said: {}", run.program,
                                run.bytes, run.iterations, end));
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
  const std::string program = program::FindInPath(run.program);
  if (program.empty()) {
    return Fail(Code::kUnavailable,
                run.program + " is not installed; run as root: apt-get install perftest");
  }
  const auto port = FreePort();
  if (!port) return std::unexpected(port.error());
  std::vector<std::string> arguments = {program, "-F",
                                        "-d",    run.device.name,
                                        "-x",    std::to_string(run.device.gid_index),
                                        "-p",    std::to_string(*port),
                                        "-s",    std::to_string(run.bytes),
                                        "-n",    std::to_string(run.iterations)};
  auto server = Recorded::Start(arguments);
  if (!server) return std::unexpected(server.error());
  arguments.emplace_back("127.0.0.1");
  for (const auto end = Clock::now() + kListensWithin;;) {
    auto client = Recorded::Start(arguments);
    if (!client) return std::unexpected(client.error());
    const auto done = client->Finish();
    if (!done) return std::unexpected(done.error());
    if (*done) {
      if (const auto ended = server->Finish(); !ended) return std::unexpected(ended.error());
      auto values = ParsePerftest(client->said());
      return values ? values : Failed(run, values.error().code, client->said());
    }
    const bool refused = client->said().find("Couldn't connect") != std::string::npos;
    if (!refused || server->HasEnded() || Clock::now() > end)
      return Failed(run, Code::kUnavailable, client->said());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace plov::bench
