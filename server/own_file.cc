#include "server/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace plov::server {

std::expected<fabric::Fd, Error> OpenOwnFile(const std::string& path, const std::string& what) {
  fabric::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) {
    auto failed = FailErrno("cannot open " + what + " " + path, errno);
    if (errno == ELOOP) failed.error().message += ": name the file itself, not a link to it";
    return failed;
  }
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return FailErrno("cannot look at " + path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Fail(Code::kInvalidArgument, path + " is not a regular file: name one, or a new one");
  }
  // A lock is on the name: another server may have the file under its other one.
  if (status.st_nlink > 1) {
    return Fail(Code::kInvalidArgument, path + " has another name (a hard link): remove one");
  }
  // Whoever owns it can read and write it at any time.
  if (status.st_uid != ::geteuid()) {
    return Fail(Code::kPermission, path + " belongs to another user: remove it, or name another");
  }
  ::fchmod(fd.get(), 0600);
  return fd;
}

}  // namespace plov::server
