#include "fabric/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace plov::fabric {

namespace {

constexpr int kAttempts = 100;

}  // namespace

std::expected<FileLock, Error> FileLock::Take(const std::string& name, const std::string& taken) {
  const std::string path = name + ".lock";
  // Another server's clean stop may unlink the file between open and flock: then it is the wrong
  // file.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!fd) return FailErrno("cannot create " + path, errno);
    struct stat held;
    if (::fstat(fd.get(), &held) != 0) return FailErrno("cannot look at " + path, errno);
    if (held.st_uid != ::geteuid()) {  // who could keep us out for ever
      return Fail(Code::kPermission, path + " belongs to another user: remove it");
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return FailErrno("cannot lock " + path, errno);
      return Fail(Code::kInUse, taken);
    }
    OwnPath own(path, held);
    if (own.is_there()) return FileLock(std::move(fd), std::move(own));
  }
  return Fail(Code::kInUse, "cannot lock " + path);
}

std::expected<bool, Error> FileLock::IsTaken(const std::string& name) {
  const std::string path = name + ".lock";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!fd) return FailErrno("cannot open " + path, errno);
  // Others who ask do not see each other; it is given back at once.
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return FailErrno("cannot lock " + path, errno);
}

}  // namespace plov::fabric
