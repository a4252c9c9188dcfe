#include "fabric/fabric.h"

#include <poll.h>

#include "fabric/shm/shm.h"
#include "fabric/verbs/verbs.h"

namespace plov::fabric {

namespace {

std::unexpected<Error> UnknownFabric(std::string_view uri) {
  return Fail(
      Code::kInvalidArgument,
      "no fabric for '" + std::string(uri) +
          "': use shm:NAME or shm:/path/to.sock on one host, rdma://HOST:PORT between hosts");
}

}  // namespace

std::expected<std::unique_ptr<Connection>, Error> Connection::Connect(
    std::string_view uri, const ConnectOptions& options) {
  if (shm::IsShm(uri)) return shm::Connect(uri, options);
  if (verbs::IsRdma(uri)) return verbs::Connect(uri, options);
  return UnknownFabric(uri);
}

std::expected<std::unique_ptr<Listener>, Error> Listener::Listen(std::string_view uri,
                                                                 const ListenOptions& options) {
  if (shm::IsShm(uri)) return shm::Listen(uri, options);
  if (verbs::IsRdma(uri)) return verbs::Listen(uri, options);
  return UnknownFabric(uri);
}

bool Listener::Pins(std::string_view uri) { return verbs::IsRdma(uri); }

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
