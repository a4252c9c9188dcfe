#include "tests/capi/failing_new.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr uint64_t kNever = UINT64_MAX;
std::atomic<uint64_t> left = kNever;  // until allocations fail
std::atomic<uint64_t> failed = 0;

// Whether this one succeeds.
bool Take() {
  uint64_t before = left.load(std::memory_order_relaxed);
  if (before == kNever) return true;
  if (before > 0) left.store(before - 1, std::memory_order_relaxed);
  if (before == 0) failed.fetch_add(1, std::memory_order_relaxed);
  return before > 0;
}

}  // namespace

void* operator new(size_t bytes) {
  void* memory = Take() ? std::malloc(bytes + 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace plov::test {

void FailAllocationsAfter(uint64_t count) {
  failed.store(0, std::memory_order_relaxed);
  left.store(count, std::memory_order_relaxed);
}

uint64_t FailedAllocations() { return failed.load(std::memory_order_relaxed); }

void AllowAllocations() { left.store(kNever, std::memory_order_relaxed); }

}  // namespace plov::test
