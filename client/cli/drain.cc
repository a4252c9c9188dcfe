// drain: has the server let in no new clients and end when those it has are gone, and watches.

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/server_process.h"
#include "fabric/os.h"
#include "program/format.h"

namespace plov::cli {

namespace {

using std::chrono::milliseconds;

// Between two questions: the server ends at most a second after it is drained, and is asked first.
constexpr milliseconds kAskEvery{200};

struct State {
  std::string name;  // serving, draining, drained
  uint64_t clients = 0;
};

std::expected<State, Error> StateOf(const std::expected<std::string, Error>& lines) {
  if (!lines) return std::unexpected(lines.error());
  State state;
  std::istringstream text(*lines);
  std::string name;
  for (std::string value; text >> name >> value;) {
    if (name == "state") state.name = value;
    if (name == "clients") state.clients = std::strtoull(value.c_str(), nullptr, 10);
  }
  return state;
}

std::string Clients(uint64_t count) { return program::CountOf(count, "client"); }

// At once. Where that fails, so does the rest.
void Show(const std::string& line, program::Output* output) {
  output->Write(line);
  std::ignore = output->Finish();
}

// The last state before the server ended; the same as ever when it did not drain any more.
std::expected<State, Error> Watch(const Options& options, Client* client, State state,
                                  program::Output* output) {
  while (state.name == "draining") {
    std::this_thread::sleep_for(kAskEvery);
    const auto now = StateOf(client->Administer("status"));
    const bool is_gone = client->stats().reconnects > 0;
    if (is_gone || (!now && now.error().code == Code::kUnavailable)) {
      return Fail(Code::kUnavailable,
                  fmt::format("the server ended before it was drained, with {} left",
                              Clients(state.clients)));
    }
    if (!now) return std::unexpected(now.error());
    if (now->name == "draining" && now->clients != state.clients && !options.json) {
      Show(fmt::format("{} left\n", Clients(now->clients)), output);
    }
    state = *now;
  }
  return state;
}

// The server's process, where this host shows it.
fabric::Fd OpenProcess(const Options& options, Client* client) {
  const auto texts = client->ServerStats(Freshness::kAsFound);
  if (!texts || texts->empty()) return {};
  const auto process = ProcessOf(options.server, texts->front());
  if (!process) return {};
  return fabric::Fd(static_cast<int>(::syscall(SYS_pidfd_open, process->id, 0)));
}

// A server that has drained still has its log to end, and its name. It waits for its clients' last look, so
// they go where its process shows the end.
void AwaitEnd(std::optional<Client> client, const fabric::Fd& process) {
  if (process) {
    client.reset();
    pollfd poll_fd{process.get(), POLLIN, 0};
    while (::poll(&poll_fd, 1, -1) < 0 && errno == EINTR) {
    }
    return;
  }
  while (client->Administer("status") && client->stats().reconnects == 0) {
    std::this_thread::sleep_for(kAskEvery);
  }
}

std::string Summary(const Options& options, const State& state) {
  if (options.json) {
    program::Json object = program::Json::object();
    object["server"] = options.server;
    object["state"] = state.name;
    object["clients"] = state.clients;
    return program::LineOf(object);
  }
  if (state.name != "drained") return "serving\n";
  return state.clients == 0
             ? "drained: all clients have gone, the server has ended\n"
             : fmt::format("drained: the server has ended with {} left\n", Clients(state.clients));
}

}  // namespace

Outcome Drain(const Options& options, program::Output* output) {
  options.kept->client.reset();  // a shell does not wait for itself
  auto client = ConnectAsAdministrator(options);
  if (!client) return std::unexpected(client.error());
  const auto limit = std::chrono::ceil<milliseconds>(options.drain_for);
  const auto begun =
      StateOf(options.cancel ? client->Administer("resume")
                             : client->Administer("drain", std::to_string(limit.count())));
  if (!begun) return std::unexpected(begun.error());
  if (begun->name == "draining" && !options.json) {
    Show(fmt::format("draining: {} left\n", Clients(begun->clients)), output);
  }
  const fabric::Fd process = OpenProcess(options, &*client);
  const auto ended = Watch(options, &*client, *begun, output);
  if (!ended) return std::unexpected(ended.error());
  if (ended->name == "drained") AwaitEnd(std::move(*client), process);
  output->Write(Summary(options, *ended));
  if (options.cancel == (ended->name == "serving")) return {};
  return Fail(Code::kSystem, "the drain was cancelled");
}

}  // namespace plov::cli
