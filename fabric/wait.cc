// Waiting for connections, of whatever fabric.

#include <poll.h>

#include <algorithm>

#include "fabric/fabric.h"

namespace plov::fabric {

void Wait(std::span<Connection* const> connections, Deadline deadline) {
  std::vector<pollfd> polled;
  for (Connection* connection : connections) {
    if (!connection->Arm()) return;
    polled.push_back({connection->fd(), POLLIN, 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() <= 0) return;
  // Bounded, so that a missed edge costs a second at most.
  ::poll(polled.data(), polled.size(), static_cast<int>(std::min<int64_t>(left.count(), 1000)));
}

}  // namespace plov::fabric
