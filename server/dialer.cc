#include "server/dialer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "fabric/random.h"
#include "verify/superblock.h"

namespace plov::server {

namespace {

// For one that does not answer; less than after what a silent primary is suspected, so that its successor is found.
constexpr std::chrono::milliseconds kConnectTime{200};
// Between two tries: what is dialled may be closed at once.
constexpr std::chrono::milliseconds kRest{50};

}  // namespace

Dialer::Dialer(std::string name, std::vector<std::string> uris, std::function<void()> wake,
               Connector connector)
    : name_(std::move(name)),
      wake_(std::move(wake)),
      connector_(std::move(connector)),
      uris_(std::move(uris)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void Dialer::SetUris(std::vector<std::string> uris) {
  const std::lock_guard lock(mutex_);
  uris_ = std::move(uris);
}

void Dialer::Ask(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  if (dialled_.contains(shard)) return;
  const auto tried = tried_.find(shard);
  const auto due = tried == tried_.end() ? fabric::Clock::time_point() : tried->second.at + kRest;
  if (wanted_.emplace(shard, due).second) asked_.notify_one();
}

std::unique_ptr<fabric::Connection> Dialer::Take(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = dialled_.extract(shard);
  return found.empty() ? nullptr : std::move(found.mapped());
}

bool Dialer::IsAway(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto tried = tried_.find(shard);
  return tried != tried_.end() && tried->second.is_away;
}

// Not every failure is logged: it is tried again until the server is there. One that is, and does not have the shard, has
// had it, or will.
std::unique_ptr<fabric::Connection> Dialer::Connect(const std::vector<std::string>& uris,
                                                    uint32_t shard, bool* is_away) {
  *is_away = !uris.empty();
  std::string trouble;
  bool is_there = false;
  for (const std::string& uri : uris) {
    auto connection = connector_(uri, {.shard = shard,
                                       .format_version = verify::kFormatVersion,
                                       .client_id = fabric::RandomId(),
                                       .administers = true,  // its place is not a client's
                                       .deadline = fabric::Clock::now() + kConnectTime});
    if (connection) {
      *is_away = false;
      trouble_.clear();
      return std::move(*connection);
    }
    const bool is_silent = connection.error().code == Code::kUnavailable;
    *is_away = *is_away && is_silent;
    is_there = connection.error().code == Code::kNoShard;
    trouble = is_silent ? "nobody answers at " + uri : connection.error().message;
  }
  if (trouble_.empty() && !is_there) spdlog::warn("no connection to server {}: {}", name_, trouble);
  if (!is_there) trouble_ = std::move(trouble);
  return nullptr;
}

std::optional<uint32_t> Dialer::NextDue(fabric::Clock::time_point* next) const {
  const auto first =
      std::ranges::min_element(wanted_, {}, [](const auto& one) { return one.second; });
  if (first == wanted_.end()) return std::nullopt;
  *next = first->second;
  return first->second <= fabric::Clock::now() ? std::optional(first->first) : std::nullopt;
}

void Dialer::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    auto next = fabric::Clock::time_point::max();
    const auto shard = NextDue(&next);
    if (!shard && wanted_.empty()) {
      asked_.wait(lock, stop, [this] { return !wanted_.empty(); });
    } else if (!shard) {
      const size_t count = wanted_.size();
      asked_.wait_until(lock, stop, next, [&] { return wanted_.size() > count; });
    } else {
      Try(*shard, &lock);
    }
  }
}

void Dialer::Try(uint32_t shard, std::unique_lock<std::mutex>* lock) {
  const std::vector<std::string> uris = uris_;
  lock->unlock();
  bool is_away = false;
  auto connection = Connect(uris, shard, &is_away);
  lock->lock();
  wanted_.erase(shard);
  tried_[shard] = {fabric::Clock::now(), is_away};
  if (connection == nullptr) return;
  dialled_[shard] = std::move(connection);
  lock->unlock();
  wake_();
  lock->lock();
}

}  // namespace plov::server
