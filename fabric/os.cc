#include "fabric/os.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace plov::fabric {

std::expected<Mapping, Error> Mapping::Map(int fd, size_t bytes, int protection) {
  void* memory = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return FailErrno("cannot map shared memory", errno);
  Mapping mapping;
  mapping.memory_ = {static_cast<std::byte*>(memory), bytes};
  return mapping;
}

std::expected<void, Error> CheckBytes(int fd, uint64_t bytes) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return FailErrno("cannot look at shared memory", errno);
  if (bytes == 0 || status.st_size < 0 || static_cast<uint64_t>(status.st_size) < bytes) {
    return Fail(Code::kProtocol, "the server's memory is smaller than it says");
  }
  return {};
}

bool IsFixedMemory(int fd) {
  struct statfs system;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstatfs(fd, &system) == 0 &&
         static_cast<uint64_t>(system.f_type) == TMPFS_MAGIC;
}

std::expected<Mapping, Error> Mapping::MapChecked(int fd, uint64_t bytes, int protection) {
  if (auto checked = CheckBytes(fd, bytes); !checked) return std::unexpected(checked.error());
  return Map(fd, bytes, protection);
}

std::expected<Mapping, Error> Mapping::MapAnonymous(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return FailErrno("cannot map memory", errno);
  Mapping mapping;
  mapping.memory_ = {static_cast<std::byte*>(memory), bytes};
  return mapping;
}

namespace {

// A file that grows beyond its limit is a signal that ends a program, unless it has said otherwise:
// a client's is somebody else's program.
bool IsBeyondFileSize(size_t bytes) {
  rlimit files{};
  return ::getrlimit(RLIMIT_FSIZE, &files) == 0 && bytes > files.rlim_cur;
}

}  // namespace

std::expected<Fd, Error> CreateMemory(const char* name, size_t bytes) {
  if (IsBeyondFileSize(bytes)) {
    return FailErrno("cannot make shared memory beyond ulimit -f", EFBIG);
  }
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return FailErrno("cannot create shared memory", errno);
  ::fchmod(fd.get(), 0600);  // other users get it through the socket only, and as it was opened
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return FailErrno("cannot size shared memory", errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return FailErrno("cannot seal shared memory", errno);
  }
  return fd;
}

std::expected<Fd, Error> ReopenReadOnly(int fd) {
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  Fd read_only(::open(self.c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only) return FailErrno("cannot reopen shared memory read-only", errno);
  return read_only;
}

std::expected<Fd, Error> CreateEventFd() {
  Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return FailErrno("cannot create an eventfd", errno);
  return fd;
}

std::expected<void, Error> Watch(int epoll_fd, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
    return FailErrno("cannot watch a descriptor", errno);
  }
  return {};
}

std::expected<Fd, Error> CreateEpoll(std::initializer_list<int> fds) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return FailErrno("cannot create an epoll", errno);
  for (const int fd : fds) {
    if (auto watched = Watch(epoll.get(), fd); !watched) return std::unexpected(watched.error());
  }
  return epoll;
}

std::expected<Fd, Error> CreateTimerFd() {
  Fd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd) return FailErrno("cannot create a timerfd", errno);
  return fd;
}

void SetTimer(int timer_fd, std::chrono::nanoseconds period) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(period);
  const timespec every{.tv_sec = seconds.count(), .tv_nsec = (period - seconds).count()};
  const itimerspec setting{.it_interval = every, .it_value = every};
  ::timerfd_settime(timer_fd, 0, &setting, nullptr);
}

void Ring(int event_fd) {
  const uint64_t one = 1;
  // EAGAIN means that the counter is full, and so readable already.
  [[maybe_unused]] const ssize_t written = ::write(event_fd, &one, sizeof(one));
}

bool ClearEvent(int event_fd) {
  uint64_t count;
  return ::read(event_fd, &count, sizeof(count)) == sizeof(count);
}

bool AwaitReadable(int fd, std::chrono::steady_clock::time_point deadline) {
  pollfd polled{fd, POLLIN, 0};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto wait_ms = std::clamp<int64_t>(left.count(), 0, 1000);
    if (::poll(&polled, 1, static_cast<int>(wait_ms)) > 0) return true;
    if (left.count() <= 0) return false;
  }
}

uint32_t ProcessorCount() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (::sched_getaffinity(0, sizeof(processors), &processors) != 0) return CPU_SETSIZE;  // more
  return static_cast<uint32_t>(CPU_COUNT(&processors));
}

}  // namespace plov::fabric
