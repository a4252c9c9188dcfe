#include "door/memcached/users.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fabric/os.h"

namespace plov::door::memcached {

namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;

std::unexpected<Error> WrongFile(const std::string& path, std::string_view what) {
  return Fail(Code::kInvalidArgument, fmt::format("--memcached-auth-file {}: {}", path, what));
}

std::unexpected<Error> CannotRead(const std::string& path, int error_number) {
  return FailErrno("cannot read --memcached-auth-file " + path, error_number);
}

// Passwords are for the file's owner, and perhaps its group, to read.
std::expected<void, Error> CheckMode(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return CannotRead(path, errno);
  if (!S_ISREG(status.st_mode)) return WrongFile(path, "is not a file");
  if ((status.st_mode & (S_IWGRP | S_IRWXO)) == 0) return {};
  return WrongFile(path,
                   fmt::format("its mode {:o} lets others read or write it (chmod 600 or 640)",
                               status.st_mode & 07777));
}

std::expected<std::string, Error> ReadFile(const std::string& path) {
  const fabric::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return CannotRead(path, errno);
  if (auto checked = CheckMode(file.get(), path); !checked) {
    return std::unexpected(checked.error());
  }
  std::string text;
  char part[4096];
  while (text.size() <= kFileBytesMax) {
    const ssize_t bytes = ::read(file.get(), part, sizeof(part));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return CannotRead(path, errno);
    if (bytes == 0) return text;
    text.append(part, static_cast<size_t>(bytes));
  }
  return WrongFile(path, "is larger than 1M");
}

}  // namespace

std::expected<std::unique_ptr<Users>, Error> Users::Of(const std::string& path) {
  std::unique_ptr<Users> users(new Users(path));
  if (auto loaded = users->Reload(); !loaded) return std::unexpected(loaded.error());
  return users;
}

std::expected<void, Error> Users::Reload() {
  const auto text = ReadFile(path_);
  if (!text) return std::unexpected(text.error());
  auto all = ParseUsers(*text);
  if (!all) return WrongFile(path_, all.error().message);
  const std::lock_guard lock(mutex_);
  all_ = std::move(*all);
  return {};
}

bool Users::Has(std::string_view user, std::string_view password) const {
  if (!Credentials::IsGood(user) || !Credentials::IsGood(password)) return false;
  const Credentials given(user, password);
  const std::lock_guard lock(mutex_);
  bool has = false;
  for (const Credentials& known : all_) has |= known.Equals(given);
  return has;
}

}  // namespace plov::door::memcached
