// cluster move, drain, repair, balance: place shards anew, and watch how their replicas follow; remove: forgets a server.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "client/cli/cluster.h"
#include "cluster/planner.h"
#include "cluster/values.h"
#include "program/format.h"
#include "program/json.h"

namespace plov::cli {

namespace {

using cluster::Joined;
using cluster::Plan;
using cluster::Values;
using program::CountOf;

// Of a plan that somebody else's change overtakes.
constexpr int kTries = 3;
constexpr int kLookEveryMs = 1000;

// At once.
void Say(const std::string& line, program::Output* output) {
  output->Write(line);
  std::ignore = output->Finish();
}

// Waits until each shard is where it was placed, and tells of each.
class Moves {
 public:
  Moves(const Options& options, const Plan& plan, program::Output* output)
      : options_(options), plan_(plan), output_(output) {
    for (const auto& [number, servers] : plan) left_.insert(number);
  }

  // Whoever ends it in between changes nothing: the servers go on.
  Outcome Await(cluster::Coordinator* coordinator) {
    cluster::ValuesFollower follower(coordinator);
    while (true) {
      const auto values = follower.Look();
      if (values) Look(**values);
      if (left_.empty()) return {};
      if (!output_->good()) return output_->Finish();
      if (values) {
        AwaitHint(coordinator);
      } else {
        std::this_thread::sleep_for(kAgain);
      }
    }
  }

 private:
  void Look(const Values& values) {
    for (const uint32_t number : std::set(left_)) {
      const auto placed = values.placements.find(number);
      const bool is_ours =
          placed != values.placements.end() && placed->second.servers == plan_.at(number);
      if (is_ours && !cluster::IsAsPlaced(values, number)) {
        TellOfMissing(values, number);
        continue;
      }
      left_.erase(number);
      const std::string where = is_ours ? "is on " + Joined(plan_.at(number))
                                        : std::string("was placed elsewhere meanwhile");
      Tell(fmt::format("shard {} {}, {} of {}\n", number, where, plan_.size() - left_.size(),
                       plan_.size()));
    }
  }
  void TellOfMissing(const Values& values, uint32_t number) {
    for (const std::string& server : plan_.at(number)) {
      if (values.running.contains(server) || !missing_.insert(server).second) continue;
      Tell(fmt::format("shard {} waits for {}, which does not run\n", number, server));
    }
  }
  void Tell(const std::string& line) {
    if (!options_.json) Say(line, output_);
  }

  const Options& options_;
  const Plan& plan_;
  program::Output* output_;
  std::set<uint32_t> left_;
  std::set<std::string> missing_;
};

void TellPlan(const Options& options, const Values& values, const Plan& plan,
              program::Output* output) {
  if (options.json) {
    program::Json shards = program::Json::array();
    for (const auto& [number, servers] : plan) {
      shards.push_back(
          {{"shard", number}, {"from", values.placements.at(number).servers}, {"to", servers}});
    }
    return Say(program::LineOf({{"shards", shards}}), output);
  }
  for (const auto& [number, servers] : plan) {
    output->Write(fmt::format("shard {}: {} -> {}\n", number,
                              Joined(values.placements.at(number).servers), Joined(servers)));
  }
  Say(plan.empty() ? "nothing has to be moved\n" : "", output);
}

// plan: what has to change.
Outcome Carry(const Options& options, program::Output* output,
              const std::function<std::expected<Plan, Error>(const Values&)>& plan_of) {
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  for (int i = 1;; ++i) {
    const auto values = cluster::ReadValues(coordinator->get());
    if (!values) return AboutCluster(values.error());
    const auto plan = plan_of(*values);
    if (!plan) return AboutCluster(plan.error());
    const auto applied = cluster::Apply(coordinator->get(), *values, *plan);
    if (!applied && applied.error().code == Code::kVersionMismatch && i < kTries) continue;
    if (!applied) return AboutCluster(applied.error());
    TellPlan(options, *values, *plan, output);
    if (options.no_wait) return {};
    return Moves(options, *plan, output).Await(coordinator->get());
  }
}

// What is left of it. kInvalidArgument: it runs, or is needed.
std::expected<void, Error> Remove(cluster::Coordinator* coordinator, const Values& values,
                                  const std::string& server) {
  const auto wrong = [&server](const std::string& why) {
    return Fail(Code::kInvalidArgument, fmt::format("server {} {}", server, why));
  };
  if (!values.servers.contains(server)) return wrong("is not known");
  if (values.running.contains(server)) return wrong("runs");
  for (const auto& [number, placement] : values.placements) {
    const auto& shard = values.shards.at(number);
    const bool is_member =
        std::ranges::find(shard.in_sync, server, &cluster::Member::server) != shard.in_sync.end();
    const bool is_placed = std::ranges::find(placement.servers, server) != placement.servers.end();
    if (is_member || is_placed) {
      return wrong(fmt::format("has a replica of shard {}: plov cluster drain or repair", number));
    }
  }
  const std::string path = "servers/" + server;
  const auto value = coordinator->Get(path);
  if (!value) return std::unexpected(value.error());
  return coordinator->Delete(path, value->revision);
}

}  // namespace

void AwaitHint(cluster::Coordinator* coordinator) {
  pollfd fd{coordinator->hint_fd(), POLLIN, 0};
  ::poll(&fd, 1, kLookEveryMs);
}

Outcome MoveShard(const Options& options, program::Output* output) {
  const auto shard = ShardIn(options.words[2]);
  if (!shard) return std::unexpected(shard.error());
  if (options.cluster.to.empty()) {
    return Fail(Code::kInvalidArgument, "move needs --to ID, the server that is to have the shard");
  }
  return Carry(options, output, [&](const Values& values) {
    return cluster::PlanMove(values, *shard, options.cluster.from, options.cluster.to);
  });
}

Outcome DrainServer(const Options& options, program::Output* output) {
  return Carry(options, output,
               [&](const Values& values) { return cluster::PlanDrain(values, options.words[2]); });
}

Outcome RepairCluster(const Options& options, program::Output* output) {
  return Carry(options, output, [](const Values& values) -> std::expected<Plan, Error> {
    auto repair = cluster::PlanRepair(values);
    if (repair.trouble) return std::unexpected(std::move(*repair.trouble));
    return std::move(repair.plan);
  });
}

Outcome BalanceCluster(const Options& options, program::Output* output) {
  return Carry(options, output, [](const Values& values) -> std::expected<Plan, Error> {
    return cluster::PlanBalance(values);
  });
}

Outcome RemoveServer(const Options& options, program::Output* output) {
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  const auto values = cluster::ReadValues(coordinator->get());
  if (!values) return AboutCluster(values.error());
  const std::string& server = options.words[2];
  auto removed = Remove(coordinator->get(), *values, server);
  if (!removed) return AboutCluster(removed.error());
  Say(fmt::format("server {} is forgotten\n", server), output);
  return {};
}

}  // namespace plov::cli
