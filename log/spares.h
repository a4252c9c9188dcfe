// Spares: files of a segment's size that are written and synced, so that a segment begins without waiting
// for the disk and a full disk is known a segment ahead.
//
// Threads: any. One maker's thread calls WaitUntilWanted and Make; segment writers Take and Give.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "log/disk.h"

namespace plov::log {

class Spares {
 public:
  static constexpr size_t kMax = 2;

  // found: spares that lie there; those of another size, or that somebody has linked, are removed.
  Spares(Disk* disk, uint64_t file_bytes, std::vector<std::string> found);

  uint64_t file_bytes() const { return file_bytes_; }

  // The name of a spare of the usual size, the caller's from now on. One is made on the spot where there is
  // none. kNoSpace, kSystem.
  std::expected<std::string, Error> Take();
  // One of a size of its own.
  std::expected<std::string, Error> MakeOf(uint64_t bytes);
  // Recycles a file of the usual size that nobody needs any more and that has no other name, or removes it.
  void Give(const std::string& name);

  // For the maker's thread: waits until a spare is wanted; false once Stop was called. After a Make that
  // failed it waits a second.
  bool WaitUntilWanted();
  std::expected<void, Error> Make();
  void Stop();

 private:
  // Holds `mutex_` in all of these.
  bool wants() const { return ready_.size() + coming_ < kMax; }
  std::string NextName();
  void Found(const std::string& name);

  std::expected<void, Error> MakeFile(const std::string& name, uint64_t bytes);
  bool IsReusable(const std::string& name);
  bool Recycle(const std::string& from, const std::string& to);

  Disk* disk_;
  uint64_t file_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> ready_;
  size_t coming_ = 0;    // are being made or renamed, without the mutex
  uint64_t next_ = 0;    // number of the next name
  bool failed_ = false;  // the last Make
  bool stopped_ = false;
};

}  // namespace plov::log
