#include "service/notifier.h"

#include <fmt/format.h>
#include <time.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#if PLOV_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace plov::service {

namespace {

constexpr std::chrono::seconds kEvery{2};
// How long after such a word the start may still take: many of these, for a busy machine.
constexpr std::chrono::microseconds kExtension = std::chrono::minutes(1);

void Say(const std::string& state) {
#if PLOV_SYSTEMD
  ::sd_notify(0, state.c_str());
#else
  static_cast<void>(state);
#endif
}

}  // namespace

bool Notifier::is_on() {
#if PLOV_SYSTEMD
  const char* socket = std::getenv("NOTIFY_SOCKET");
  return socket != nullptr && socket[0] != '\0';
#else
  return false;
#endif
}

std::chrono::microseconds Notifier::watchdog() {
#if PLOV_SYSTEMD
  uint64_t us = 0;
  if (::sd_watchdog_enabled(0, &us) > 0) return std::chrono::microseconds(us);
#endif
  return {};
}

void Notifier::Ready(const std::string& status) { Say("READY=1\nSTATUS=" + status); }

void Notifier::Reloading() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  Say(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000 + now.tv_nsec / 1'000));
}

void Notifier::Stopping() { Say("STOPPING=1\nSTATUS=stopping"); }

void Notifier::Alive() { Say("WATCHDOG=1"); }

void Notifier::Status(const std::string& status) { Say("STATUS=" + status); }

Notifier::While::While(std::function<std::string()> status) {
  if (!is_on()) return;
  const auto say = [status = std::move(status)] {
    std::string state = "WATCHDOG=1";
    if (status) {
      state += fmt::format("\nEXTEND_TIMEOUT_USEC={}\nSTATUS={}", kExtension.count(), status());
    }
    Say(state);
  };
  say();
  thread_ = std::jthread([say](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, stop, kEvery, [&stop] { return stop.stop_requested(); })) say();
  });
}

}  // namespace plov::service
