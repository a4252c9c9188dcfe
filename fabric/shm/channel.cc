#include "fabric/shm/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace plov::fabric::shm {

namespace {

union FdControl {
  cmsghdr align;
  std::array<char, CMSG_SPACE(sizeof(int) * kHandshakeFds)> bytes;
};

constexpr int kWakesTaken = 4;

// Takes ownership of every descriptor that came, wanted or not.
size_t TakeFds(msghdr* message, std::span<Fd> fds) {
  size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Fd owned(fd);
      if (count < fds.size()) fds[count++] = std::move(owned);
    }
  }
  return count;
}

bool SendWithFds(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  FdControl control{};
  if (!fds.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

struct Arrival {
  ssize_t bytes;  // of the message, also of what had no room; 0: the peer has hung up, -1: errno
  size_t fd_count;
};

Arrival ReceiveWithFds(int socket, std::span<std::byte> bytes, std::span<Fd> fds, int flags) {
  iovec data{bytes.data(), bytes.size()};
  FdControl control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  return {got, got > 0 ? TakeFds(&message, fds) : 0};
}

}  // namespace

bool SendHello(int socket, const Hello& hello) {
  return ::send(socket, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello);
}

bool ReceiveHello(int socket, Hello* hello) {
  return ::recv(socket, hello, sizeof(*hello), MSG_DONTWAIT | MSG_TRUNC) == sizeof(*hello) &&
         hello->magic == kHandshakeMagic;
}

bool SendWelcome(int socket, const Welcome& welcome, std::span<const int> fds) {
  return SendWithFds(socket, std::as_bytes(std::span(&welcome, 1)), fds);
}

std::expected<Welcome, Error> ReceiveWelcome(int socket, HandshakeFds* fds) {
  Welcome welcome{};
  const auto bytes = std::as_writable_bytes(std::span(&welcome, 1));
  Arrival came = ReceiveWithFds(socket, bytes, *fds, 0);
  // A server that refused us without having heard our Hello has answered all the same.
  if (came.bytes < 0 && errno == ECONNRESET) came = ReceiveWithFds(socket, bytes, *fds, 0);
  if (came.bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Fail(Code::kTimeout, "the server does not answer (stopped or overloaded)");
  }
  if (came.bytes <= 0) {
    return Fail(Code::kUnavailable, "the server closed the connection at once");
  }
  if (came.bytes != sizeof(welcome) || welcome.magic != kHandshakeMagic) {
    return Fail(Code::kProtocol, "the program that listens on this socket is not a plov server");
  }
  if (welcome.status == 0 && came.fd_count != kHandshakeFds) {
    return Fail(Code::kProtocol, "the server passed too few descriptors (limit of open files?)");
  }
  return welcome;
}

Person PersonOf(int socket) {
  ucred user;
  socklen_t bytes = sizeof(user);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0) return {};
  Person person{.user = user.uid, .groups = {}};
  bytes = 0;
  // Fails with ERANGE, and says how many bytes they take.
  ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes);
  person.groups.resize(bytes / sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, person.groups.data(), &bytes) != 0) {
    person.groups.clear();
  }
  person.groups.push_back(user.gid);
  return person;
}

std::optional<uid_t> UserOf(int socket) { return PersonOf(socket).user; }

void WakePeer(int socket) {
  const char wake = 1;
  // A full socket has wakes in it already; a closed one is noticed by whoever waits on it.
  [[maybe_unused]] const ssize_t sent =
      ::send(socket, &wake, sizeof(wake), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// An honest peer sends one at a time; one that sends without end is not listened to without end.
bool TakeWakes(int socket, Fd* file) {
  for (int i = 0; i < kWakesTaken; ++i) {
    std::array<std::byte, 16> wakes;
    const Arrival came = ReceiveWithFds(socket, wakes, std::span(file, 1), MSG_DONTWAIT);
    if (came.bytes == 0) return false;
    if (came.bytes < 0) return errno == EAGAIN || errno == EINTR;
  }
  return true;
}

bool TakeWakes(int socket) {
  Fd unwanted;
  return TakeWakes(socket, &unwanted);
}

bool PassFile(int socket, int file) {
  const std::byte wake{1};
  return SendWithFds(socket, std::span(&wake, 1), std::span(&file, 1));
}

}  // namespace plov::fabric::shm
