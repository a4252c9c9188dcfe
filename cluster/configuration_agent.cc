#include "cluster/configuration_agent.h"

#include <poll.h>

#include <array>
#include <vector>

namespace plov::cluster {

namespace {

// Between two looks at a coordinator that has not settled a proposal.
constexpr int kOpenRestMs = 20;
constexpr int kRestMs = 1000;

}  // namespace

std::expected<std::unique_ptr<ConfigurationAgent>, Error> ConfigurationAgent::Create(
    Coordinator* coordinator, uint64_t cluster_id, Wake wake) {
  auto event = fabric::CreateEventFd();
  if (!event) return std::unexpected(event.error());
  coordinator->Watch("shards");
  return std::unique_ptr<ConfigurationAgent>(
      new ConfigurationAgent(coordinator, cluster_id, std::move(wake), std::move(*event)));
}

ConfigurationAgent::ConfigurationAgent(Coordinator* coordinator, uint64_t cluster_id, Wake wake,
                                       fabric::Fd event)
    : coordinator_(coordinator),
      cluster_id_(cluster_id),
      wake_(std::move(wake)),
      event_(std::move(event)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ConfigurationAgent::~ConfigurationAgent() {
  thread_.request_stop();
  fabric::Ring(event_.get());
}

ConfigurationAgent::Followed* ConfigurationAgent::Find(uint32_t shard) {
  return &followed_.try_emplace(shard, coordinator_, shard, cluster_id_).first->second;
}

void ConfigurationAgent::Read(uint32_t shard) {
  {
    const std::lock_guard lock(mutex_);
    Find(shard)->wants_read = true;
  }
  fabric::Ring(event_.get());
}

void ConfigurationAgent::Propose(uint32_t shard, uint64_t proposer, Held base, Shard next) {
  {
    const std::lock_guard lock(mutex_);
    Find(shard)->proposals.push_back({proposer, std::move(base), std::move(next)});
  }
  fabric::Ring(event_.get());
}

ConfigurationAgent::News ConfigurationAgent::Take(uint32_t shard) {
  const std::lock_guard lock(mutex_);
  Followed* followed = Find(shard);
  News news;
  news.held = std::exchange(followed->held, std::nullopt);
  if (followed->outcomes.empty()) return news;
  news.proposer = followed->outcomes.front().first;
  news.outcome = std::move(followed->outcomes.front().second);
  followed->outcomes.pop_front();
  return news;
}

void ConfigurationAgent::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    fabric::ClearEvent(event_.get());
    TakeHints();
    std::vector<std::pair<uint32_t, Followed*>> all;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [shard, followed] : followed_) all.emplace_back(shard, &followed);
    }
    bool has_open = false;
    for (const auto& [shard, followed] : all) {
      if (stop.stop_requested()) return;
      if (Work(shard, followed)) has_open = true;
    }
    std::array<pollfd, 2> fds = {pollfd{event_.get(), POLLIN, 0},
                                 pollfd{coordinator_->hint_fd(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), has_open ? kOpenRestMs : kRestMs);
  }
}

void ConfigurationAgent::TakeHints() {
  if (coordinator_->TakeHints().empty()) return;
  const std::lock_guard lock(mutex_);
  for (auto& [shard, followed] : followed_) followed.wants_read = true;
}

bool ConfigurationAgent::Work(uint32_t shard, Followed* followed) {
  std::unique_lock lock(mutex_);
  while (!followed->proposals.empty()) {
    const Proposal proposal = followed->proposals.front();
    lock.unlock();
    if (!MakeProposal(shard, followed, proposal)) return true;
    lock.lock();
  }
  if (!std::exchange(followed->wants_read, false)) return false;
  lock.unlock();
  ReadNow(shard, followed);
  return false;
}

bool ConfigurationAgent::MakeProposal(uint32_t shard, Followed* followed,
                                      const Proposal& proposal) {
  ConfigurationRegister& configuration = followed->configuration;
  Outcome outcome = configuration.is_open() ? configuration.Settle()
                                            : configuration.Propose(proposal.base, proposal.next);
  if (outcome.verdict == Verdict::kOpen) return false;
  {
    const std::lock_guard lock(mutex_);
    followed->outcomes.emplace_back(proposal.proposer, std::move(outcome));
    followed->proposals.pop_front();
  }
  wake_(shard);
  return true;
}

// A hint, or whoever asked, comes again when it failed.
void ConfigurationAgent::ReadNow(uint32_t shard, Followed* followed) {
  auto held = followed->configuration.Read();
  if (!held) return;
  {
    const std::lock_guard lock(mutex_);
    followed->held = std::move(*held);
  }
  wake_(shard);
}

}  // namespace plov::cluster
