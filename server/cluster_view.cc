#include "server/cluster_view.h"

#include <fmt/format.h>

namespace plov::server {

namespace {

// "0-2,5"; "none".
std::string NumbersOf(const ShardSet& shards) {
  std::string text;
  const auto& hosted = shards.hosted;
  for (size_t i = 0; i < hosted.size();) {
    size_t last = i;
    while (last + 1 < hosted.size() && hosted[last + 1].number == hosted[last].number + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", hosted[i].number);
    if (last > i) text += fmt::format("-{}", hosted[last].number);
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string ClusterView::Lines(const ShardSet* shards) const {
  const auto lines = fmt::format("cluster.id {:016x}\ncluster.server {}\n", cluster_id, server_id);
  return shards == nullptr ? lines : lines + fmt::format("cluster.shards {}\n", NumbersOf(*shards));
}

}  // namespace plov::server
