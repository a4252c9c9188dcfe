// Random numbers from the kernel, for incarnations, seeds, client ids and masks.
#pragma once

#include <sys/random.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace plov::fabric {

// Never 0.
inline uint64_t RandomId() {
  uint64_t id = 0;
  while (id == 0) {
    // 8 bytes never block or fall short once the kernel's pool is up (getrandom(2)).
    if (::getrandom(&id, sizeof(id), 0) != sizeof(id)) id = 0;
  }
  return id;
}

inline void FillRandom(std::span<std::byte> memory) {
  while (!memory.empty()) {
    const ssize_t bytes = ::getrandom(memory.data(), memory.size(), 0);  // less after a signal
    if (bytes > 0) memory = memory.subspan(static_cast<size_t>(bytes));
  }
}

}  // namespace plov::fabric
