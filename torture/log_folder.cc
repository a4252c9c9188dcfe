#include "torture/log_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <vector>

namespace plov::torture {

namespace files = std::filesystem;

namespace {

// Small files, so that a run sees many; each life begins another.
constexpr const char* kSegmentSize = "16M";

}  // namespace

std::expected<LogFolder, Error> LogFolder::Open(const std::string& path) {
  std::error_code failed;
  const files::path absolute = files::absolute(path, failed);
  const bool is_there = files::exists(absolute, failed);
  // What is no folder, or cannot be read, the server tells.
  const bool is_empty = !files::is_directory(absolute, failed) || files::is_empty(absolute, failed);
  if (is_there && !is_empty && !failed) {
    return Fail(Code::kInvalidArgument,
                "--log " + path +
                    ": the folder is not empty: name a new or an empty one, for a run "
                    "begins with a log of its own");
  }
  return LogFolder(absolute, is_there);
}

// The server takes its options from the environment as well (plovd(8)).
void LogFolder::TellServers(Commit commit) const {
  ::setenv("PLOVD_LOG", path_.c_str(), 1);
  ::setenv("PLOVD_COMMIT", std::string(CommitName(commit)).c_str(), 1);
  ::setenv("PLOVD_LOG_SEGMENT", kSegmentSize, 1);
}

uint64_t LogFolder::bytes() const {
  uint64_t bytes = 0;
  std::error_code failed;
  for (const auto& file : files::directory_iterator(path_, failed)) {
    const uint64_t size = file.file_size(failed);
    if (!failed) bytes += size;
  }
  return bytes;
}

void LogFolder::Clear() const {
  std::error_code failed;
  std::vector<files::path> all;
  for (const auto& file : files::directory_iterator(path_, failed)) all.push_back(file.path());
  for (const files::path& file : all) files::remove_all(file, failed);
}

void LogFolder::Remove() const {
  Clear();
  std::error_code failed;
  if (!was_there_) files::remove(path_, failed);
}

}  // namespace plov::torture
