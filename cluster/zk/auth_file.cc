#include "cluster/zk/auth_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "fabric/os.h"

namespace plov::cluster::zk {

std::expected<std::string, Error> ReadAuthFile(const std::string& file) {
  // It does not wait for the writer of a pipe.
  const fabric::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) return FailErrno(file, errno);
  if (!S_ISREG(status.st_mode)) return Fail(Code::kInvalidArgument, file + ": is not a file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Fail(Code::kPermission,
                fmt::format("{}: other users may use it (mode {:o}): chmod 600 {}", file,
                            status.st_mode & 0777, file));
  }
  std::array<char, 1024> text;
  const ssize_t bytes = ::read(fd.get(), text.data(), text.size());
  if (bytes < 0) return FailErrno(file, errno);
  std::string_view line(text.data(), static_cast<size_t>(bytes));
  if (line.ends_with('\n')) line.remove_suffix(1);
  const size_t colon = line.find(':');
  const bool is_whole =
      line.size() + 1 < text.size() && !line.contains('\n') && !line.contains('\0');
  if (!is_whole || colon == 0 || colon == std::string_view::npos || colon + 1 == line.size()) {
    return Fail(Code::kInvalidArgument, file + ": is not one line of user:password");
  }
  return std::string(line);
}

}  // namespace plov::cluster::zk
