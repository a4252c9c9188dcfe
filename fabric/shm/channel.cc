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

// Takes ownership of every descriptor that came, wanted or not.
size_t TakeFds(msghdr* message, HandshakeFds* fds) {
  size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Fd owned(fd);
      if (count < fds->size()) (*fds)[count++] = std::move(owned);
    }
  }
  return count;
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
  iovec data{const_cast<Welcome*>(&welcome), sizeof(welcome)};
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
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(welcome);
}

std::expected<Welcome, Error> ReceiveWelcome(int socket, HandshakeFds* fds) {
  Welcome welcome{};
  iovec data{&welcome, sizeof(welcome)};
  FdControl control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  // A server that refused us without having heard our Hello has answered all the same.
  if (got < 0 && errno == ECONNRESET) got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Fail(Code::kTimeout, "the server does not answer (stopped or overloaded)");
  }
  if (got <= 0) return Fail(Code::kUnavailable, "the server closed the connection at once");
  const size_t fd_count = TakeFds(&message, fds);
  const bool whole = got == sizeof(welcome) && (message.msg_flags & MSG_TRUNC) == 0;
  if (!whole || welcome.magic != kHandshakeMagic) {
    return Fail(Code::kProtocol, "whatever listens on this socket is not a plov server");
  }
  if (welcome.status == 0 && fd_count != kHandshakeFds) {
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

bool TakeWakes(int socket) {
  // An honest peer sends one at a time; one that sends without end is not listened to without end.
  for (int i = 0; i < 4; ++i) {
    std::array<char, 16> wakes;
    const ssize_t got = ::recv(socket, wakes.data(), wakes.size(), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
  }
  return true;
}

}  // namespace plov::fabric::shm
