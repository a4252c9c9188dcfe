#include "server/region.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace plov::server {

namespace {

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::unexpected<Error> NoMemory(size_t bytes, PageKind pages, int error_number) {
  if (pages == PageKind::kHuge) {
    return Fail(Code::kNoSpace,
                fmt::format("no {} huge pages of 2 MiB: sysctl vm.nr_hugepages={}, or start "
                            "without --hugepages",
                            bytes / kHugePageBytes, bytes / kHugePageBytes));
  }
  auto failed =
      FailErrno(fmt::format("cannot reserve {} MiB of memory", bytes >> 20), error_number);
  failed.error().message += ": lower --memory";
  return failed;
}

}  // namespace

std::expected<Region, Error> Region::Create(size_t bytes, PageKind pages) {
  Region region;
  region.page_bytes_ = pages == PageKind::kHuge ? kHugePageBytes : kPageBytes;
  bytes = RoundUp(bytes, region.page_bytes_);
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING |
                         (pages == PageKind::kHuge ? MFD_HUGETLB | MFD_HUGE_2MB : 0u);
  region.fd_ = ::memfd_create("plov-region", flags);
  if (region.fd_ < 0) return FailErrno("cannot create the region's memory", errno);
  ::fchmod(region.fd_, 0600);  // other users get it through the socket only
  if (::ftruncate(region.fd_, static_cast<off_t>(bytes)) != 0) return NoMemory(bytes, pages, errno);
  ::fcntl(region.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd_, 0);
  if (memory == MAP_FAILED) return NoMemory(bytes, pages, errno);
  region.memory_ = {static_cast<std::byte*>(memory), bytes};
  return region;
}

Region::Region(Region&& other) noexcept
    : memory_(std::exchange(other.memory_, {})),
      fd_(std::exchange(other.fd_, -1)),
      page_bytes_(other.page_bytes_),
      committed_bytes_(other.committed_bytes_) {}

Region::~Region() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  if (fd_ >= 0) ::close(fd_);
}

bool Region::Commit(size_t offset, size_t bytes) {
  const size_t from = offset / page_bytes_ * page_bytes_;
  const size_t to = RoundUp(offset + bytes, page_bytes_);
  int result;
  do {
    result = ::fallocate(fd_, 0, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (result != 0 && errno == EINTR);
  if (result != 0) return false;
  committed_bytes_ += bytes;
  return true;
}

}  // namespace plov::server
