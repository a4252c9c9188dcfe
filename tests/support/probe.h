// What tests ask of a running server, and memory that a test shares with its children.
#pragma once

#include <plov/client.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>

namespace plov::test {

// A number of the server's stats, summed over its shards; UINT64_MAX when it does not answer.
inline uint64_t StatOf(Client* client, const std::string& name) {
  const auto texts = client->ServerStats();
  if (!texts) return UINT64_MAX;
  uint64_t sum = 0;
  for (const std::string& text : *texts) {
    const size_t at = ("\n" + text).find("\n" + name + " ");
    if (at == std::string::npos) return UINT64_MAX;
    sum += std::stoull(text.substr(at + name.size() + 1));
  }
  return sum;
}

// Whether the condition comes true within the time.
inline bool Eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// How many times longer than elsewhere a call may take here: in the virtual machine of tests/vm.sh
// the processor is emulated. Plovd::Connect reckons with it.
inline int Slowness() { return std::getenv("PLOV_VM") == nullptr ? 1 : 10; }

// An object of T, zero at first, that is the same in this process and its children. T holds
// atomics, or an array of them at its end for which `bytes` has room.
template <typename T>
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes = sizeof(T))
      : bytes_(bytes),
        object_(static_cast<T*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { ::munmap(object_, bytes_); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }

 private:
  size_t bytes_;
  T* object_;
};

}  // namespace plov::test
