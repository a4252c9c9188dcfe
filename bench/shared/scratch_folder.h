// ScratchFolder: a folder of a run's own, which goes with it, also when the tool is killed.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <expected>
#include <string>
#include <utility>

#include "program/scratch.h"
#include "verify/error.h"

namespace plov::bench {

// Threads: made before there are any.
class ScratchFolder {
 public:
  // Errors: kSystem.
  static std::expected<ScratchFolder, Error> Make(program::Place place = program::Place::kDisk) {
    auto path = program::MakeFolder(place, "plov-bench");
    if (!path) return std::unexpected(path.error());
    return Keep(std::move(*path));
  }
  // In a folder that is there. Errors: kSystem.
  static std::expected<ScratchFolder, Error> MakeIn(const std::string& parent) {
    std::string path = parent + "/plov-bench-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return FailErrno("cannot make a folder in " + parent, errno);
    }
    return Keep(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), janitor_(std::move(other.janitor_)) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    if (!path_.empty()) program::RemoveFolder(path_);
  }

  const std::string& path() const { return path_; }

 private:
  static std::expected<ScratchFolder, Error> Keep(std::string path) {
    auto janitor = program::Janitor::Start([path] { program::RemoveFolder(path); });
    if (!janitor) return std::unexpected(janitor.error());
    return ScratchFolder(std::move(path), std::move(*janitor));
  }
  ScratchFolder(std::string path, program::Janitor janitor)
      : path_(std::move(path)), janitor_(std::move(janitor)) {}

  std::string path_;
  program::Janitor janitor_;
};

}  // namespace plov::bench
