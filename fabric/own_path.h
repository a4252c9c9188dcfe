// Own path: a file that this process has made. It is removed with this, unless another file has its name by then: where a
// folder was cleared, the next server may be there already.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

namespace plov::fabric {

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

}  // namespace plov::fabric
