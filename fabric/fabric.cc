#include "fabric/fabric.h"

#include "fabric/shm/shm.h"
#include "fabric/standard_files.h"
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
  OccupyStandardFiles();
  if (options.shard > kShardMax) {
    return Fail(Code::kNoShard, "no server serves shard " + std::to_string(options.shard) +
                                    ": the last there can be is " + std::to_string(kShardMax));
  }
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

std::expected<void, Error> Listener::Check(std::string_view uri) {
  if (verbs::IsRdma(uri)) return verbs::Check(uri);
  if (!shm::IsShm(uri)) return UnknownFabric(uri);
  const auto path = shm::SocketPath(uri);
  if (!path && path.error().code == Code::kInvalidArgument) return std::unexpected(path.error());
  return {};
}

bool Listener::Pins(std::string_view uri) { return verbs::IsRdma(uri); }

}  // namespace plov::fabric
