// Copier: makes the files of a log in another folder, durably, under unfinished names; they get their own when
// all are there. What is not finished no server takes for a log.
//
// Threads: one. Memory: a piece of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "log/disk.h"
#include "log/offline/check.h"
#include "verify/log.h"

namespace plov::log::offline {

// Is told how many bytes there are so far.
using Copied = std::function<void(uint64_t)>;

// Gives a file a second name, an unfinished one, in the other folder. False: the two folders' file systems
// cannot, so it has to be copied.
using Link =
    std::function<std::expected<bool, Error>(const std::string& from, const std::string& to)>;

class Copier {
 public:
  // How much of a file, and what lies behind that; zeros from there to its length.
  struct Part {
    uint64_t keep_bytes = UINT64_MAX;
    Bytes then = {};
  };

  // All outlive it; `copied` may be empty.
  Copier(Disk* from, Disk* to, const Copied& copied) : from_(from), to_(to), copied_(copied) {}

  std::expected<void, Error> CopyFile(const std::string& name, const Part& part);
  // Links it, or copies it where that cannot be. Its bytes.
  std::expected<uint64_t, Error> LinkFile(const std::string& name, const Link& link);
  // A segment with this head and, of `from`, what lies behind the head up to `end`; then zeros.
  std::expected<void, Error> MakeSegment(const verify::LogHead& head, File* from, uint64_t end);

  // Gives the files their names, in the order in which they were made. Not synced.
  std::expected<void, Error> Finish();
  // Removes what was made.
  void Remove();

  uint64_t bytes() const { return bytes_; }  // written

 private:
  std::expected<std::unique_ptr<File>, Error> Create(const std::string& name);
  std::expected<void, Error> Write(File* file, uint64_t offset, Bytes piece);

  Disk* from_;
  Disk* to_;
  const Copied& copied_;
  std::vector<std::string> made_;  // as they are called now, in the order in which they were made
  uint64_t bytes_ = 0;
};

// Whether a server starts on the copy. kCorrupt: it is damaged.
std::expected<std::vector<Report>, Error> CheckCopy(Disk* disk);

}  // namespace plov::log::offline
