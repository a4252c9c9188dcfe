#include "program/interrupt.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <fstream>

namespace plov::program {

namespace {

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};

sigset_t Interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kInterrupts) sigaddset(&signals, signal);
  return signals;
}

// A sender that has ended has no name any more.
std::string SenderText(const siginfo_t& info) {
  if (info.si_code > 0) return "the kernel or a terminal";
  std::ifstream file(fmt::format("/proc/{}/comm", info.si_pid));
  std::string name;
  std::getline(file, name);
  return fmt::format("process {} ({})", info.si_pid, name.empty() ? "gone" : name);
}

}  // namespace

void BlockInterrupts() {
  // A shell's background job ignores SIGINT: it would be lost.
  for (const int signal : kInterrupts) ::signal(signal, SIG_DFL);
  const sigset_t signals = Interrupts();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

std::optional<std::string> AwaitInterrupt(std::chrono::nanoseconds longest) {
  const sigset_t signals = Interrupts();
  const auto left = std::max<int64_t>(longest.count(), 0);
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  siginfo_t info{};
  const int signal = ::sigtimedwait(&signals, &info, &timeout);
  if (signal <= 0) return std::nullopt;
  const char* name = ::sigabbrev_np(signal);
  return fmt::format("SIG{} from {}", name == nullptr ? "?" : name, SenderText(info));
}

}  // namespace plov::program
