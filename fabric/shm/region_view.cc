#include "fabric/shm/region_view.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "fabric/shm/channel.h"
#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

// Where a READ never waits for another process or a disk.
bool IsInMemory(int fd) {
  struct statfs system;
  return ::fstatfs(fd, &system) == 0 && (static_cast<uint64_t>(system.f_type) == TMPFS_MAGIC ||
                                         static_cast<uint64_t>(system.f_type) == HUGETLBFS_MAGIC);
}

}  // namespace

std::expected<RegionView, Error> RegionView::Open(Fd file, uint64_t bytes, Trust trust) {
  RegionView view;
  view.bytes_ = bytes;
  if (trust == Trust::kServer || IsFixedMemory(file.get())) {
    auto mapping = Mapping::MapChecked(file.get(), bytes, PROT_READ);
    if (!mapping) return std::unexpected(mapping.error());
    view.mapping_ = std::move(*mapping);
    return view;
  }
  if (auto checked = CheckBytes(file.get(), bytes); !checked) {
    return std::unexpected(checked.error());
  }
  if (!IsInMemory(file.get())) {
    return Fail(Code::kProtocol,
                "another user's server keeps its memory on a disk: start plovd with --warm on a "
                "tmpfs, or run as its user");
  }
  view.file_ = std::move(file);
  return view;
}

void RegionView::Prefetch(uint64_t offset, size_t bytes) const {
  if (!file_) verify::PrefetchLines(mapping_.bytes().data() + offset, bytes);
}

// The kernel copies aligned words as a load does, and in one piece; what a writer changes meanwhile
// is for the seals to find, as ever. The fence keeps what is looked at next behind the copy.
bool RegionView::Copy(uint64_t offset, void* to, size_t bytes) const {
  if (!file_) {
    verify::CopyFromShared(to, mapping_.bytes().data() + offset, bytes);
    return true;
  }
  ssize_t got;
  do {
    got = ::pread(file_.get(), to, bytes, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  std::atomic_thread_fence(std::memory_order_acquire);
  return got >= 0 && static_cast<size_t>(got) == bytes;
}

RegionView::Trust TrustIn(int socket) {
  const auto user = UserOf(socket);
  return user && (*user == 0 || *user == ::geteuid()) ? RegionView::Trust::kServer
                                                      : RegionView::Trust::kNone;
}

}  // namespace plov::fabric::shm
