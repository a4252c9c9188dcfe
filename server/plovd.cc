// plovd, the server program. See plovd(8).

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

#include "fabric/shm/passed_sockets.h"
#include "fabric/standard_files.h"
#include "metrics/exporter.h"
#include "server/cluster_join.h"
#include "server/daemon.h"
#include "server/descriptors.h"
#include "server/host_memory.h"
#include "server/options.h"
#include "server/passed_fds.h"
#include "server/server.h"
#include "server/settings.h"
#include "server/start_progress.h"
#include "service/log_output.h"
#include "service/notifier.h"
#include "service/program.h"

namespace {

using plov::service::Program;

const Program kProgram("plovd");

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

// A later start may succeed: after a power cut all hosts boot at once.
bool MayPass(const plov::Error& error) {
  return error.code == plov::Code::kUnavailable || error.code == plov::Code::kTimeout;
}

int Serve(plov::server::Options options, int argc, const char* const* argv) {
  using plov::service::Notifier;
  if (auto joined = plov::server::JoinCluster(&options); !joined) {
    return kProgram.Complain(
        joined.error(), MayPass(joined.error()) ? Program::kExitCannotServe : Program::kExitUsage);
  }
  for (const std::string& uri : options.server.uris) {
    if (auto checked = plov::fabric::Listener::Check(uri); !checked) {
      return kProgram.Complain(checked.error(), Program::kExitUsage);
    }
  }
  if (!options.metrics.empty()) {
    if (auto checked = plov::metrics::Exporter::Check(options.metrics); !checked) {
      return kProgram.Complain(checked.error(), Program::kExitUsage);
    }
  }
  const plov::fabric::Fd signals(Program::BlockSignals());
  auto passed =
      plov::fabric::shm::PassedSockets::Take(plov::server::TakePassedFds(), options.server.uris);
  if (!passed) return kProgram.Complain(passed.error(), Program::kExitCannotServe);
  options.server.passed = &*passed;
  auto output = plov::service::LogOutput::Begin(options.log_output, options.log_level, "plovd");
  if (!output) return kProgram.Complain(output.error(), Program::kExitCannotServe);
  const std::string few_descriptors = plov::server::RaiseDescriptorLimit(options.server);
  // Before it is taken.
  Warn(plov::server::WarnOfHostMemory(options.server, plov::server::WarmBytes(options.server)));
  std::optional<Notifier::While> said(StartStatus);
  auto server = plov::server::Server::Create(options.server);
  said.reset();
  if (!server) return kProgram.Complain(server.error(), Program::kExitCannotServe);
  Warn(few_descriptors);
  auto exporter =
      kProgram.ServeMetrics(options.metrics, [&server] { return (*server)->ReadCounters(); });
  if (!exporter) return kProgram.Complain(exporter.error(), Program::kExitCannotServe);
  if (auto started = (*server)->Start(); !started) {
    return kProgram.Complain(started.error(), Program::kExitCannotServe);
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
  if (!options) return kProgram.Complain(options.error(), Program::kExitUsage);
  switch (options->action) {
    case plov::server::Options::Action::kHelp:
      return kProgram.Show(plov::server::HelpText());
    case plov::server::Options::Action::kVersion:
      return kProgram.Show(fmt::format("plovd {}\n", PLOV_VERSION));
    case plov::server::Options::Action::kServe:
      break;
  }
  return Serve(*options, argc, argv);
}
