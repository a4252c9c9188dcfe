// Owners of file descriptors and mappings, and the few system calls that all fabrics need.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "verify/error.h"

namespace plov::fabric {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Mapping() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  }

  // protection: PROT_READ, perhaps with PROT_WRITE.
  static std::expected<Mapping, Error> Map(int fd, size_t bytes, int protection);

  // The same for a peer's descriptor, after CheckBytes.
  static std::expected<Mapping, Error> MapChecked(int fd, uint64_t bytes, int protection);

  // Zeroed private memory of whole pages.
  static std::expected<Mapping, Error> MapAnonymous(size_t bytes);

  std::span<std::byte> bytes() const { return memory_; }

 private:
  std::span<std::byte> memory_;
};

// kProtocol when a peer's file is shorter than the peer says: a mapping of it would fault.
std::expected<void, Error> CheckBytes(int fd, uint64_t bytes);

// Whether no peer can make a mapping of the file fault later: it is memory of the kernel's, not of
// a file system that has a size or pages of its own, and sealed against shrinking.
bool IsFixedMemory(int fd);

// An anonymous file of fixed size (sealed against shrinking, so that no peer can make a mapping
// fault).
std::expected<Fd, Error> CreateMemory(const char* name, size_t bytes);

// Opens a descriptor's file anew for a peer that may only read: a duplicate would share the mode.
std::expected<Fd, Error> ReopenReadOnly(int fd);

std::expected<Fd, Error> CreateEventFd();

// An epoll that is readable when one of `fds` is; Watch adds another. One that is closed leaves it.
std::expected<Fd, Error> CreateEpoll(std::initializer_list<int> fds);
std::expected<void, Error> Watch(int epoll_fd, int fd);

// A timer that does not block and does not run yet; SetTimer makes its descriptor readable every
// `period` from now on, zero stops it. ClearEvent takes what has come.
std::expected<Fd, Error> CreateTimerFd();
void SetTimer(int timer_fd, std::chrono::nanoseconds period);

// Waits until there is something to read, or the peer is gone; false when there is not by then.
// Signals do not end it.
bool AwaitReadable(int fd, std::chrono::steady_clock::time_point deadline);

// Adds to a counter of an eventfd / resets it, and says whether there was something. Neither
// blocks.
void Ring(int event_fd);
bool ClearEvent(int event_fd);

// On which this thread may run; 1 at least.
uint32_t ProcessorCount();

}  // namespace plov::fabric
