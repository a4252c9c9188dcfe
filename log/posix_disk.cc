#include "log/posix_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

namespace plov::log {

namespace {

// Not in all versions of linux/magic.h.
constexpr uint32_t kCifsMagic = 0xff534d42;
constexpr uint32_t kSmb2Magic = 0xfe534d42;
constexpr uint32_t kCephMagic = 0x00c36400;
constexpr std::array<uint32_t, 8> kNetworkFileSystems = {
    NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, kCifsMagic, kSmb2Magic,
    AFS_SUPER_MAGIC, AFS_FS_MAGIC,    V9FS_MAGIC, kCephMagic};

// As FailErrno, and kNoSpace where the disk or a quota is full.
std::unexpected<Error> FailDisk(const std::string& what, int error_number) {
  auto failure = FailErrno(what, error_number);
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) {
    failure.error().code = Code::kNoSpace;
  } else if (error_number == EROFS) {
    failure.error().code = Code::kPermission;
  }
  return failure;
}

// Takes the first `bytes` off.
void DropFront(std::span<iovec>* rest, size_t bytes) {
  while (!rest->empty() && bytes >= rest->front().iov_len) {
    bytes -= rest->front().iov_len;
    *rest = rest->subspan(1);
  }
  if (rest->empty()) return;
  iovec& front = rest->front();
  front.iov_base = static_cast<std::byte*>(front.iov_base) + bytes;
  front.iov_len -= bytes;
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, fabric::Fd fd, uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}

  uint64_t bytes() const override { return bytes_; }
  bool has_other_names() const override {
    struct stat status;
    return ::fstat(fd_.get(), &status) != 0 || status.st_nlink > 1;
  }

  std::expected<void, Error> Read(uint64_t offset, std::span<std::byte> to) override {
    while (!to.empty()) {
      const ssize_t got = ::pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FailDisk(path_ + ": cannot read", errno);
      if (got == 0) return Fail(Code::kCorrupt, path_ + ": the file ends too early");
      offset += static_cast<uint64_t>(got);
      to = to.subspan(static_cast<size_t>(got));
    }
    return {};
  }

  std::expected<void, Error> Write(uint64_t offset, std::span<const Bytes> pieces) override {
    std::vector<iovec> vectors;
    vectors.reserve(pieces.size());
    for (const Bytes piece : pieces) {
      // pwritev takes memory that it only reads without const.
      if (!piece.empty()) vectors.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    }
    for (std::span<iovec> rest = vectors; !rest.empty();) {
      const auto count = static_cast<int>(std::min<size_t>(rest.size(), IOV_MAX));
      const ssize_t put = ::pwritev(fd_.get(), rest.data(), count, static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return FailDisk(path_ + ": cannot write", put < 0 ? errno : EIO);
      offset += static_cast<uint64_t>(put);
      bytes_ = std::max(bytes_, offset);
      DropFront(&rest, static_cast<size_t>(put));
    }
    return {};
  }

  std::expected<void, Error> Sync() override {
    // No second try after an error, EINTR included: the system may have forgotten what it could not write.
    if (::fdatasync(fd_.get()) != 0) return FailDisk(path_ + ": cannot sync", errno);
    return {};
  }

  void DropCache() override { ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED); }

 private:
  std::string path_;
  fabric::Fd fd_;
  uint64_t bytes_;
};

int FlagsOf(Disk::Mode mode) {
  switch (mode) {
    case Disk::Mode::kRead:
      return O_RDONLY;
    case Disk::Mode::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
    case Disk::Mode::kDurable:
      return O_RDWR | O_DSYNC;
    case Disk::Mode::kWrite:
      return O_RDWR;
  }
  std::unreachable();
}

std::string ParentOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::expected<fabric::Fd, Error> OpenFolder(const std::string& path) {
  fabric::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) return folder;
  if (errno == ENOTDIR) return Fail(Code::kInvalidArgument, path + ": this is not a folder");
  return FailErrno(path + ": cannot open the folder", errno);
}

std::expected<void, Error> SyncFolder(const fabric::Fd& folder, const std::string& path) {
  if (::fsync(folder.get()) != 0) return FailDisk(path + ": cannot sync the folder", errno);
  return {};
}

// Makes the folder, with a name that lasts, where there is none.
std::expected<void, Error> MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return FailDisk(path + ": cannot make the folder", errno);
  }
  const std::string parent = ParentOf(path);
  const auto opened = OpenFolder(parent);
  if (!opened) return std::unexpected(opened.error());
  return SyncFolder(*opened, parent);
}

std::expected<void, Error> CheckCanHoldLog(const fabric::Fd& folder, const std::string& path) {
  struct statfs system = {};
  if (::fstatfs(folder.get(), &system) != 0) return FailErrno(path + ": cannot be asked", errno);
  if (std::ranges::find(kNetworkFileSystems, static_cast<uint32_t>(system.f_type)) !=
      kNetworkFileSystems.end()) {
    return Fail(Code::kInvalidArgument,
                path +
                    ": this folder is on a network's file system, which may lose what was synced; "
                    "name a folder on a disk of this machine");
  }
  if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return FailDisk(path + ": cannot write to the folder", errno);
  }
  return {};
}

}  // namespace

PosixDisk::PosixDisk(std::string path, fabric::Fd folder)
    : path_(std::move(path)), folder_(std::move(folder)) {}

std::expected<std::unique_ptr<PosixDisk>, Error> PosixDisk::Open(const std::string& path) {
  if (auto made = MakeFolder(path); !made) return std::unexpected(made.error());
  auto disk = OpenForReading(path);
  if (!disk) return disk;
  if (auto can = CheckCanHoldLog((*disk)->folder_, path); !can) return std::unexpected(can.error());
  return disk;
}

std::expected<std::unique_ptr<PosixDisk>, Error> PosixDisk::OpenForReading(
    const std::string& path) {
  auto folder = OpenFolder(path);
  if (!folder) return std::unexpected(folder.error());
  return std::unique_ptr<PosixDisk>(new PosixDisk(path, *std::move(folder)));
}

std::expected<std::unique_ptr<File>, Error> PosixDisk::Open(const std::string& name, Mode mode) {
  // O_NONBLOCK: a pipe under this name must not make us wait for its other end.
  const int flags = FlagsOf(mode) | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  fabric::Fd fd(::openat(folder_.get(), name.c_str(), flags, 0600));
  if (!fd) return FailDisk(PathOf(name) + ": cannot open", errno);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return FailDisk(PathOf(name) + ": cannot be asked", errno);
  if (!S_ISREG(status.st_mode)) {
    return Fail(Code::kInvalidArgument, PathOf(name) + ": this is not a regular file");
  }
  return std::make_unique<PosixFile>(PathOf(name), std::move(fd),
                                     static_cast<uint64_t>(status.st_size));
}

std::expected<void, Error> PosixDisk::Rename(const std::string& from, const std::string& to) {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) == 0) return {};
  return FailDisk(PathOf(from) + ": cannot rename to " + to, errno);
}

std::expected<void, Error> PosixDisk::Remove(const std::string& name) {
  if (::unlinkat(folder_.get(), name.c_str(), 0) == 0) return {};
  return FailDisk(PathOf(name) + ": cannot remove", errno);
}

std::expected<void, Error> PosixDisk::Link(const std::string& from, const std::string& to) {
  if (::linkat(folder_.get(), from.c_str(), folder_.get(), to.c_str(), 0) == 0) return {};
  return FailDisk(PathOf(from) + ": cannot link as " + to, errno);
}

std::expected<void, Error> PosixDisk::SyncNames() { return SyncFolder(folder_, path_); }

std::expected<std::vector<std::string>, Error> PosixDisk::List() {
  const auto fail = [this] { return FailErrno(path_ + ": cannot list the folder", errno); };
  const int fd = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd), &::closedir);
  if (!entries) {
    auto failure = fail();
    ::close(fd);
    return failure;
  }
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(entries.get()); errno = 0) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return fail();
  return names;
}

std::string PosixDisk::PathOf(const std::string& name) const {
  return path_.ends_with('/') ? path_ + name : path_ + "/" + name;
}

}  // namespace plov::log
