// File lock: keeps a second server away from a name - of a socket, of a memory file.
//
// The lock is an flock on "<name>.lock", a file of its own that no client gets a descriptor of, so
// only the server's user and root can hold it. The kernel drops it when the process dies.
#pragma once

#include <sys/stat.h>

#include <expected>
#include <string>
#include <utility>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::fabric {

// A file that this process has made. It is removed with this, unless another one has its name by then.
class OwnPath {
 public:
  OwnPath() = default;
  // What is there now.
  explicit OwnPath(const std::string& path);
  OwnPath(std::string path, const struct stat& file)
      : path_(std::move(path)), device_(file.st_dev), number_(file.st_ino) {}
  OwnPath(OwnPath&& other) noexcept { *this = std::move(other); }
  OwnPath& operator=(OwnPath&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~OwnPath();

  // Whether it is there still.
  bool is_there() const;

 private:
  std::string path_;  // empty: there is none
  dev_t device_ = 0;
  ino_t number_ = 0;
};

class FileLock {
 public:
  // path: what is locked; it need not be there. kInUse says `taken`; kPermission (another user made
  // the lock file), kSystem.
  static std::expected<FileLock, Error> Take(const std::string& path, const std::string& taken);

  // Whether somebody has it, without making the lock file. kPermission, kSystem.
  static std::expected<bool, Error> IsTaken(const std::string& path);

  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(Fd fd, OwnPath path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  OwnPath path_;  // of the lock file
};

}  // namespace plov::fabric
