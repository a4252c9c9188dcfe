#include "server/descriptors.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace plov::server {

namespace {

// Of a connection the socket stays open, and the client's memory for large values. A shard has its
// memory and, for each URI, what its port waits with; the rest, with what waits to say Hello and who
// scrapes metrics, is below 128.
constexpr uint64_t kOfShard = 4;
constexpr uint64_t kOfShardAndUri = 8;
constexpr uint64_t kOfConnection = 2;
constexpr uint64_t kOfProcess = 128;

uint64_t NeededBy(const ServerOptions& options) {
  // The map of a cluster is exposed as one more shard is, and so is where a replica hears of its primary.
  const uint64_t of_shard = options.replication ? 2 : 1;
  const uint64_t exposed = options.shards_max() * of_shard + (options.cluster ? 1 : 0);
  return kOfProcess + exposed * (kOfShard + kOfShardAndUri * options.uris.size() +
                                 kOfConnection * options.clients_max);
}

}  // namespace

std::string RaiseDescriptorLimit(const ServerOptions& options) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return {};
  const rlimit raised{files.rlim_max, files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  const uint64_t needed = NeededBy(options);
  if (files.rlim_cur >= needed) return {};
  return fmt::format(
      "the limit of open files is {}, and --max-clients {} needs {}: raise it (ulimit -Hn, "
      "LimitNOFILE= of the unit), or lower --max-clients",
      files.rlim_cur, options.clients_max, needed);
}

}  // namespace plov::server
