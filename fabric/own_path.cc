#include "fabric/own_path.h"

#include <unistd.h>

namespace plov::fabric {

OwnPath::OwnPath(const std::string& path) {
  struct stat file;
  if (::lstat(path.c_str(), &file) == 0) *this = OwnPath(path, file);
}

OwnPath::~OwnPath() {
  if (is_there()) ::unlink(path_.c_str());
}

bool OwnPath::is_there() const {
  struct stat status;
  return !path_.empty() && ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
         status.st_ino == number_;
}

}  // namespace plov::fabric
