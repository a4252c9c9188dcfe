#include "fabric/shm/passed_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>

#include "fabric/shm/shm.h"

namespace plov::fabric::shm {

namespace {

int OptionOf(int fd, int option) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &bytes) == 0 ? value : -1;
}

// Of a socket of ours; else what it is, as the end of a sentence.
std::expected<std::string, std::string> PathOf(int fd) {
  sockaddr_un address{};
  socklen_t bytes = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    return std::unexpected("is not a socket");
  }
  if (address.sun_family != AF_UNIX) return std::unexpected("is no Unix socket");
  if (bytes <= offsetof(sockaddr_un, sun_path) || address.sun_path[0] == '\0') {
    return std::unexpected("has no path");
  }
  if (OptionOf(fd, SO_TYPE) != SOCK_SEQPACKET) {
    return std::unexpected("is not a sequential-packet socket (ListenSequentialPacket=)");
  }
  if (OptionOf(fd, SO_ACCEPTCONN) != 1) return std::unexpected("does not listen");
  const size_t length = bytes - offsetof(sockaddr_un, sun_path);
  const std::string path(address.sun_path,
                         std::find(address.sun_path, address.sun_path + length, '\0'));
  struct stat file;
  if (::stat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) {
    return std::unexpected("listens on " + path +
                           ", which is not there any more: restart the socket unit");
  }
  return path;
}

std::unexpected<Error> Foreign(int fd, const std::string& what) {
  return Fail(Code::kInvalidArgument,
              "the descriptor " + std::to_string(fd) + " that was passed to plovd " + what);
}

}  // namespace

std::expected<PassedSockets, Error> PassedSockets::Take(std::span<const int> fds,
                                                        std::span<const std::string> uris) {
  PassedSockets passed;
  for (const int fd : fds) {
    const auto path = PathOf(fd);
    if (!path) return Foreign(fd, path.error());
    const auto is_of = [&path](const std::string& uri) {
      return IsShm(uri) && SocketPath(uri) == *path;
    };
    if (std::ranges::none_of(uris, is_of)) {
      return Foreign(fd, "listens on " + *path + ", which is no --listen of it: add --listen shm:" +
                             *path + ", or correct the socket unit");
    }
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (!passed.by_path_.emplace(*path, Fd(fd)).second) {
      return Foreign(fd, "listens on " + *path + ", as another one does");
    }
  }
  return passed;
}

std::optional<Fd> PassedSockets::Claim(const std::string& path) {
  const auto found = by_path_.extract(path);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

}  // namespace plov::fabric::shm
