#include "torture/pause.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <cerrno>

namespace plov::torture {

namespace {

constexpr timespec kPauseTime{.tv_sec = 0, .tv_nsec = 2'000'000};
// A few GETs take longer than that together: one of them is met.
constexpr suseconds_t kAlarmsEveryUs = 20;

void SetAlarms(suseconds_t every_us) {
  const timeval every{.tv_sec = 0, .tv_usec = every_us};
  const itimerval timer{.it_interval = every, .it_value = every};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Pause::Pause() {
  struct sigaction action {};
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  SetAlarms(kAlarmsEveryUs);
}

Pause::~Pause() { SetAlarms(0); }

// Once in a GET: alarms have come meanwhile.
void Pause::OnAlarm(int) {
  if (!is_due_.exchange(false, std::memory_order_relaxed)) return;
  const int error_number = errno;
  ::nanosleep(&kPauseTime, nullptr);
  errno = error_number;
}

}  // namespace plov::torture
