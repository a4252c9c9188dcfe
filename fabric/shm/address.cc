#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "fabric/shm/shm.h"

namespace plov::fabric::shm {

namespace {

constexpr std::string_view kScheme = "shm:";
constexpr size_t kPathBytesMax = sizeof(sockaddr_un{}.sun_path) - 1;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string PathOfName(std::string_view name) {
  std::string path;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (geteuid() == 0) {
    path.append("/run/plov/");
  } else if (runtime != nullptr && runtime[0] == '/') {
    path.append(runtime).append("/plov-");
  } else {
    path.append("/tmp/plov-").append(std::to_string(geteuid())).append("/");
  }
  return path.append(name).append(".sock");
}

}  // namespace

bool IsShm(std::string_view uri) { return uri.starts_with(kScheme); }

std::expected<std::string, Error> SocketPath(std::string_view uri) {
  const std::string name(uri.substr(kScheme.size()));
  const bool is_path = name.starts_with('/');
  if (!is_path &&
      (name.empty() || name.starts_with('.') || !std::ranges::all_of(name, IsNameByte))) {
    std::string message = "'";
    message.append(uri).append(
        "' names no socket: use shm:NAME (letters, digits, - _ .) or shm:/absolute/path.sock");
    return Fail(Code::kInvalidArgument, std::move(message));
  }
  std::string path = is_path ? name : PathOfName(name);
  if (path.size() > kPathBytesMax) {
    return Fail(Code::kInvalidArgument, "socket path '" + path + "' is longer than " +
                                            std::to_string(kPathBytesMax) +
                                            " bytes: choose a shorter one");
  }
  return path;
}

}  // namespace plov::fabric::shm
