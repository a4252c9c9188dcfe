#include "client/oath_link.h"

#include <algorithm>
#include <utility>

#include "client/attempts.h"
#include "client/cluster_seed.h"
#include "client/server_clock.h"

namespace plov {

using fabric::Deadline;

std::expected<std::shared_ptr<OathLink>, Error> OathLink::Connect(
    const std::vector<std::string>& uris, Deadline deadline) {
  Error error{Code::kUnavailable, "a server of its configuration has no address"};
  for (size_t i = 0; i < uris.size(); ++i) {
    auto connection = ConnectToMap(uris[i], NextAttemptEnd(deadline, uris.size() - i));
    if (connection) return std::shared_ptr<OathLink>(new OathLink(std::move(*connection)));
    error = std::move(connection.error());
    if (error.code == Code::kNoShard)
      error.message = "the server at " + uris[i] + " is in no cluster";
  }
  return std::unexpected(std::move(error));
}

OathLink::OathLink(std::unique_ptr<fabric::Connection> connection)
    : connection_(std::move(connection)), region_(connection_->region()) {
  if (region_.size() < verify::kMapsOffset) region_ = {};
}

void OathLink::Want(uint32_t shard, uint64_t round) {
  first_shard_ = std::min(first_shard_, shard);
  last_shard_ = std::max(last_shard_, shard);
  wanted_ = round;
}

bool OathLink::Look(uint64_t round) {
  if (wanted_ <= looked_) return false;
  const auto free = std::ranges::find(flights_, uint64_t{0}, &Flight::round);
  if (free == flights_.end()) return false;
  const uint32_t count = last_shard_ - first_shard_ + 1;
  const auto owner = static_cast<Reads::Owner>(free - flights_.begin());
  const auto bytes = static_cast<uint32_t>(count * verify::kWordBytes);
  if (!reads_.Add(verify::OathOffset(first_shard_), bytes, owner)) return false;
  *free = {round, BootUs(), first_shard_};
  looked_ = round;
  reads_.Post(connection_.get());
  return true;
}

bool OathLink::Collect() {
  reads_.Post(connection_.get());
  return reads_.Collect(connection_.get(), [this](auto owner, auto status, const auto* memory) {
    OnLook(owner, status, *memory);
  });
}

// One that fails was none: the connection has ended.
void OathLink::OnLook(Reads::Owner owner, fabric::Status status, const ReadBuffer& memory) {
  const Flight flight = std::exchange(flights_[owner], {});
  if (status != fabric::Status::kDone || flight.round < seen_.round) return;
  seen_ = flight;
  oaths_.assign(memory.begin(), memory.end());
}

std::expected<void, Error> OathLinks::Open() {
  auto epoll = fabric::CreateEpoll({});
  if (!epoll) return std::unexpected(epoll.error());
  epoll_ = std::move(*epoll);
  return {};
}

std::expected<std::shared_ptr<OathLink>, Error> OathLinks::Connect(
    const std::vector<std::string>& uris, Deadline deadline) {
  Sweep();
  if (const auto known = links_.find(uris); known != links_.end()) return known->second;
  auto link = OathLink::Connect(uris, deadline);
  if (!link) return link;
  if (auto watched = fabric::Watch(epoll_.get(), (*link)->connection().fd()); !watched) {
    return std::unexpected(watched.error());
  }
  links_.emplace(uris, *link);
  return link;
}

void OathLinks::Sweep() {
  std::erase_if(links_, [](const auto& known) { return !known.second->alive(); });
}

bool OathLinks::ForEach(auto&& body) {
  bool any = false;
  for (const auto& [uris, link] : links_) any = body(link.get()) || any;
  return any;
}

bool OathLinks::Look() {
  const bool any = ForEach([this](OathLink* link) { return link->Look(round_); });
  if (any) ++round_;
  return any;
}

bool OathLinks::Collect() {
  return ForEach([](OathLink* link) { return link->Collect(); });
}

bool OathLinks::Arm() {
  return !ForEach([](OathLink* link) { return !link->connection().Arm(); });
}

}  // namespace plov
