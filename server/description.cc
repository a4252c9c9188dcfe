#include "server/description.h"

#include <fmt/format.h>
#include <unistd.h>

namespace plov::server {

std::string ClusterLines(const ServerOptions& options) {
  return options.cluster->Lines(options.replication ? nullptr : &options.shards);
}

std::string DescriptionOf(const ServerOptions& options, const Shard& shard, uint32_t number) {
  std::string text = fmt::format("version {}\npid {}\npage_kind {}\n", PLOV_VERSION, ::getpid(),
                                 static_cast<int>(shard.region().page_kind()));
  if (options.cluster) {
    text += fmt::format("cluster.shard {}\n{}", number, ClusterLines(options));
  }
  return text + options.given;
}

}  // namespace plov::server
