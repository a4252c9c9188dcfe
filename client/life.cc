#include "client/life.h"

#include <algorithm>

#include "fabric/random.h"

namespace plov {

// All shards or none: they are threads of one server, which have one hash seed. A name may lead to
// another server between two of them.
std::expected<Life::Links, Error> Life::ConnectShards(const std::string& uri, Deadline deadline) {
  Links links;
  uint32_t shard_count = 1;
  for (uint32_t shard = 0; shard < shard_count; ++shard) {
    auto link = Link::Connect(uri, shard, &identity_, deadline);
    if (!link) return std::unexpected(link.error());
    links.push_back(std::move(*link));
    const cuckoo::ShardView& view = links.back()->view();
    const cuckoo::ShardView& first = links.front()->view();
    shard_count = first.shard_count;
    if (view.shard_count != first.shard_count || view.hash_seed != first.hash_seed) {
      return Fail(Code::kUnavailable, "another server answers on " + uri + " than a moment ago");
    }
  }
  return links;
}

std::expected<std::unique_ptr<Life>, Error> Life::Begin(const std::string& uri,
                                                        const ClientOptions& options,
                                                        Callbacks* callbacks, Deadline deadline) {
  std::unique_ptr<Life> life(new Life(fabric::RandomId(), options));
  auto links = life->ConnectShards(uri, deadline);
  if (!links) return std::unexpected(links.error());
  life->hash_seed_ = links->front()->view().hash_seed;
  for (size_t i = 0; i < links->size(); ++i) life->writes_.emplace_back(callbacks);
  life->Adopt(std::move(*links));
  return life;
}

// A server that is not this life's may know the client id all the same; it gets no write by it.
std::expected<bool, Error> Life::Resume(const std::string& uri, Deadline deadline) {
  auto links = ConnectShards(uri, deadline);
  if (!links && links.error().code == Code::kUnknown) return false;
  if (!links) return std::unexpected(links.error());
  if (!IsThis(*links)) return false;
  for (const auto& link : links_) {
    former_late_reads_ += link->reads().late();
    former_refreshes_ += link->refreshes();
  }
  Adopt(std::move(*links));
  return true;
}

// The same memory; or a server with the log of the one before, which knows what that one applied: the
// seed is drawn by a store that begins empty, and goes on with its log.
bool Life::IsThis(const Links& fresh) const {
  const auto agree = [&](uint64_t cuckoo::ShardView::*member) {
    return std::ranges::equal(
        links_, fresh, {}, [&](const auto& link) { return link->view().*member; },
        [&](const auto& link) { return link->view().*member; });
  };
  return agree(&cuckoo::ShardView::incarnation) || agree(&cuckoo::ShardView::hash_seed);
}

// Locations are forgotten within a life, too: a server that took damaged memory over has dropped
// items whose records may still be whole where they are remembered to be.
void Life::Adopt(Links fresh) {
  links_ = std::move(fresh);
  locations_.Clear();
  loads_ = std::ranges::none_of(links_, [](const auto& link) { return link->region().empty(); });
}

void Life::AddTo(ClientStats* stats) const {
  stats->late_reads += former_late_reads_;
  stats->refreshes += former_refreshes_;
  for (const auto& link : links_) {
    stats->late_reads += link->reads().late();
    stats->refreshes += link->refreshes();
  }
  for (const WriteQueue& queue : writes_) stats->puts += queue.answered();
}

}  // namespace plov
