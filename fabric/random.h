// Random numbers from the kernel, for incarnations, seeds and client ids.
#pragma once

#include <sys/random.h>

#include <cstdint>

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

}  // namespace plov::fabric
