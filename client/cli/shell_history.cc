#include "client/cli/shell_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace plov::cli {

namespace {

constexpr int kLinesMax = 1000;
constexpr size_t kLineBytesMax =
    4096;  // a value that was typed in, longer than this, is no line to repeat

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Empty where the environment names no place. Source: XDG Base Directory Specification 0.8.
std::string PathOfHistory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/plov_history";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::string(home) + "/.local/state/plov_history";
}

// Empty unless it is a regular file: another one could block, or be a device.
File OpenRegular(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR);
  struct stat status {};
  const bool is_regular = fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_regular && fd >= 0) ::close(fd);
  return {is_regular ? ::fdopen(fd, flags == O_RDONLY ? "r" : "w") : nullptr, &std::fclose};
}

}  // namespace

ShellHistory::ShellHistory() : history_(::history_init()), path_(PathOfHistory()) {
  if (history_ == nullptr) return;
  HistEvent event{};
  ::history(history_, &event, H_SETSIZE, kLinesMax);
  ::history(history_, &event, H_SETUNIQUE, 1);
  if (OpenRegular(path_, O_RDONLY)) ::history(history_, &event, H_LOAD, path_.c_str());
}

ShellHistory::~ShellHistory() {
  if (history_ != nullptr) ::history_end(history_);
}

void ShellHistory::Add(const std::string& line) {
  if (history_ == nullptr || line.size() > kLineBytesMax) return;
  HistEvent event{};
  ::history(history_, &event, H_ENTER, line.c_str());
  const mode_t before = ::umask(S_IRWXG | S_IRWXO);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const File file = OpenRegular(path_, O_WRONLY | O_CREAT);
  ::umask(before);
  if (!file || ::fchmod(::fileno(file.get()), S_IRUSR | S_IWUSR) != 0) return;
  if (::ftruncate(::fileno(file.get()), 0) == 0) {
    ::history(history_, &event, H_SAVE_FP, file.get());
  }
}

}  // namespace plov::cli
