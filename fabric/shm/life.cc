#include "fabric/shm/life.h"

#include <linux/futex.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

namespace plov::fabric::shm {

namespace {

// glibc's mutex, as far as it is shared.
constexpr size_t kSharedBytes = offsetof(pthread_mutex_t, __data.__list);
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0 && sizeof(int) == sizeof(uint32_t));
static_assert(kLifeWordOffset + kSharedBytes == kLifePageBytes);

std::atomic_ref<uint32_t> WordAt(const Mapping& page, size_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint32_t*>(page.bytes().data() + offset));
}
std::atomic_ref<uint32_t> ClosedOf(const Mapping& page) { return WordAt(page, 0); }

pthread_mutex_t* MutexOf(const Mapping& pages) {
  return std::launder(reinterpret_cast<pthread_mutex_t*>(pages.bytes().data() + kLifeWordOffset));
}

// The shared page with a private one behind it.
std::expected<Mapping, Error> MapPages(int fd) {
  auto pages = Mapping::MapAnonymous(2 * kLifePageBytes);
  if (!pages) return pages;
  if (::mmap(pages->bytes().data(), kLifePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             fd, 0) == MAP_FAILED) {
    return FailErrno("cannot map the life page", errno);
  }
  return pages;
}

}  // namespace

std::expected<LifeHolder, Error> LifeHolder::Create() {
  LifeHolder holder;
  auto fd = CreateMemory("plov-life", kLifePageBytes);
  if (!fd) return std::unexpected(fd.error());
  auto pages = MapPages(fd->get());
  if (!pages) return std::unexpected(pages.error());
  pthread_mutex_t* mutex = new (MutexOf(*pages)) pthread_mutex_t{};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  auto read_only = ReopenReadOnly(fd->get());
  if (!read_only) return std::unexpected(read_only.error());
  const int failure = pthread_mutex_lock(mutex);
  if (failure != 0) return FailErrno("cannot lock the life page", failure);
  holder.fd_ = std::move(*read_only);
  holder.pages_ = std::move(*pages);
  return holder;
}

LifeHolder::~LifeHolder() {
  if (pages_.bytes().empty()) return;
  ClosedOf(pages_).store(1, std::memory_order_release);  // pairs with LifeWatch::alive
  pthread_mutex_unlock(MutexOf(pages_));
}

std::expected<LifeWatch, Error> LifeWatch::Watch(int fd) {
  auto page = Mapping::MapChecked(fd, kLifePageBytes, PROT_READ);
  if (!page) return std::unexpected(page.error());
  LifeWatch watch;
  watch.page_ = std::move(*page);
  return watch;
}

bool LifeWatch::alive() const {
  const uint32_t owner = WordAt(page_, kLifeWordOffset).load(std::memory_order_acquire);
  return (owner & FUTEX_OWNER_DIED) == 0 && (owner & FUTEX_TID_MASK) != 0 &&
         ClosedOf(page_).load(std::memory_order_acquire) == 0;
}

}  // namespace plov::fabric::shm
