#include "server/server_options.h"

#include <fmt/format.h>

namespace plov::server {

std::string ServerOptions::WarmPathOf(uint32_t shard) const {
  const bool is_alone = shard == 0 && !shards.is_of_cluster();
  return is_alone ? warm_path : fmt::format("{}.{}", warm_path, shard);
}

}  // namespace plov::server
