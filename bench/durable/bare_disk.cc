#include "bench/durable/bare_disk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace plov::bench {

namespace {

// No zeros: what the file has already need not be written again.
constexpr std::array<char, BareDisk::kWriteBytesMax> Filled(char byte) {
  std::array<char, BareDisk::kWriteBytesMax> bytes{};
  bytes.fill(byte);
  return bytes;
}
constexpr auto kZeros = Filled(0);
constexpr auto kBytes = Filled('v');

std::expected<void, Error> WriteAt(int file, const std::string& path, const char* bytes,
                                   size_t count, uint64_t at) {
  const ssize_t wrote = ::pwrite(file, bytes, count, static_cast<off_t>(at));
  if (wrote == static_cast<ssize_t>(count)) return {};
  return FailErrno("cannot write " + path, wrote < 0 ? errno : ENOSPC);
}

}  // namespace

std::expected<BareDisk, Error> BareDisk::Create(const std::string& path, uint64_t file_bytes) {
  const fabric::Fd fresh(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fresh) return FailErrno("cannot make " + path, errno);
  for (uint64_t at = 0; at < file_bytes; at += kZeros.size()) {
    auto wrote = WriteAt(fresh.get(), path, kZeros.data(), kZeros.size(), at);
    if (!wrote) return std::unexpected(wrote.error());
  }
  if (::fdatasync(fresh.get()) != 0) return FailErrno("cannot sync " + path, errno);
  fabric::Fd file(::open(path.c_str(), O_WRONLY | O_DSYNC | O_CLOEXEC));
  if (!file) return FailErrno("cannot open " + path, errno);
  return BareDisk(path, std::move(file), file_bytes);
}

std::expected<void, Error> BareDisk::Write(size_t bytes) {
  if (next_ + bytes > file_bytes_) next_ = 0;
  const uint64_t at = next_;
  next_ += bytes;
  return WriteAt(file_.get(), path_, kBytes.data(), bytes, at);
}

bool IsOnTmpfs(const std::string& folder) {
  struct statfs about {};
  return ::statfs(folder.c_str(), &about) == 0 && about.f_type == TMPFS_MAGIC;
}

}  // namespace plov::bench
