#include <sys/stat.h>
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

// Anybody may create the folder under /tmp first: it must be ours, and ours alone.
std::expected<void, Error> CheckFallbackFolder(const std::string& folder) {
  struct stat status;
  if (::lstat(folder.c_str(), &status) != 0)
    return {};  // not there: connecting or binding will say
  if (S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
    return {};
  return Fail(Code::kPermission,
              folder +
                  " is not a folder of yours with mode 0700: set XDG_RUNTIME_DIR, "
                  "or name a socket by its path");
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
  if (name.contains('\0')) {
    return Fail(Code::kInvalidArgument, "a socket path cannot contain a zero byte");
  }
  std::string path = is_path ? name : PathOfName(name);
  if (path.size() > kPathBytesMax) {
    return Fail(Code::kInvalidArgument, "socket path '" + path + "' is longer than " +
                                            std::to_string(kPathBytesMax) +
                                            " bytes: choose a shorter one");
  }
  if (!is_path && path.starts_with("/tmp/")) {
    const std::string folder = path.substr(0, path.rfind('/'));
    if (auto checked = CheckFallbackFolder(folder); !checked) {
      return std::unexpected(checked.error());
    }
  }
  return path;
}

}  // namespace plov::fabric::shm
