#include "tests/capi/failing_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> failing = false;

}  // namespace

void* operator new(size_t bytes) {
  void* memory = failing.load(std::memory_order_relaxed) ? nullptr : std::malloc(bytes + 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace plov::test {

void FailAllocations(bool fail) { failing.store(fail, std::memory_order_relaxed); }

}  // namespace plov::test
