#include "fabric/shm/life.h"

#include <linux/futex.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace plov::fabric::shm {

namespace {

struct LifePage {
  pthread_mutex_t mutex;
  std::atomic<uint32_t> closed;  // 1 after a clean stop
};
static_assert(sizeof(LifePage) <= kLifePageBytes);
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0 && sizeof(int) == sizeof(uint32_t));

LifePage* PageOf(const Mapping& mapping) {
  return std::launder(reinterpret_cast<LifePage*>(mapping.bytes().data()));
}

}  // namespace

std::expected<LifeHolder, Error> LifeHolder::Create() {
  LifeHolder holder;
  auto fd = CreateMemory("plov-life", kLifePageBytes);
  if (!fd) return std::unexpected(fd.error());
  auto page = Mapping::Map(fd->get(), kLifePageBytes, PROT_READ | PROT_WRITE);
  if (!page) return std::unexpected(page.error());
  auto* life = new (page->bytes().data()) LifePage{};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&life->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  auto read_only = ReopenReadOnly(fd->get());
  if (!read_only) return std::unexpected(read_only.error());
  const int failure = pthread_mutex_lock(&life->mutex);
  if (failure != 0) return FailErrno("cannot lock the life page", failure);
  holder.fd_ = std::move(*read_only);
  holder.page_ = std::move(*page);
  return holder;
}

LifeHolder::~LifeHolder() {
  if (page_.bytes().empty()) return;
  LifePage* life = PageOf(page_);
  life->closed.store(1, std::memory_order_release);  // pairs with LifeWatch::alive
  pthread_mutex_unlock(&life->mutex);
}

std::expected<LifeWatch, Error> LifeWatch::Watch(int fd) {
  auto page = Mapping::MapChecked(fd, kLifePageBytes, PROT_READ);
  if (!page) return std::unexpected(page.error());
  LifeWatch watch;
  watch.page_ = std::move(*page);
  return watch;
}

bool LifeWatch::alive() const {
  LifePage* life = PageOf(page_);
  auto* word = reinterpret_cast<uint32_t*>(&life->mutex);
  const uint32_t owner = std::atomic_ref<uint32_t>(*word).load(std::memory_order_acquire);
  return (owner & FUTEX_OWNER_DIED) == 0 && (owner & FUTEX_TID_MASK) != 0 &&
         life->closed.load(std::memory_order_acquire) == 0;
}

}  // namespace plov::fabric::shm
