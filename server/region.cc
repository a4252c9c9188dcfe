#include "server/region.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "server/own_file.h"

namespace plov::server {

namespace {

// Beyond it nothing has addresses, and sizes could wrap around.
constexpr size_t kBudgetBytesMax = size_t{1} << 56;

std::unexpected<Error> NoMemory(size_t bytes, size_t page_bytes, int error_number) {
  if (page_bytes != kPageBytes) {
    return Fail(Code::kNoSpace,
                fmt::format("no {} huge pages of {} MiB: sysctl vm.nr_hugepages={}, or start "
                            "without --hugepages",
                            bytes / page_bytes, page_bytes >> 20, bytes / page_bytes));
  }
  auto failed =
      FailErrno(fmt::format("cannot reserve {} MiB of memory", bytes >> 20), error_number);
  failed.error().message += ": lower --memory";
  return failed;
}

int Allocate(int fd, int mode, size_t from, size_t bytes) {
  int result;
  do {
    result = ::fallocate(fd, mode, static_cast<off_t>(from), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

Region::Region(const RegionOptions& options)
    : path_(options.path),
      page_bytes_(options.pages == PageKind::kHuge ? kHugePageBytes : kPageBytes),
      extent_(options.extent),
      budget_bytes_(options.budget_bytes) {}

std::expected<Region, Error> Region::Create(const RegionOptions& options) {
  Region region(options);
  if (options.budget_bytes == 0 || options.budget_bytes > kBudgetBytesMax) {
    return NoMemory(options.budget_bytes, region.page_bytes_, EINVAL);
  }
  auto opened = options.path.empty()
                    ? region.OpenAnonymous()
                    : region.OpenFile(options.path, options.pages, options.discards);
  if (opened) opened = region.Map();
  if (!opened) return std::unexpected(opened.error());
  return region;
}

std::expected<void, Error> Region::OpenAnonymous() {
  fd_ =
      fabric::Fd(::memfd_create("plov-region", MFD_CLOEXEC | MFD_ALLOW_SEALING |
                                                   (is_huge() ? MFD_HUGETLB | MFD_HUGE_2MB : 0u)));
  if (!fd_) return FailErrno("cannot create the region's memory", errno);
  ::fchmod(fd(), 0600);  // other users get it through the socket only
  return {};
}

// The lock is on a file of its own: this one's clients have descriptors of, and can lock.
std::expected<void, Error> Region::OpenFile(const std::string& path, PageKind pages,
                                            bool discards) {
  auto opened = OpenOwnFile(path, "the memory file");
  if (!opened) return std::unexpected(opened.error());
  fd_ = std::move(*opened);
  if (auto judged = CheckFile(path, pages); !judged) return judged;
  auto lock = fabric::FileLock::Take(
      path, path + " is the memory of another plovd that runs: stop it, or name another file");
  if (!lock) return std::unexpected(lock.error());
  lock_.emplace(std::move(*lock));
  struct stat status;  // under the lock: nobody else sizes it now
  if (::fstat(fd(), &status) != 0) return FailErrno("cannot look at " + path, errno);
  file_bytes_ = static_cast<size_t>(status.st_size);
  if (discards && file_bytes_ > 0) {  // clients may still read it: they keep the file itself
    if (::unlink(path.c_str()) != 0) return FailErrno("cannot remove " + path, errno);
    auto fresh = OpenOwnFile(path, "the memory file");
    if (!fresh) return std::unexpected(fresh.error());
    fd_ = std::move(*fresh);
    file_bytes_ = 0;
  }
  found_ = file_bytes_ > 0;
  return {};
}

std::expected<void, Error> Region::CheckFile(const std::string& path, PageKind pages) {
  struct statfs system;
  if (::fstatfs(fd(), &system) != 0) return FailErrno("cannot look at " + path, errno);
  const bool is_on_hugetlbfs = static_cast<uint64_t>(system.f_type) == HUGETLBFS_MAGIC;
  if (pages == PageKind::kHuge && !is_on_hugetlbfs) {
    return Fail(Code::kInvalidArgument,
                path +
                    " must be on a hugetlbfs file system with --hugepages: mount one, or start "
                    "without --hugepages");
  }
  page_bytes_ = is_on_hugetlbfs ? static_cast<size_t>(system.f_bsize) : kPageBytes;
  return {};
}

std::expected<void, Error> Region::Map() {
  budget_bytes_ = RoundUp(budget_bytes_, page_bytes_);
  const size_t wanted_bytes = budget_bytes_ * (is_whole() ? 1 : kSparseness);
  if (extent_ == Extent::kWhole && file_bytes_ > wanted_bytes) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the memory file has {} MiB of addresses, which an RDMA device would pin "
                    "whole: start without --listen rdma:, or with --memory {}M",
                    file_bytes_ >> 20, RoundUp(file_bytes_, size_t{1} << 20) >> 20));
  }
  const size_t bytes = std::max(wanted_bytes, RoundUp(file_bytes_, page_bytes_));
  if (!found_ && ::ftruncate(fd(), static_cast<off_t>(bytes)) != 0) {
    return NoMemory(budget_bytes_, page_bytes_, errno);
  }
  // Refused of a named file, which is no memfd.
  ::fcntl(fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  const int flags = MAP_SHARED | (is_huge() ? 0 : MAP_NORESERVE);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd(), 0);
  if (memory == MAP_FAILED) return NoMemory(budget_bytes_, page_bytes_, errno);
  memory_ = {static_cast<std::byte*>(memory), bytes};
  committed_ = PageSet(bytes / page_bytes_);
  if (is_whole()) {
    if (!found_ && Allocate(fd(), 0, 0, bytes) != 0) return NoMemory(bytes, page_bytes_, errno);
    committed_.Add(0, bytes / page_bytes_);
    committed_bytes_ = bytes;
  } else if (found_) {
    FindCommitted();
  }
  return {};
}

std::expected<void, Error> Region::Lengthen() {
  const size_t bytes = memory_.size();
  if (!found_) return {};
  if (bytes > file_bytes_ && ::ftruncate(fd(), static_cast<off_t>(bytes)) != 0) {
    return NoMemory(budget_bytes_, page_bytes_, errno);
  }
  if (is_whole() && Allocate(fd(), 0, 0, bytes) != 0) {
    return NoMemory(bytes, page_bytes_, errno);
  }
  if (!is_whole()) ReleaseHoles();
  MapFound();
  return {};
}

// Whoever takes the memory over looks at all of it, in no order: a page fault for every few pages
// takes longer than all of them at once (and prefetches of pages that are not mapped are lost).
// An older kernel refuses, and the pages come one by one.
void Region::MapFound() {
  off_t from = ::lseek(fd(), 0, SEEK_DATA);
  while (from >= 0) {
    const off_t to = ::lseek(fd(), from, SEEK_HOLE);
    if (to < 0 ||
        ::madvise(memory_.data() + from, static_cast<size_t>(to - from), MADV_POPULATE_READ) != 0) {
      return;
    }
    from = ::lseek(fd(), to, SEEK_DATA);
  }
}

void Region::FindCommitted() {
  off_t from = ::lseek(fd(), 0, SEEK_DATA);
  while (from >= 0) {
    const off_t to = ::lseek(fd(), from, SEEK_HOLE);
    if (to < 0) break;
    committed_.Add(static_cast<size_t>(from) / kPageBytes,
                   RoundUp(static_cast<size_t>(to), kPageBytes) / kPageBytes);
    from = ::lseek(fd(), to, SEEK_DATA);
  }
  committed_bytes_ = committed_.Count(0, memory_.size() / kPageBytes) * kPageBytes;
}

// Pages that were committed and never written count as holes; they are given back, so that the
// account is true.
void Region::ReleaseHoles() {
  const auto end = static_cast<off_t>(memory_.size());
  for (off_t hole = 0; hole < end;) {
    const off_t data = ::lseek(fd(), hole, SEEK_DATA);
    const off_t hole_end = data < 0 ? end : data;  // none: holes up to the end
    if (hole_end > hole) {
      Allocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<size_t>(hole),
               static_cast<size_t>(hole_end - hole));
    }
    if (data < 0) break;
    const off_t next = ::lseek(fd(), data, SEEK_HOLE);
    hole = next < 0 ? end : next;
  }
}

Region::Region(Region&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      memory_(std::exchange(other.memory_, {})),
      fd_(std::move(other.fd_)),
      found_(other.found_),
      page_bytes_(other.page_bytes_),
      extent_(other.extent_),
      budget_bytes_(other.budget_bytes_),
      file_bytes_(other.file_bytes_),
      committed_bytes_(other.committed_bytes_),
      committed_(std::move(other.committed_)),
      host_(other.host_) {}

Region::~Region() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

size_t Region::CommittedIn(size_t offset, size_t bytes) const {
  const size_t to = RoundUp(offset + bytes, page_bytes_) / page_bytes_;
  return committed_.Count(offset / page_bytes_, to) * page_bytes_;
}

std::string Region::WhyRefused() const {
  const std::string error = std::error_code(host_.error(), std::generic_category()).message();
  struct statfs system;
  if (path_.empty() || ::fstatfs(fd(), &system) != 0) {
    return fmt::format("the host has none ({}): end other programs, or lower --memory", error);
  }
  const auto block_bytes = static_cast<size_t>(system.f_bsize);
  return fmt::format(
      "the file system of {} ({} MiB, {} MiB of them free) has none ({}): remove other files "
      "there, "
      "or make it larger (mount -o remount,size=SIZE)",
      path_, system.f_blocks * block_bytes >> 20, system.f_bavail * block_bytes >> 20, error);
}

bool Region::Commit(size_t offset, size_t bytes) {
  if (offset > memory_.size() || bytes > memory_.size() - offset) return false;
  const size_t from = offset / page_bytes_;
  const size_t to = RoundUp(offset + bytes, page_bytes_) / page_bytes_;
  const size_t fresh_bytes = (to - from - committed_.Count(from, to)) * page_bytes_;
  if (fresh_bytes == 0) return true;
  if (committed_bytes_ + fresh_bytes > limit_bytes()) return false;
  if (!host_.MayAsk()) return false;
  if (Allocate(fd(), 0, from * page_bytes_, (to - from) * page_bytes_) != 0) {
    host_.Refused(errno);
    return false;
  }
  host_.Granted();
  committed_.Add(from, to);
  committed_bytes_ += fresh_bytes;
  return true;
}

void Region::Release(size_t offset, size_t bytes) {
  if (is_whole()) return;
  const size_t from = RoundUp(offset, kPageBytes) / kPageBytes;
  const size_t to = (offset + bytes) / kPageBytes;
  const size_t count = from < to ? committed_.Count(from, to) : 0;
  if (count == 0) return;
  // What cannot be punched stays committed, and counts.
  if (Allocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from * kPageBytes,
               (to - from) * kPageBytes) != 0) {
    return;
  }
  committed_.Remove(from, to);
  committed_bytes_ -= count * kPageBytes;
}

void Region::ReleaseLast(size_t offset, size_t bytes, size_t wanted) {
  if (is_whole()) return;
  const size_t from = RoundUp(offset, kPageBytes) / kPageBytes;
  size_t to = (offset + bytes) / kPageBytes;
  const size_t before = committed_bytes_;
  while (before - committed_bytes_ < wanted) {
    const auto last = committed_.Last(from, to);
    if (!last) return;
    const size_t missing = wanted - (before - committed_bytes_);
    const size_t first =
        *last + 1 - std::min(*last + 1 - from, RoundUp(missing, kPageBytes) / kPageBytes);
    Release(first * kPageBytes, (*last + 1 - first) * kPageBytes);
    to = first;
  }
}

}  // namespace plov::server
