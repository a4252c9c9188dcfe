// Attempts: how a deadline is shared by several of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"

namespace plov {

// When the next of so many attempts ends that have the time until the deadline together, each as much. attempts: 1 at least.
inline fabric::Deadline NextAttemptEnd(fabric::Deadline deadline, size_t attempts) {
  const fabric::Deadline now = fabric::Clock::now();
  return now + (deadline - now) / static_cast<int64_t>(attempts);
}

}  // namespace plov
