#include "server/dialer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "fabric/random.h"
#include "verify/superblock.h"

namespace plov::server {

namespace {

// For one that does not answer; less than after what a silent primary is suspected, so that its successor is found.
constexpr std::chrono::milliseconds kConnectTime{200};
// Between two rounds: what is dialled may be closed at once.
constexpr std::chrono::milliseconds kRest{50};

}  // namespace

Dialer::Dialer(std::string name, std::vector<std::string> uris, std::function<void()> wake)
    : name_(std::move(name)),
      wake_(std::move(wake)),
      uris_(std::move(uris)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void Dialer::SetUris(std::vector<std::string> uris) {
  const std::lock_guard lock(mutex_);
  uris_ = std::move(uris);
}

void Dialer::Ask(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  if (!dialled_.contains(shard) && wanted_.insert(shard).second) asked_.notify_one();
}

std::unique_ptr<fabric::Connection> Dialer::Take(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = dialled_.extract(shard);
  return found.empty() ? nullptr : std::move(found.mapped());
}

// Not every failure is logged: it goes on until the server is there.
std::unique_ptr<fabric::Connection> Dialer::Connect(const std::vector<std::string>& uris,
                                                    uint32_t shard) {
  std::string trouble;
  for (const std::string& uri : uris) {
    auto connection =
        fabric::Connection::Connect(uri, {.shard = shard,
                                          .format_version = verify::kFormatVersion,
                                          .client_id = fabric::RandomId(),
                                          .administers = true,  // its place is not a client's
                                          .deadline = fabric::Clock::now() + kConnectTime});
    if (connection) {
      trouble_.clear();
      return std::move(*connection);
    }
    const bool is_away = connection.error().code == Code::kUnavailable;
    trouble = is_away ? "nobody answers at " + uri : connection.error().message;
  }
  if (trouble_.empty()) spdlog::warn("no connection to server {}: {}", name_, trouble);
  trouble_ = std::move(trouble);
  return nullptr;
}

void Dialer::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [this] { return !wanted_.empty(); })) {
    const std::set<uint32_t> round = wanted_;
    const std::vector<std::string> uris = uris_;
    bool has_any = false;
    for (const uint32_t shard : round) {
      if (stop.stop_requested()) return;
      lock.unlock();
      auto connection = Connect(uris, shard);
      if (connection) has_any = true;
      lock.lock();
      if (!connection) continue;
      wanted_.erase(shard);
      dialled_[shard] = std::move(connection);
    }
    if (has_any) {
      lock.unlock();
      wake_();
      lock.lock();
    }
    asked_.wait_for(lock, stop, kRest, [] { return false; });
  }
}

}  // namespace plov::server
