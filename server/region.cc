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
#include "server/transparent_pages.h"

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
      kind_(options.huge_pages == HugePages::kYes ? PageKind::kHuge : PageKind::kSmall),
      page_bytes_(is_huge() ? kHugePageBytes : kPageBytes),
      extent_(options.extent),
      budget_bytes_(options.budget_bytes) {}

std::expected<Region, Error> Region::Create(const RegionOptions& options) {
  Region region(options);
  if (options.budget_bytes == 0 || options.budget_bytes > kBudgetBytesMax) {
    return NoMemory(options.budget_bytes, region.page_bytes_, EINVAL);
  }
  auto opened = options.path.empty() ? region.OpenAnonymous() : region.OpenFile(options);
  if (opened) {
    region.ChoosePages(options);
    opened = region.Map();
  }
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
std::expected<void, Error> Region::OpenFile(const RegionOptions& options) {
  const std::string& path = options.path;
  auto opened = OpenOwnFile(path, "the memory file");
  if (!opened) return std::unexpected(opened.error());
  fd_ = std::move(*opened);
  if (auto judged = CheckFile(options); !judged) return judged;
  auto lock = fabric::FileLock::Take(
      path, path + " is the memory of another plovd that runs: stop it, or name another file");
  if (!lock) return std::unexpected(lock.error());
  lock_.emplace(std::move(*lock));
  struct stat status;  // under the lock: nobody else sizes it now
  if (::fstat(fd(), &status) != 0) return FailErrno("cannot look at " + path, errno);
  file_bytes_ = static_cast<size_t>(status.st_size);
  // Clients may still read what it holds: they keep the file itself.
  if (options.discards && file_bytes_ > 0) {
    if (::unlink(path.c_str()) != 0) return FailErrno("cannot remove " + path, errno);
    auto fresh = OpenOwnFile(path, "the memory file");
    if (!fresh) return std::unexpected(fresh.error());
    fd_ = std::move(*fresh);
    file_bytes_ = 0;
  }
  found_ = file_bytes_ > 0;
  return {};
}

std::expected<void, Error> Region::CheckFile(const RegionOptions& options) {
  const std::string& path = options.path;
  struct statfs system;
  if (::fstatfs(fd(), &system) != 0) return FailErrno("cannot look at " + path, errno);
  const bool is_on_hugetlbfs = static_cast<uint64_t>(system.f_type) == HUGETLBFS_MAGIC;
  if (options.huge_pages == HugePages::kYes && !is_on_hugetlbfs) {
    return Fail(Code::kInvalidArgument,
                path +
                    " must be on a hugetlbfs file system with --hugepages: mount one, or start "
                    "without --hugepages");
  }
  if (is_on_hugetlbfs) {
    kind_ = PageKind::kHuge;
    page_bytes_ = static_cast<size_t>(system.f_bsize);
  }
  return {};
}

void Region::ChoosePages(const RegionOptions& options) {
  if (is_huge()) return;
  const TransparentPages given = TransparentPagesOf(fd(), options.root);
  const bool suits = extent_ == Extent::kWhole || budget_bytes_ >= kTransparentBytesMin;
  if (given != TransparentPages::kNever && options.huge_pages == HugePages::kAuto && suits) {
    kind_ = PageKind::kTransparent;
  }
  populates_ = kind_ == PageKind::kTransparent || given == TransparentPages::kAlways;
}

std::expected<void, Error> Region::Map() {
  budget_bytes_ = RoundUp(budget_bytes_, unit_bytes());
  const size_t wanted_bytes = budget_bytes_ * (is_whole() ? 1 : kSparseness);
  // In other pages it may have been rounded up.
  if (extent_ == Extent::kWhole && file_bytes_ > RoundUp(wanted_bytes, kHugePageBytes)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the memory file has {} MiB of addresses, which an RDMA device would pin "
                    "whole: start without --listen rdma:, or with --memory {}M",
                    file_bytes_ >> 20, RoundUp(file_bytes_, size_t{1} << 20) >> 20));
  }
  const size_t bytes = std::max(wanted_bytes, RoundUp(file_bytes_, unit_bytes()));
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
  if (populates_) Advise(MADV_NOHUGEPAGE);
  if (is_whole()) {
    if (!found_ && !FillHuge({0, bytes / page_bytes_})) return NoMemory(bytes, page_bytes_, errno);
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
  if (is_whole() && !FillHuge({0, bytes / page_bytes_})) {
    return NoMemory(bytes, page_bytes_, errno);
  }
  if (!is_whole()) ReleaseHoles();
  if (kind_ == PageKind::kTransparent) Advise(MADV_HUGEPAGE);
  MapFound();
  if (populates_) Advise(MADV_NOHUGEPAGE);
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
      Punch({static_cast<size_t>(hole) / kPageBytes, static_cast<size_t>(hole_end) / kPageBytes});
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
      kind_(other.kind_),
      populates_(other.populates_),
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

// Those of whole units that the bytes touch.
Region::Pages Region::PagesOf(size_t offset, size_t bytes, size_t unit_bytes) const {
  return {offset / unit_bytes * unit_bytes / page_bytes_,
          RoundUp(offset + bytes, unit_bytes) / page_bytes_};
}

size_t Region::FreshBytes(Pages pages) const {
  return (pages.to - pages.from - committed_.Count(pages.from, pages.to)) * page_bytes_;
}

size_t Region::CommittedIn(size_t offset, size_t bytes) const {
  const Pages pages = PagesOf(offset, bytes, page_bytes_);
  return committed_.Count(pages.from, pages.to) * page_bytes_;
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

bool Region::Commit(size_t offset, size_t bytes, size_t others_bytes) {
  if (offset > memory_.size() || bytes > memory_.size() - offset) return false;
  if (IsCommitted(offset, bytes)) return true;
  const Pages wanted = PagesOf(offset, bytes, page_bytes_);
  const size_t fresh_bytes = FreshBytes(wanted);
  if (committed_bytes_ + fresh_bytes > limit_bytes() || !host_.MayAsk()) return false;
  Pages taken = PagesOf(offset, bytes, unit_bytes());
  const bool has_room = committed_bytes_ + FreshBytes(taken) + others_bytes <= limit_bytes();
  if (kind_ != PageKind::kTransparent || !has_room || !FillHuge(taken)) {
    taken = wanted;
    if (!Fill(taken)) {
      host_.Refused(errno, fresh_bytes);
      return false;
    }
  }
  host_.Granted(fresh_bytes);
  committed_bytes_ += FreshBytes(taken);
  committed_.Add(taken.from, taken.to);
  return true;
}

// False with errno, and nothing changed.
bool Region::Fill(Pages pages) {
  const size_t from = pages.from * page_bytes_, bytes = (pages.to - pages.from) * page_bytes_;
  if (!populates_) return Allocate(fd(), 0, from, bytes) == 0;
  int result;
  do {
    result = ::madvise(data() + from, bytes, MADV_POPULATE_WRITE);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  const int error = errno == EFAULT ? ENOSPC : errno;  // a store would have been a SIGBUS
  for (size_t page = pages.from; page < pages.to; ++page) {
    const size_t fresh = page;
    while (page < pages.to && committed_.Count(page, page + 1) == 0) ++page;
    if (fresh < page) Punch({fresh, page});
  }
  errno = error;
  return false;
}

// The mapping has leave for huge pages only meanwhile: else the kernel would fill holes with some by itself
// (khugepaged), of which the account knew nothing.
bool Region::FillHuge(Pages pages) {
  if (kind_ != PageKind::kTransparent) return Fill(pages);
  Advise(MADV_HUGEPAGE);
  const bool filled = Fill(pages);
  const int error = errno;
  Advise(MADV_NOHUGEPAGE);
  errno = error;
  return filled;
}

bool Region::Punch(Pages pages) {
  return Allocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pages.from * page_bytes_,
                  (pages.to - pages.from) * page_bytes_) == 0;
}

void Region::Advise(int advice) { ::madvise(memory_.data(), memory_.size(), advice); }

void Region::Release(size_t offset, size_t bytes) {
  if (is_whole()) return;
  Pages pages{RoundUp(offset, kPageBytes) / kPageBytes, (offset + bytes) / kPageBytes};
  if (pages.from >= pages.to || committed_.Count(pages.from, pages.to) == 0) return;
  // What cannot be punched stays committed, and counts.
  if (!Punch(pages)) return;
  pages = WithoutUnsplit(pages);
  committed_bytes_ -= committed_.Count(pages.from, pages.to) * kPageBytes;
  committed_.Remove(pages.from, pages.to);
}

// A huge page that a reader uses just then is not split: the part that was punched is zeroed, and stays.
Region::Pages Region::WithoutUnsplit(Pages pages) const {
  constexpr size_t kUnit = kHugePageBytes / kPageBytes;
  const auto stays = [this](size_t page) {
    const auto at = static_cast<off_t>(page * kPageBytes);
    return ::lseek(fd(), at, SEEK_DATA) == at;
  };
  if (pages.from % kUnit != 0 && stays(pages.from)) {
    pages.from = std::min(pages.to, RoundUp(pages.from, kUnit));
  }
  if (pages.to % kUnit != 0 && pages.from < pages.to && stays(pages.to - 1)) {
    pages.to = std::max(pages.from, pages.to / kUnit * kUnit);
  }
  return pages;
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
