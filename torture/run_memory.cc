#include "torture/run_memory.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace plov::torture {

namespace {

std::unexpected<Error> Failed(const char* what) {
  return Fail(Code::kSystem, std::string(what) + ": " + std::strerror(errno));
}

int64_t clock_shift_seconds = 0;  // set before the process has threads

void* Map(int fd) {
  void* at = ::mmap(nullptr, sizeof(RunMemory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

std::expected<RunMapping, Error> RunMapping::Create() {
  const int fd = ::memfd_create("plov-torture", MFD_CLOEXEC);
  if (fd < 0) return Failed("cannot create shared memory");
  void* at = ::ftruncate(fd, sizeof(RunMemory)) == 0 ? Map(fd) : nullptr;
  if (at == nullptr) {
    const auto failed = Failed("cannot map shared memory");
    ::close(fd);
    return failed;
  }
  // Default initialized: the rings are zero already, and not touched.
  return RunMapping(fd, new (at) RunMemory);
}

std::expected<RunMapping, Error> RunMapping::Open(int fd) {
  void* at = Map(fd);
  if (at == nullptr) return Failed("cannot map shared memory");
  return RunMapping(fd, static_cast<RunMemory*>(at));
}

RunMapping::RunMapping(RunMapping&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), memory_(std::exchange(other.memory_, nullptr)) {}

RunMapping::~RunMapping() {
  if (memory_ == nullptr) return;
  ::munmap(memory_, sizeof(RunMemory));
  ::close(fd_);
}

Instant Now() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - clock_shift_seconds) * 1'000'000'000 + now.tv_nsec;
}

void SetClockShift(std::chrono::seconds ahead) { clock_shift_seconds = ahead.count(); }

void SetText(std::string_view text, std::span<char, kTextBytes> to) {
  const size_t bytes = std::min(text.size(), to.size() - 1);
  std::ranges::copy(text.substr(0, bytes), to.begin());
  to[bytes] = '\0';
}

}  // namespace plov::torture
