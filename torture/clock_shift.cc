#include "torture/clock_shift.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "torture/run_memory.h"

namespace plov::torture {

namespace {

constexpr int kNewTime = 0x80;  // CLONE_NEWTIME, which older headers lack

bool WriteOffsets(std::chrono::seconds ahead) {
  const std::string seconds = std::to_string(ahead.count());
  const std::string text = "monotonic " + seconds + " 0\nboottime " + seconds + " 0\n";
  const int fd = ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// What unshare made is for children; this process moves there too.
bool EnterNamespace() {
  const int fd = ::open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool entered = ::setns(fd, kNewTime) == 0;
  ::close(fd);
  return entered;
}

}  // namespace

std::expected<void, Error> ShiftClock(std::chrono::seconds ahead) {
  if (ahead.count() == 0) return {};
  if (::unshare(kNewTime) != 0 || !WriteOffsets(ahead) || !EnterNamespace()) {
    return FailErrno("cannot shift a client's clock", errno);
  }
  SetClockShift(ahead);
  return {};
}

bool CanShiftClock() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(ShiftClock(std::chrono::seconds(1)) ? 0 : 1);
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

// Clocks cannot be made to show less than zero.
std::chrono::seconds ShiftOfClient(size_t client) {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  switch (client % 3) {
    case 1:
      return std::chrono::hours(24);
    case 2:
      return -std::chrono::seconds(now.tv_sec / 2);
    default:
      return std::chrono::seconds(0);
  }
}

}  // namespace plov::torture
