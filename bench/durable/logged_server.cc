#include "bench/durable/logged_server.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <utility>

#include "bench/shared/tested_server.h"
#include "program/machine.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;
namespace files = std::filesystem;

constexpr std::chrono::seconds kSparesWithin{60};
constexpr std::chrono::seconds kSnapshotWithin{300};
constexpr std::chrono::milliseconds kLook{5};
constexpr size_t kSpares = 2;  // of a folder, as plovd keeps them

// Calls `look` again and again meanwhile.
std::expected<void, Error> AwaitSnapshot(Client* client, const std::function<void()>& look) {
  const auto awaited = client->Snapshot();
  if (!awaited) return std::unexpected(awaited.error());
  const auto end = Clock::now() + kSnapshotWithin;
  while (true) {
    look();
    const auto stats = client->ServerStats();
    if (!stats) return std::unexpected(stats.error());
    const uint64_t failed = StatOf(stats->front(), "snapshot_failures");
    if (failed > 0) return Fail(Code::kSystem, "the server could not write a snapshot");
    if (StatOf(stats->front(), "snapshots") >= awaited->front()) return {};
    if (Clock::now() > end) return Fail(Code::kTimeout, "a snapshot takes too long");
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

// The server takes its options from the environment as well (plovd(8)).
std::expected<void, Error> StartLogged(program::OwnServer* server, const LogOptions& log) {
  const std::array<std::pair<const char*, std::string>, 4> variables = {{
      {"PLOVD_LOG", log.folder},
      {"PLOVD_COMMIT", std::string(log.commit)},
      {"PLOVD_LOG_SEGMENT", std::to_string(log.segment_bytes)},
      {"PLOVD_SNAPSHOT_RATE", log.takes_snapshots ? "200M" : "1M"},
  }};
  for (const auto& [name, value] : variables) {
    if (!log.folder.empty()) ::setenv(name, value.c_str(), 1);
  }
  auto started = server->Start(program::Life::kFirst);
  for (const auto& [name, value] : variables) ::unsetenv(name);
  return started;
}

std::expected<void, Error> AwaitSpares(const LogOptions& log) {
  const auto is_spare = [](const files::directory_entry& file) {
    const std::string name = file.path().filename();
    return name.starts_with("spare.") && !name.ends_with(".new");
  };
  const auto end = Clock::now() + kSparesWithin;
  std::error_code failed;
  while (static_cast<size_t>(std::ranges::count_if(files::directory_iterator(log.folder, failed),
                                                   is_spare)) < kSpares) {
    if (Clock::now() > end)
      return Fail(Code::kTimeout, "the server makes no files in " + log.folder);
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

std::expected<void, Error> TakeSnapshot(Client* client) {
  return AwaitSnapshot(client, [] {});
}

SnapshotLoop::SnapshotLoop(Client* client, pid_t server)
    : thread_([this, client, server](const std::stop_token& stop) {
        const auto look = [&] {
          memory_bytes_most_ = std::max(memory_bytes_most_, OwnMemoryBytes(server));
        };
        do {
          outcome_ = AwaitSnapshot(client, look);
          if (outcome_) ++taken_;
        } while (outcome_ && !stop.stop_requested());
      }) {}

std::expected<void, Error> SnapshotLoop::Finish() {
  thread_.request_stop();
  thread_.join();
  return outcome_;
}

uint64_t OwnMemoryBytes(pid_t process) {
  const std::string status = "/proc/" + std::to_string(process) + "/status";
  return program::Machine().ReadField(status, "RssAnon").value_or(0) << 10;
}

}  // namespace plov::bench
