#include "bench/cluster/fail_over_simulation.h"

#include <algorithm>
#include <utility>

namespace plov::bench {

using cluster::Held;
using cluster::Outcome;
using cluster::Replica;
using cluster::Shard;
using cluster::Verdict;

namespace {

constexpr uint64_t kGiveUpUs = 60'000'000, kLookUs = 10'000;

}  // namespace

// One replica, and what its server does for it.
class FailOverSimulation::Node final : public cluster::ReplicaHost {
 public:
  Node(FailOverSimulation* world, uint32_t shard, const cluster::Member& self,
       const cluster::ReplicaSettings& settings)
      : world_(world),
        shard_(shard),
        server_(self.server),
        replica_(self, settings, Replica::Memory{cluster::Tail({}), world->registers_.at(shard)},
                 this, world->now_us_) {}

  Replica& replica() { return replica_; }
  uint32_t shard() const { return shard_; }
  bool runs() const { return !has_ended_ && !world_->silent_.contains(server_); }

  void ShowOath(uint64_t) override {}
  void ShowSafeTime(uint64_t) override {}
  void Send(const std::string& server, const cluster::StreamMessage& message) override {
    ++world_->messages_;
    for (const auto& other : world_->nodes_.at(shard_)) {
      if (other->server_ != server) continue;
      world_->At(world_->now_us_ + world_->times_.to_server_us,
                 [to = other.get(), message] { to->Do(message); });
    }
  }
  void CloseReaders() override {}
  bool CanPropose() const override { return true; }
  // As of a ConfigurationRegister that reaches its coordinator.
  void Propose(const Held& base, const Shard& next) override {
    world_->AtCoordinator(world_->times_.write_us, [this, base, next] {
      Held& held = world_->registers_.at(shard_);
      const bool is_accepted = held.revision == base.revision;
      if (is_accepted) {
        held.shard = next;
        held.shard.epoch = base.shard.epoch + 1;
        ++held.revision;
      }
      ++world_->result_.proposals;
      Hear({is_accepted ? Verdict::kAccepted : Verdict::kRefused, held, ""});
    });
  }
  void ReadConfiguration() override {
    world_->AtCoordinator(world_->times_.read_us, [this] {
      world_->At(world_->now_us_ + world_->times_.to_coordinator_us,
                 [this, held = world_->registers_.at(shard_)] {
                   if (runs()) replica_.Learn(held, world_->now_us_);
                 });
    });
  }
  void Keep(const cluster::Append&) override {}
  bool Publish(const cluster::Entry&) override { return true; }
  void CatchUp(const cluster::Member&, const cluster::Position&) override {}
  void Deposed() override {}
  uint64_t ComeBack(const char*, const std::vector<cluster::Entry>&) override {
    return world_->random_() | 1;
  }
  void StartAnew(const char*) override { has_ended_ = true; }

 private:
  void Do(const cluster::StreamMessage& message) {
    if (!runs()) return;
    replica_.Receive(message, world_->now_us_);
    world_->Check(shard_);
  }
  void Hear(const Outcome& outcome) {
    world_->At(world_->now_us_ + world_->times_.to_coordinator_us, [this, outcome] {
      if (!runs()) return;
      replica_.Heard(outcome, world_->now_us_);
      world_->Check(shard_);
    });
  }

  FailOverSimulation* world_;
  uint32_t shard_;
  std::string server_;
  bool has_ended_ = false;
  Replica replica_;
};

FailOverSimulation::FailOverSimulation(const cluster::Values& values, const SimulatedTimes& times)
    : times_(times) {
  const cluster::ReplicaSettings settings = cluster::SettingsOf(values.config);
  for (const auto& [number, shard] : values.shards) {
    registers_[number] = {.shard = shard, .revision = 1, .data = ""};
    for (const cluster::Member& member : shard.in_sync) {
      nodes_[number].push_back(std::make_unique<Node>(this, number, member, settings));
      of_server_[member.server].push_back(nodes_[number].back().get());
    }
  }
  for (const auto& [server, nodes] : of_server_) {
    At(now_us_ + random_() % times_.tick_us, [this, &server] { TickServer(server); });
  }
}

FailOverSimulation::~FailOverSimulation() = default;

void FailOverSimulation::At(uint64_t at_us, std::function<void()> run) {
  queue_.emplace(std::pair(at_us, ++events_), std::move(run));
}

void FailOverSimulation::RunUntil(uint64_t us) {
  while (!queue_.empty() && queue_.begin()->first.first <= us) {
    const auto event = queue_.extract(queue_.begin());
    now_us_ = event.key().first;
    event.mapped()();
  }
  now_us_ = us;
}

void FailOverSimulation::AtCoordinator(uint64_t takes_us, std::function<void()> run) {
  const uint64_t begins = std::max(coordinator_free_us_, now_us_ + times_.to_coordinator_us);
  coordinator_free_us_ = begins + takes_us;
  At(coordinator_free_us_, std::move(run));
}

void FailOverSimulation::TickServer(const std::string& server) {
  if (silent_.contains(server)) return;
  for (Node* node : of_server_.at(server)) {
    if (!node->runs()) continue;
    node->replica().Tick(now_us_);
    Check(node->shard());
  }
  At(now_us_ + times_.tick_us, [this, &server] { TickServer(server); });
}

bool FailOverSimulation::IsServed(uint32_t shard) const {
  const auto& nodes = nodes_.at(shard);
  return std::ranges::any_of(
      nodes, [](const auto& node) { return node->runs() && node->replica().serves(); });
}

// The coordinator is quick for so long: who is the primary is nothing that is measured.
bool FailOverSimulation::Begin() {
  const SimulatedTimes times = std::exchange(times_, {.write_us = 0, .read_us = 0});
  const uint64_t until = now_us_ + kGiveUpUs;
  bool are_all_served = false;
  while (!are_all_served && now_us_ < until) {
    RunUntil(now_us_ + kLookUs);
    are_all_served = std::ranges::all_of(nodes_, [this](const auto& shard) {
      const size_t in_sync = registers_.at(shard.first).shard.in_sync.size();
      return in_sync == shard.second.size() && IsServed(shard.first);
    });
  }
  times_ = times;
  return are_all_served;
}

double FailOverSimulation::BeatsPerSecond(uint64_t seconds) {
  messages_ = 0;
  RunUntil(now_us_ + seconds * 1'000'000);
  return static_cast<double>(messages_) / static_cast<double>(seconds);
}

void FailOverSimulation::Check(uint32_t shard) {
  const auto pending = pending_.find(shard);
  if (pending == pending_.end()) return;
  for (const auto& node : nodes_.at(shard)) {
    if (!node->runs() || !node->replica().serves()) continue;
    const auto& in_sync = node->replica().held()->shard.in_sync;
    const bool waits = std::ranges::any_of(
        in_sync, [this](const cluster::Member& one) { return silent_.contains(one.server); });
    if (waits) continue;
    const double ms = static_cast<double>(now_us_ - silent_since_us_) / 1000;
    (pending->second ? result_.primary_ms : result_.backup_ms).push_back(ms);
    pending_.erase(pending);
    return;
  }
}

FailOverSimulation::Result FailOverSimulation::Silence(const std::set<std::string>& servers) {
  silent_ = servers;
  silent_since_us_ = now_us_;
  result_ = {};
  for (const auto& [number, held] : registers_) {
    size_t left = 0;
    for (const cluster::Member& member : held.shard.in_sync)
      left += !servers.contains(member.server);
    if (left == 0) ++result_.lost;
    if (left == 0 || left == held.shard.in_sync.size()) continue;
    pending_[number] = servers.contains(held.shard.primary);
  }
  const uint64_t until = now_us_ + kGiveUpUs;
  while (!pending_.empty() && now_us_ < until) RunUntil(now_us_ + kLookUs);
  result_.lost += pending_.size();
  std::ranges::sort(result_.primary_ms);
  std::ranges::sort(result_.backup_ms);
  return std::exchange(result_, {});
}

}  // namespace plov::bench
