#include "service/program.h"

#include <fmt/core.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace plov::service {

int Program::BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // memory over `ulimit -f` is an error to report
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int Program::Complain(const Error& error, int exit_status) const {
  fmt::print(stderr, "{}: {}\n", name_, error.message);
  return exit_status;
}

int Program::Show(const std::string& text) const {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return 0;
  return Complain({Code::kSystem, fmt::format("standard output: {}", std::strerror(errno))},
                  kExitCannotServe);
}

void Program::Announce(const metrics::Exporter& exporter) const {
  if (exporter.is_open()) {
    spdlog::warn("{} is open to every host that can connect to it", exporter.url());
  }
  fmt::print("{}: metrics on {}\n", name_, exporter.url());
}

}  // namespace plov::service
