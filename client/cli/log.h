// What the parts of `plov log` share: the log's folder, and how they say what is wrong with it.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "log/offline/shards.h"
#include "log/posix_disk.h"
#include "program/progress.h"

namespace plov::cli {

// The folder that the command line names, which no server uses. Every error is of the files: kSystem.
std::expected<std::unique_ptr<log::PosixDisk>, Error> OpenLog(const Options& options);

// An error of a file as an error of the command: nothing is wrong with the command line.
Error AboutFiles(Error error);
// What to do about damage in the folder.
std::unexpected<Error> FailDamaged(const std::string& folder, std::string_view what);

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

Outcome LogCheck(const Options& options, program::Output* output);
Outcome LogList(const Options& options, program::Output* output);
Outcome LogExport(const Options& options, program::Output* output);
Outcome LogCut(const Options& options, program::Output* output);
Outcome LogSalvage(const Options& options, program::Output* output);

}  // namespace plov::cli
