// File lock: keeps a second server away from a name - of a socket, of a memory file.
//
// The lock is an flock on "<name>.lock", a file of its own that no client gets a descriptor of, so
// only the server's user and root can hold it. The kernel drops it when the process dies.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "fabric/os.h"
#include "fabric/own_path.h"
#include "verify/error.h"

namespace plov::fabric {

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
