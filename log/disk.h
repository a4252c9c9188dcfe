// Disk: what the log asks of a file system, and nothing else. The one of the system is in
// log/posix_disk.h; the simulator has one that forgets what was not synced (tests/log).
//
// Threads: a Disk from any thread at once; a File from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "verify/error.h"

namespace plov::log {

using Bytes = std::span<const std::byte>;

class File {
 public:
  virtual ~File() = default;

  virtual uint64_t bytes() const = 0;
  // Somebody keeps it under another name too, and would see what is written into it.
  virtual bool has_other_names() const = 0;
  // All of `to`, or kCorrupt: the file ends before. kSystem.
  virtual std::expected<void, Error> Read(uint64_t offset, std::span<std::byte> to) = 0;
  // All pieces one after the other, from `offset` on. kNoSpace, kSystem: some of it may be there.
  virtual std::expected<void, Error> Write(uint64_t offset, std::span<const Bytes> pieces) = 0;
  // What was written is durable when it returns; for a file opened with kDurable every Write is.
  // An error is final: nobody knows what of the file is there (rule D8).
  virtual std::expected<void, Error> Sync() = 0;
  // Drops what is synced from the system's memory: nobody will read it soon.
  virtual void DropCache() = 0;
};

class Disk {
 public:
  enum class Mode {
    kRead,
    kCreate,   // for writing; it must not be there
    kDurable,  // one that is there, for writing; a Write that returns is durable
    kWrite,    // one that is there, for writing
  };

  virtual ~Disk() = default;

  // Names have no folder: all files lie in one.
  virtual std::expected<std::unique_ptr<File>, Error> Open(const std::string& name, Mode mode) = 0;
  // Replaces what has the new name.
  virtual std::expected<void, Error> Rename(const std::string& from, const std::string& to) = 0;
  virtual std::expected<void, Error> Remove(const std::string& name) = 0;
  // A second name for a file that is there.
  virtual std::expected<void, Error> Link(const std::string& from, const std::string& to) = 0;
  // Names that were given and taken are durable when it returns.
  virtual std::expected<void, Error> SyncNames() = 0;
  // All names, in no order.
  virtual std::expected<std::vector<std::string>, Error> List() = 0;
  // Of a file, in messages: "DIR/NAME".
  virtual std::string PathOf(const std::string& name) const = 0;
};

}  // namespace plov::log
