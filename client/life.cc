#include "client/life.h"

#include <algorithm>

#include "client/attempts.h"
#include "client/cluster_seed.h"
#include "fabric/random.h"

namespace plov {

namespace {

constexpr auto kOtherCluster =
    "the server's memory is of another cluster than its map: use servers of one cluster";

// A server of a cluster does not have all shards, and closes the connections to those that others serve.
Error WhyNotWhole(const std::string& uri, Error error, Deadline deadline) {
  const bool may_be = error.code == Code::kNoShard || error.code == Code::kUnavailable;
  return may_be && ConnectToMap(uri, deadline) ? IsOfCluster(uri) : error;
}

}  // namespace

Life::Life(const Target& target, const ClientOptions& options, OathLinks* oath_links,
           Callbacks* callbacks)
    : callbacks_(callbacks),
      oath_links_(oath_links),
      identity_{fabric::RandomId(), options.administers, false},
      locations_(options.location_cache_bytes) {
  if (target.part) writes_.emplace_back(callbacks_);
}

// A server that is not this life's may know the client id all the same; it gets no write by it.
std::expected<bool, Error> Life::Connect(const Target& target, Deadline deadline) {
  Error error{Code::kUnavailable, "it has no server that this client may connect to"};
  for (size_t i = 0; i < target.uris.size(); ++i) {
    auto links =
        ConnectShards(target.uris[i], target, NextAttemptEnd(deadline, target.uris.size() - i));
    const bool is_another = !links && links.error().code == Code::kUnknown;
    if (is_another && !links_.empty()) return false;
    if (!links) {
      error = std::move(links.error());
      continue;
    }
    if (!IsThis(*links, target)) return false;
    Adopt(std::move(*links));
    epoch_ = target.epoch;
    return true;
  }
  return std::unexpected(std::move(error));
}

std::expected<Life::Links, Error> Life::ConnectShards(const std::string& uri, const Target& target,
                                                      Deadline deadline) {
  if (!target.part) return ConnectServer(uri, target, deadline);
  auto link = ConnectPart(uri, target, deadline);
  if (!link) return std::unexpected(std::move(link.error()));
  Links links;
  links.push_back(std::move(*link));
  return links;
}

std::expected<std::unique_ptr<Link>, Error> Life::ConnectLink(const std::string& uri,
                                                              const Target& target, uint32_t shard,
                                                              Deadline deadline) {
  return Link::Connect(uri, shard, identity_, &claimants_[{target.uris, shard}], deadline);
}

std::expected<std::unique_ptr<Link>, Error> Life::ConnectPart(const std::string& uri,
                                                              const Target& target,
                                                              Deadline deadline) {
  const Target::Part& part = *target.part;
  auto oaths = Oaths::Connect(part.shard, target.oaths, target.lease_us, oath_links_, deadline);
  if (!oaths) return std::unexpected(std::move(oaths.error()));
  identity_.never_writes = target.max_age_us != 0;
  auto link = ConnectLink(uri, target, part.shard, deadline);
  if (!link) return link;
  if ((*link)->view().hash_seed != part.hash_seed) return Fail(Code::kProtocol, kOtherCluster);
  if (auto seen = oaths->See(oath_links_, deadline); !seen) return std::unexpected(seen.error());
  (*link)->RestOn(std::move(*oaths));
  if (target.max_age_us == 0) return link;
  const auto accepted = (*link)->AcceptAge(target.max_age_us, deadline);
  return accepted ? std::move(link) : std::unexpected(accepted.error());
}

// They are threads of one server, which have one hash seed. A name may lead to another server between
// two of them. A server may have all shards of its cluster, which are good only while the others say so.
std::expected<Life::Links, Error> Life::ConnectServer(const std::string& uri, const Target& target,
                                                      Deadline deadline) {
  Links links;
  uint32_t shard_count = 1;
  for (uint32_t shard = 0; shard < shard_count; ++shard) {
    auto link = ConnectLink(uri, target, shard, deadline);
    if (!link) return std::unexpected(WhyNotWhole(uri, std::move(link.error()), deadline));
    links.push_back(std::move(*link));
    const cuckoo::ShardView& view = links.back()->view();
    if (view.of_cluster) return std::unexpected(IsOfCluster(uri));
    const cuckoo::ShardView& first = links.front()->view();
    shard_count = first.shard_count;
    if (view.shard_count != first.shard_count || view.hash_seed != first.hash_seed) {
      return Fail(Code::kUnavailable, "another server answers on " + uri + " than a moment ago");
    }
  }
  return links;
}

// The same memory; or a server with the log of the one before, which knows what that one applied: the
// seed is drawn by a store that begins empty, and goes on with its log. A cluster has one seed for all. Of who never writes
// nobody has to know.
bool Life::IsThis(const Links& fresh, const Target& target) const {
  if (target.max_age_us != 0) return true;
  if (links_.empty() || target.epoch > epoch_) return true;
  const auto agree = [&](uint64_t cuckoo::ShardView::*member) {
    return std::ranges::equal(
        links_, fresh, {}, [&](const auto& link) { return link->view().*member; },
        [&](const auto& link) { return link->view().*member; });
  };
  return agree(&cuckoo::ShardView::incarnation) ||
         (!target.part && agree(&cuckoo::ShardView::hash_seed));
}

// Locations are forgotten within a life, too: a server that took damaged memory over has dropped
// items whose records may still be whole where they are remembered to be.
void Life::Adopt(Links fresh) {
  while (writes_.size() < fresh.size()) writes_.emplace_back(callbacks_);
  for (const auto& link : links_) {
    former_late_reads_ += link->reads().late();
    former_refreshes_ += link->refreshes();
  }
  links_ = std::move(fresh);
  locations_.Clear();
}

uint64_t Life::answered() const {
  uint64_t answered = 0;
  for (const WriteQueue& queue : writes_) answered += queue.answered();
  return answered;
}

void Life::AddTo(ClientStats* stats) const {
  stats->late_reads += former_late_reads_;
  stats->refreshes += former_refreshes_;
  for (const auto& link : links_) {
    stats->late_reads += link->reads().late();
    stats->refreshes += link->refreshes();
  }
  stats->puts += answered();
}

}  // namespace plov
