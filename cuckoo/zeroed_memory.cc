#include "cuckoo/zeroed_memory.h"

#include <sys/mman.h>

namespace plov::cuckoo {

namespace {

// Below this a huge page for the first few bytes would cost more than it saves: many clients, each
// with the default, touch a part of theirs.
constexpr size_t kHugeFromBytes = size_t{64} << 20;

}  // namespace

ZeroedMemory::ZeroedMemory(size_t bytes) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  start_ = start;
  bytes_ = bytes;
  // Only advice: without huge pages it is slower.
  if (bytes >= kHugeFromBytes) ::madvise(start, bytes, MADV_HUGEPAGE);
}

ZeroedMemory::~ZeroedMemory() {
  if (start_ != nullptr) ::munmap(start_, bytes_);
}

}  // namespace plov::cuckoo
