// plov-door, the front door: memcached's and Redis's protocols in front of plov. See plov-door(8).

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "door/options.h"
#include "door/service.h"
#include "fabric/os.h"
#include "fabric/standard_files.h"
#include "metrics/exporter.h"
#include "service/log_output.h"
#include "service/notifier.h"
#include "service/program.h"

namespace {

using plov::door::Options;
using plov::door::Service;
using plov::metrics::Exporter;
using plov::service::Notifier;
using plov::service::Program;

const Program kProgram("plov-door");

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

void TakeHangUp(plov::service::LogOutput* output, Service* service) {
  output->Reopen();
  if (auto reloaded = service->ReloadUsers(); !reloaded) {
    spdlog::error("{}; the users that are known stay", reloaded.error().message);
  }
}

int Serve(const Options& options) {
  if (!options.metrics.empty()) {
    if (auto checked = Exporter::Check(options.metrics); !checked) {
      return kProgram.Complain(checked.error(), Program::kExitUsage);
    }
  }
  const plov::fabric::Fd signals(Program::BlockSignals());
  auto output = plov::service::LogOutput::Begin(options.log_output, options.log_level, "plov-door");
  if (!output) return kProgram.Complain(output.error(), Program::kExitCannotServe);
  RaiseDescriptorLimit(options);
  auto service = Service::Create(options);
  if (!service) {
    const bool is_usage = service.error().code == plov::Code::kInvalidArgument;
    return kProgram.Complain(service.error(),
                             is_usage ? Program::kExitUsage : Program::kExitCannotServe);
  }
  auto exporter = kProgram.ServeMetrics(options.metrics,
                                        [&service] { return SamplesOf((*service)->totals()); });
  if (!exporter) return kProgram.Complain(exporter.error(), Program::kExitCannotServe);
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
  if (!options) return kProgram.Complain(options.error(), Program::kExitUsage);
  switch (options->action) {
    case Options::Action::kHelp:
      return kProgram.Show(plov::door::HelpText());
    case Options::Action::kVersion:
      return kProgram.Show(fmt::format("plov-door {}\n", PLOV_VERSION));
    case Options::Action::kServe:
      break;
  }
  return Serve(*options);
}
