#include "server/cluster_watch.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <array>
#include <utility>

#include "cluster/configuration.h"
#include "cluster/empty_start.h"
#include "cluster/fields.h"

namespace plov::server {

namespace {

// After a look that failed: the session of this server's former life may take as long as its timeout to end.
constexpr int kAgainMs = 500;
// Who shares the connection may have taken the notice that it was lost.
constexpr int kConnectionMs = 1000;

}  // namespace

std::expected<std::unique_ptr<ClusterWatch>, Error> ClusterWatch::Create(
    cluster::Coordinator* coordinator, Self self, std::function<void()> wake) {
  auto event = fabric::CreateEventFd();
  if (!event) return std::unexpected(event.error());
  return std::unique_ptr<ClusterWatch>(
      new ClusterWatch(coordinator, std::move(self), std::move(wake), std::move(*event)));
}

ClusterWatch::ClusterWatch(cluster::Coordinator* coordinator, Self self, std::function<void()> wake,
                           fabric::Fd event)
    : coordinator_(coordinator),
      self_(std::move(self)),
      values_(coordinator),
      repairer_(coordinator, self_.id),
      wake_(std::move(wake)),
      event_(std::move(event)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ClusterWatch::~ClusterWatch() {
  thread_.request_stop();
  fabric::Ring(event_.get());
}

ClusterWatch::News ClusterWatch::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void ClusterWatch::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto looked = Look();
    const std::string trouble = looked ? "" : looked.error().message;
    if (!looked && trouble != trouble_) spdlog::warn("the cluster's coordinator: {}", trouble);
    if (looked && !trouble_.empty()) spdlog::info("the cluster's coordinator: all is well again");
    trouble_ = trouble;
    if (looked) {
      Repair();
    } else {
      repairer_.Forget();
    }
    std::array<pollfd, 2> fds = {pollfd{event_.get(), POLLIN, 0},
                                 pollfd{coordinator_->hint_fd(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), looked && IsConnected() ? kConnectionMs : kAgainMs);
  }
}

bool ClusterWatch::IsConnected() const {
  return coordinator_->state().kind == cluster::State::Kind::kConnected;
}

// The others are followed also while this server cannot say where it is.
std::expected<void, Error> ClusterWatch::Look() {
  // Nobody else may ask for long: this sees to the connection.
  if (!IsConnected()) {
    if (const auto config = coordinator_->Get("config"); !config)
      return std::unexpected(config.error());
  }
  // Whatever happens meanwhile, it is for a session that there was.
  const uint64_t session = coordinator_->state().session;
  const bool is_first = !known_;  // this server has just looked, before it joined
  std::expected<void, Error> registered;
  if (is_first) registered = Register();
  const auto values = values_.Look();
  if (!values) return std::unexpected(values.error());
  if (auto checked = CheckNotOlder(**values); !checked) return checked;
  const bool is_seen = session == session_ && (*values)->running.contains(self_.id);
  if (!is_first && !is_seen) registered = Register();
  session_ = registered ? session : 0;
  if (**values != known_) {
    known_ = **values;
    {
      const std::lock_guard lock(mutex_);
      news_.values = known_;
      news_.are_recent = registered || registered.error().code == Code::kInUse;
    }
    wake_();
  }
  if (auto taken = TakeEmptyStarts(**values); !taken) return taken;
  return registered;
}

// Readers go on with the former.
std::expected<void, Error> ClusterWatch::CheckNotOlder(const cluster::Values& values) const {
  if (!known_) return {};
  for (const auto& [number, shard] : known_->shards) {
    const auto now = values.shards.find(number);
    if (now == values.shards.end()) continue;
    if (auto checked = cluster::CheckEpoch(now->second, shard.epoch); !checked) return checked;
  }
  return {};
}

std::expected<void, Error> ClusterWatch::TakeEmptyStarts(const cluster::Values& values) {
  for (const auto& [number, start] : values.empty_starts) {
    if (start.is_taken || start.member.server != self_.id) continue;
    auto taken = cluster::TakeEmptyStart(coordinator_, values.config.cluster_id, number, self_.id);
    if (!taken) return std::unexpected(taken.error());
    if (!*taken) continue;
    {
      const std::lock_guard lock(mutex_);
      news_.emptied.insert_or_assign(number, std::move(**taken));
    }
    wake_();
  }
  return {};
}

// What another has changed meanwhile is looked at again.
void ClusterWatch::Repair() {
  const auto done = repairer_.Look(*known_, std::chrono::steady_clock::now());
  const bool is_overtaken = !done && done.error().code == Code::kVersionMismatch;
  const std::string trouble = done || is_overtaken ? "" : done.error().message;
  if (!trouble.empty() && trouble != repair_trouble_) spdlog::warn("repair: {}", trouble);
  repair_trouble_ = trouble;
  if (!done) return;
  for (const auto& [number, servers] : done->plan) {
    spdlog::warn("repair: shard {} is placed on {} now: {} did not run for {} s", number,
                 cluster::Joined(servers), cluster::Joined(done->away),
                 known_->config.repair_after.count() / 1000);
  }
}

std::expected<void, Error> ClusterWatch::Register() {
  const std::string path = "running/" + self_.id;
  const std::string life = cluster::IdText(self_.server.life);
  const auto created = coordinator_->Create(path, life, cluster::Lifetime::kEphemeral);
  if (created) return TellWhere();
  if (created.error().code != Code::kExists) return std::unexpected(created.error());
  const auto running = coordinator_->Get(path);
  if (!running) return std::unexpected(running.error());
  if (running->data == life) return TellWhere();
  return Fail(Code::kInUse, "another server runs as " + self_.id +
                                ", or the session of this one's former life has not ended yet");
}

std::expected<void, Error> ClusterWatch::TellWhere() {
  return cluster::Put(coordinator_, "servers/" + self_.id, cluster::Encode(self_.server));
}

}  // namespace plov::server
