// ScratchFolder: a folder of a run's own, which goes with it, also when the tool is killed.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "torture/scratch.h"
#include "verify/error.h"

namespace plov::bench {

// Threads: made before there are any.
class ScratchFolder {
 public:
  // Errors: kSystem.
  static std::expected<ScratchFolder, Error> Make(torture::Place place = torture::Place::kDisk) {
    auto path = torture::MakeFolder(place, "plov-bench");
    if (!path) return std::unexpected(path.error());
    auto janitor = torture::Janitor::Start([path = *path] { torture::RemoveFolder(path); });
    if (!janitor) return std::unexpected(janitor.error());
    return ScratchFolder(std::move(*path), std::move(*janitor));
  }
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), janitor_(std::move(other.janitor_)) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    if (!path_.empty()) torture::RemoveFolder(path_);
  }

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, torture::Janitor janitor)
      : path_(std::move(path)), janitor_(std::move(janitor)) {}

  std::string path_;
  torture::Janitor janitor_;
};

}  // namespace plov::bench
