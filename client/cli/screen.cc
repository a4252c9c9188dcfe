#include "client/cli/screen.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "program/output.h"

namespace plov::cli {

namespace {

// The other screen, without a cursor; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t TerminalSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kEnding) sigaddset(&signals, signal);
  sigaddset(&signals, SIGWINCH);
  sigaddset(&signals, SIGTSTP);
  return signals;
}

bool HasColors() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || no_color[0] == '\0';
}

}  // namespace

std::expected<std::unique_ptr<Screen>, Error> Screen::Open() {
  std::unique_ptr<Screen> screen = Plain();
  screen->is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  if (!screen->is_terminal_) return screen;
  const sigset_t signals = TerminalSignals();
  ::sigprocmask(SIG_BLOCK, &signals, &screen->blocked_before_);
  screen->signals_ = fabric::Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!screen->signals_) return FailErrno("cannot wait for signals", errno);
  screen->has_keys_ = ::tcgetattr(STDIN_FILENO, &screen->before_) == 0;
  screen->has_colors_ = HasColors();
  screen->Enter();
  return screen;
}

Screen::~Screen() {
  Leave();
  if (signals_) ::sigprocmask(SIG_SETMASK, &blocked_before_, nullptr);
}

void Screen::Enter() {
  if (!is_terminal_) return;
  program::WriteAll(STDOUT_FILENO, kEnter);
  if (!has_keys_) return;
  termios now = before_;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

void Screen::Leave() {
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  if (is_terminal_) program::WriteAll(STDOUT_FILENO, kLeave);
}

ScreenSize Screen::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {.columns = window.ws_col, .rows = std::max<size_t>(window.ws_row, 1)};
}

std::expected<void, Error> Screen::Write(std::string_view bytes) {
  const int error_number = program::WriteAll(STDOUT_FILENO, bytes);
  if (error_number == 0) return {};
  return Fail(Code::kSystem, fmt::format("cannot write to standard output: {}",
                                         std::generic_category().message(error_number)));
}

std::optional<Screen::Event> Screen::TakeSignal() {
  signalfd_siginfo info{};
  if (!signals_ || ::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  const int signal = static_cast<int>(info.ssi_signo);
  if (std::ranges::find(kEnding, signal) != kEnding.end()) return Event::kEnd;
  if (signal == SIGTSTP) {  // Ctrl-Z
    Leave();
    ::raise(SIGSTOP);
    Enter();
  }
  return Event::kResized;
}

Screen::Event Screen::Await(std::chrono::steady_clock::time_point until) {
  std::array<pollfd, 2> fds = {pollfd{signals_.get(), POLLIN, 0},
                               pollfd{has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const int ready = ::poll(fds.data(), fds.size(),
                             static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000)));
    if (ready == 0 && std::chrono::steady_clock::now() >= until) return Event::kTime;
    if (ready <= 0) continue;
    if (const auto event = TakeSignal()) return *event;
    if (fds[1].revents == 0) continue;
    if (::read(STDIN_FILENO, &key_, 1) != 1) return Event::kEnd;  // the terminal is gone
    return Event::kKey;
  }
}

}  // namespace plov::cli
