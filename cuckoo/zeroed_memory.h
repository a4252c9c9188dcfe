// Zeroed memory: large, committed as touched, in huge pages where it is large enough to be worth
// one's while and the system has them.
#pragma once

#include <cstddef>
#include <utility>

namespace plov::cuckoo {

class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  // bytes: not 0. Empty when there is not so much address space.
  explicit ZeroedMemory(size_t bytes);
  ZeroedMemory(ZeroedMemory&& other) noexcept { *this = std::move(other); }
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ZeroedMemory();

  bool empty() const { return start_ == nullptr; }

  // The memory as objects for which all bits zero mean a value; aligned to a page.
  template <typename T>
  T* As() const {
    return static_cast<T*>(start_);
  }

 private:
  void* start_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace plov::cuckoo
