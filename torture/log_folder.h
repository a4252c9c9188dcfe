// Log folder: what plovd --log writes in a run, from nothing to nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "torture/durability.h"
#include "verify/error.h"

namespace plov::torture {

class LogFolder {
 public:
  // path: not there yet, or an empty folder: a run begins with a log of its own.
  // Errors: kInvalidArgument, there is something in it.
  static std::expected<LogFolder, Error> Open(const std::string& path);

  // Tells the servers that this process starts from now on.
  void TellServers(Commit commit) const;

  const std::string& path() const { return path_; }
  uint64_t bytes() const;
  // So that the next server begins anew. It was empty, so all in it is the server's.
  void Clear() const;
  // Clears it, and removes it when it was not there.
  void Remove() const;

 private:
  LogFolder(std::string path, bool was_there) : path_(std::move(path)), was_there_(was_there) {}

  std::string path_;  // absolute
  bool was_there_;
};

}  // namespace plov::torture
