#include "client/cli/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace plov::cli {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;  // what a pipe takes at once

}  // namespace

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// The lowest free number is the one that is closed; open for the other direction.
void OccupyStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened =
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void Output::Write(std::string_view bytes) {
  if (!good()) return;
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  if (good()) error_number_ = WriteAll(fd_, buffer_);
  buffer_.clear();
}

std::expected<void, Error> Output::Finish() {
  Flush();
  if (good()) return {};
  return Fail(Code::kSystem, fmt::format("cannot write to standard output: {}; the output is cut",
                                         std::generic_category().message(error_number_)));
}

}  // namespace plov::cli
