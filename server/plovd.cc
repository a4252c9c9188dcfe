// plovd, the server program. See plovd(8).

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "fabric/shm/passed_sockets.h"
#include "fabric/standard_files.h"
#include "metrics/exporter.h"
#include "server/cluster_join.h"
#include "server/daemon.h"
#include "server/descriptors.h"
#include "server/host_memory.h"
#include "server/log_output.h"
#include "server/notifier.h"
#include "server/options.h"
#include "server/passed_fds.h"
#include "server/server.h"
#include "server/settings.h"
#include "server/start_progress.h"

namespace {

constexpr int kExitUsage = 2;
constexpr int kExitCannotServe = 3;

// SIGTERM, SIGINT and SIGHUP come as bytes to read; neither a client's death nor a limit kills the
// server. Before any thread is started.
int BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // memory over `ulimit -f` is an error to report
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

int Complain(const plov::Error& error, int exit_status) {
  fmt::print(stderr, "plovd: {}\n", error.message);
  return exit_status;
}

// The exit status: a text that nobody could read was not shown.
int Show(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  return Complain({plov::Code::kSystem, fmt::format("standard output: {}", std::strerror(errno))},
                  kExitCannotServe);
}

// How far a start is that has much to read.
std::string StartStatus() {
  const auto& progress = plov::server::StartProgress::Get();
  const uint64_t total = progress.total_bytes();
  if (total == 0) return "starting";
  return fmt::format("recovering: {} of {} MiB read", progress.done_bytes() >> 20, total >> 20);
}

void Warn(const std::string& warning) {
  if (!warning.empty()) spdlog::warn("{}", warning);
}

using plov::metrics::Exporter;

std::expected<std::unique_ptr<Exporter>, plov::Error> ServeMetrics(
    const std::string& place, const plov::server::Server& server) {
  if (place.empty()) return nullptr;
  auto exporter = Exporter::Listen(place, [&server] { return server.ReadCounters(); });
  if (!exporter) return exporter;
  if ((*exporter)->is_open()) {
    spdlog::warn("{} is open to every host that can connect to it", (*exporter)->url());
  }
  fmt::print("plovd: metrics on {}\n", (*exporter)->url());
  return exporter;
}

// A later start may succeed: after a power cut all hosts boot at once.
bool MayPass(const plov::Error& error) {
  return error.code == plov::Code::kUnavailable || error.code == plov::Code::kTimeout;
}

int Serve(plov::server::Options options, int argc, const char* const* argv) {
  using plov::server::Notifier;
  if (auto joined = plov::server::JoinCluster(&options); !joined) {
    return Complain(joined.error(), MayPass(joined.error()) ? kExitCannotServe : kExitUsage);
  }
  for (const std::string& uri : options.server.uris) {
    if (auto checked = plov::fabric::Listener::Check(uri); !checked) {
      return Complain(checked.error(), kExitUsage);
    }
  }
  if (!options.metrics.empty()) {
    if (auto checked = Exporter::Check(options.metrics); !checked) {
      return Complain(checked.error(), kExitUsage);
    }
  }
  const plov::fabric::Fd signals(BlockSignals());
  auto passed =
      plov::fabric::shm::PassedSockets::Take(plov::server::TakePassedFds(), options.server.uris);
  if (!passed) return Complain(passed.error(), kExitCannotServe);
  options.server.passed = &*passed;
  auto output = plov::server::LogOutput::Begin(options.log_output, options.log_level);
  if (!output) return Complain(output.error(), kExitCannotServe);
  const std::string few_descriptors = plov::server::RaiseDescriptorLimit(options.server);
  // Before it is taken.
  Warn(plov::server::WarnOfHostMemory(options.server, plov::server::WarmBytes(options.server)));
  std::optional<Notifier::While> said(StartStatus);
  auto server = plov::server::Server::Create(options.server);
  said.reset();
  if (!server) return Complain(server.error(), kExitCannotServe);
  Warn(few_descriptors);
  auto exporter = ServeMetrics(options.metrics, **server);
  if (!exporter) return Complain(exporter.error(), kExitCannotServe);
  if (auto started = (*server)->Start(); !started) {
    return Complain(started.error(), kExitCannotServe);
  }
  for (const auto& listener : (*server)->listeners()) {
    fmt::print("plovd: ready on {}\n", listener->uri());
  }
  std::fflush(stdout);
  plov::server::Settings settings(options, argc, argv, server->get());
  plov::server::Daemon daemon(server->get(), &settings, &*output);
  Notifier::Ready(daemon.StatusLine());
  daemon.Run(signals.get());
  Notifier::Stopping();
  spdlog::info("stopping");
  exporter->reset();
  said.emplace();
  server->reset();
  output->End();
  return 0;
}

// A start that reads its options is not ended by it.
void BlockHangUp() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  BlockHangUp();
  plov::fabric::OccupyStandardFiles();
  const auto options = plov::server::ParseOptions(argc, argv);
  if (!options) return Complain(options.error(), kExitUsage);
  switch (options->action) {
    case plov::server::Options::Action::kHelp:
      return Show(plov::server::HelpText());
    case plov::server::Options::Action::kVersion:
      return Show(fmt::format("plovd {}\n", PLOV_VERSION));
    case plov::server::Options::Action::kServe:
      break;
  }
  return Serve(*options, argc, argv);
}
