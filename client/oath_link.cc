#include "client/oath_link.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "client/attempts.h"
#include "client/cluster_seed.h"
#include "client/server_clock.h"

namespace plov {

using fabric::Deadline;

// What is between two of them is READ as long as that is less than another READ, and more where there are too many.
std::vector<OathRun> OathRunsOf(const std::set<uint32_t>& shards) {
  std::vector<OathRun> runs;
  for (uint32_t gap = kOathsNear; runs.empty() || runs.size() > kOathRunsMax; gap *= 2) {
    runs.clear();
    for (const uint32_t shard : shards) {
      const bool is_near =
          !runs.empty() && shard < runs.back().first + runs.back().oaths.size() + gap;
      if (!is_near) runs.push_back({.first = shard});
      runs.back().oaths.resize(shard - runs.back().first + 1);
    }
  }
  return runs;
}

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

uint64_t OathLink::Seen(uint32_t shard) const {
  for (const OathRun& run : seen_.runs) {
    if (shard - run.first < run.oaths.size()) return run.oaths[shard - run.first];
  }
  return 0;
}

void OathLink::Want(uint32_t shard, uint64_t round) {
  wanted_ = round;
  if (shards_.insert(shard).second) runs_ = OathRunsOf(shards_);
}

bool OathLink::Look(uint64_t round) {
  if (wanted_ <= looked_) return false;
  const auto free = std::ranges::find(flights_, uint64_t{0}, &Flight::round);
  if (free == flights_.end()) return false;
  *free = {.round = round, .begun_us = BootUs(), .reads = runs_.size(), .runs = runs_};
  const auto flight = static_cast<size_t>(free - flights_.begin());
  for (size_t i = 0; i < runs_.size(); ++i) {
    const auto bytes = static_cast<uint32_t>(runs_[i].oaths.size() * verify::kWordBytes);
    const auto added =
        reads_.Add(verify::OathOffset(runs_[i].first), bytes, flight * kOathRunsMax + i);
    assert(added);  // each flight has room for as many as there are
    static_cast<void>(added);
  }
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
  Flight& flight = flights_[owner / kOathRunsMax];
  std::vector<uint64_t>& oaths = flight.runs[owner % kOathRunsMax].oaths;
  std::copy_n(memory.begin(), oaths.size(), oaths.begin());
  flight.has_failed |= status != fabric::Status::kDone;
  if (--flight.reads > 0) return;
  Flight come = std::exchange(flight, {});
  if (!come.has_failed && come.round >= seen_.round) seen_ = std::move(come);
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
