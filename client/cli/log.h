// What the parts of `plov log` share: the log's folder, and how they say what is wrong with it.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "fabric/file_lock.h"
#include "log/offline/cut.h"
#include "log/offline/shards.h"
#include "log/posix_disk.h"
#include "program/progress.h"

namespace plov::cli {

// A log's folder that no server uses. Every error is of the files: kSystem.
std::expected<std::unique_ptr<log::PosixDisk>, Error> OpenLog(const std::string& folder);

// A folder that is empty, or is made, to copy a log to. No server begins there while this lives.
struct NewFolder {
  std::unique_ptr<log::PosixDisk> disk;
  fabric::FileLock lock;

  // As OpenLog.
  static std::expected<NewFolder, Error> Open(const std::string& folder);
};

// An error of a file as an error of the command: nothing is wrong with the command line.
Error AboutFiles(Error error);
// What to do about damage in the folder.
std::unexpected<Error> FailDamaged(const std::string& folder, std::string_view what);

// "batches 3 to 5", "no batches" where there is none.
std::string RangeOf(std::string_view what, uint64_t first, uint64_t last);

// Counts what is read, for the line on the terminal.
class ReadProgress {
 public:
  void Add(const verify::Logged& operation) {
    ++operations_;
    bytes_ += operation.key.size() + operation.value.size();
    if (operations_ % kBetween == 0) progress_.Show(operations_, bytes_);
  }
  void Clear() { progress_.Clear(); }

 private:
  static constexpr uint64_t kBetween = 256;

  program::Progress progress_;
  uint64_t operations_ = 0;
  uint64_t bytes_ = 0;
};

// Copies these parts of a log into a folder that is empty, or is made, and shows how that gets on.
Outcome CopyInto(const std::string& folder, log::Disk* from,
                 const std::vector<log::offline::Cutting>& cuttings);

Outcome LogCheck(const Options& options, program::Output* output);
Outcome LogList(const Options& options, program::Output* output);
Outcome LogExport(const Options& options, program::Output* output);
Outcome LogCut(const Options& options, program::Output* output);
Outcome LogSalvage(const Options& options, program::Output* output);

}  // namespace plov::cli
