// plovd, the server program. See plovd(8).

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "fabric/standard_files.h"
#include "server/descriptors.h"
#include "server/options.h"
#include "server/server.h"

namespace {

constexpr int kExitUsage = 2;
constexpr int kExitCannotServe = 3;

// SIGTERM and SIGINT come as bytes to read; neither a client's death nor a limit kills the
// server.
int BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);   // there is nothing to read again, and items to lose
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

int Serve(const plov::server::Options& options) {
  for (const std::string& uri : options.server.uris) {
    if (auto checked = plov::fabric::Listener::Check(uri); !checked) {
      return Complain(checked.error(), kExitUsage);
    }
  }
  const int stop_fd = BlockSignals();
  const std::string warning = plov::server::RaiseDescriptorLimit(options.server);
  auto server = plov::server::Server::Create(options.server);
  if (!server) return Complain(server.error(), kExitCannotServe);
  if (!warning.empty()) spdlog::warn("{}", warning);
  (*server)->Start();
  for (const auto& listener : (*server)->listeners()) {
    fmt::print("plovd: ready on {}\n", listener->uri());
  }
  std::fflush(stdout);
  (*server)->ServeUntil(stop_fd);
  spdlog::info("stopping");
  server->reset();
  ::close(stop_fd);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
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
  spdlog::set_default_logger(spdlog::stderr_color_mt("plovd"));
  spdlog::set_level(spdlog::level::from_str(options->log_level));
  return Serve(*options);
}
