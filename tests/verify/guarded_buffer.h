// GuardedBuffer: memory that ends at a page nobody may touch, so that a read past a message's end
// kills the test in every build, not only under a sanitizer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>

namespace plov::verify {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes_max) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    usable_bytes_ = (bytes_max + page - 1) / page * page;
    mapped_bytes_ = usable_bytes_ + page;
    void* mapped =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(mapped);
    if (mprotect(base_ + usable_bytes_, page, PROT_NONE) != 0) std::abort();
  }
  ~GuardedBuffer() { munmap(base_, mapped_bytes_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // The last `bytes` before the guard; at most bytes_max.
  std::span<std::byte> Last(size_t bytes) { return {base_ + usable_bytes_ - bytes, bytes}; }

  // The same, holding a copy of `from`.
  std::span<std::byte> Hold(std::span<const std::byte> from) {
    const auto to = Last(from.size());
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return to;
  }

 private:
  size_t usable_bytes_;
  size_t mapped_bytes_;
  std::byte* base_;
};

// Whether a view lies inside the memory it was parsed from.
template <typename View>
bool LiesInside(const View& view, std::span<const std::byte> memory) {
  if (view.empty()) return true;
  const auto* from = static_cast<const std::byte*>(static_cast<const void*>(view.data()));
  return from >= memory.data() && from + view.size() <= memory.data() + memory.size();
}

}  // namespace plov::verify
