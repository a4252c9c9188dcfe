// plov-door, the front door: memcached's and Redis's protocols in front of plov. See plov-door(8).

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <expected>
#include <memory>
#include <string>

#include "door/options.h"
#include "door/service.h"
#include "fabric/os.h"
#include "fabric/standard_files.h"
#include "metrics/exporter.h"
#include "server/log_output.h"
#include "server/notifier.h"

namespace {

using plov::door::Options;
using plov::door::Service;
using plov::metrics::Exporter;
using plov::server::Notifier;

constexpr int kExitUsage = 2;
constexpr int kExitCannotServe = 3;

int Complain(const plov::Error& error, int exit_status) {
  fmt::print(stderr, "plov-door: {}\n", error.message);
  return exit_status;
}

int Show(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  return Complain({plov::Code::kSystem, fmt::format("standard output: {}", std::strerror(errno))},
                  kExitCannotServe);
}

// Before any thread is started.
int BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// A client is one descriptor.
void RaiseDescriptorLimit(const Options& options) {
  constexpr rlim_t kOthers = 256;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlimit raised{files.rlim_max, files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  if (files.rlim_cur >= options.clients_max + kOthers) return;
  spdlog::warn(
      "the limit of open files is {}, and --max-clients {} needs {}: raise it (ulimit -Hn, "
      "LimitNOFILE= of the unit), or lower --max-clients",
      files.rlim_cur, options.clients_max, options.clients_max + kOthers);
}

std::expected<std::unique_ptr<Exporter>, plov::Error> ServeMetrics(const std::string& place,
                                                                   const Service& service) {
  if (place.empty()) return nullptr;
  auto exporter = Exporter::Listen(place, [&service] { return SamplesOf(service.totals()); });
  if (!exporter) return exporter;
  if ((*exporter)->is_open()) {
    spdlog::warn("{} is open to every host that can connect to it", (*exporter)->url());
  }
  fmt::print("plov-door: metrics on {}\n", (*exporter)->url());
  return exporter;
}

void TakeHangUp(plov::server::LogOutput* output, Service* service) {
  output->Reopen();
  if (auto reloaded = service->ReloadUsers(); !reloaded) {
    spdlog::error("{}; the users that are known stay", reloaded.error().message);
  }
}

int Serve(const Options& options) {
  if (!options.metrics.empty()) {
    if (auto checked = Exporter::Check(options.metrics); !checked) {
      return Complain(checked.error(), kExitUsage);
    }
  }
  const plov::fabric::Fd signals(BlockSignals());
  auto output = plov::server::LogOutput::Begin(options.log_output, options.log_level, "plov-door");
  if (!output) return Complain(output.error(), kExitCannotServe);
  RaiseDescriptorLimit(options);
  auto service = Service::Create(options);
  if (!service) {
    const bool is_usage = service.error().code == plov::Code::kInvalidArgument;
    return Complain(service.error(), is_usage ? kExitUsage : kExitCannotServe);
  }
  auto exporter = ServeMetrics(options.metrics, **service);
  if (!exporter) return Complain(exporter.error(), kExitCannotServe);
  for (const std::string& name : (*service)->names()) {
    fmt::print("plov-door: ready on {}\n", name);
  }
  std::fflush(stdout);
  Notifier::Ready(fmt::format("in front of {}", options.server));
  (*service)->Run({.signals = signals.get(),
                   .on_hang_up = [&] { TakeHangUp(&*output, service->get()); },
                   .tick = Notifier::watchdog() / 2,
                   .on_tick = Notifier::Alive});
  Notifier::Stopping();
  spdlog::info("stopping");
  exporter->reset();
  service->reset();
  output->End();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  plov::fabric::OccupyStandardFiles();
  const auto options = plov::door::ParseOptions(argc, argv);
  if (!options) return Complain(options.error(), kExitUsage);
  switch (options->action) {
    case Options::Action::kHelp:
      return Show(plov::door::HelpText());
    case Options::Action::kVersion:
      return Show(fmt::format("plov-door {}\n", PLOV_VERSION));
    case Options::Action::kServe:
      break;
  }
  return Serve(*options);
}
