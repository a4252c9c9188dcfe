// cluster: creates one with its coordinator, shows what that holds of it, and gives up what a shard held.

#include "client/cli/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "cluster/empty_start.h"
#include "cluster/fields.h"
#include "cluster/planner.h"
#include "cluster/values.h"
#include "program/format.h"
#include "program/json.h"

namespace plov::cli {

namespace {

using cluster::Joined;
using cluster::Values;
using program::CountOf;

struct ClusterCommand {
  std::string_view name;
  std::string_view words;
  size_t words_min;
  size_t words_max;
  Outcome (*run)(const Options& options, program::Output* output);
};

constexpr std::array<std::string_view, 4> kHealthNames = {"whole", "degraded", "new", "away"};

std::string NamesOf(const std::vector<cluster::Member>& members) {
  std::string names;
  for (const auto& member : members) names += (names.empty() ? "" : ",") + member.server;
  return names.empty() ? "-" : names;
}

program::Json NamesJson(const std::vector<cluster::Member>& members) {
  program::Json names = program::Json::array();
  for (const auto& member : members) names.push_back(member.server);
  return names;
}

using Counts = std::map<std::string, uint64_t>;

// Of each server, how many shards it is to have.
Counts ReplicaCounts(const Values& values) {
  Counts counts;
  for (const auto& [number, placement] : values.placements) {
    for (const std::string& server : placement.servers) ++counts[server];
  }
  return counts;
}

uint64_t CountAt(const Counts& counts, const std::string& server) {
  const auto found = counts.find(server);
  return found == counts.end() ? 0 : found->second;
}

std::vector<std::string> PlacedOn(const Values& values, uint32_t shard) {
  const auto found = values.placements.find(shard);
  return found == values.placements.end() ? std::vector<std::string>() : found->second.servers;
}

// What of a cluster is shown.
enum class Part : uint8_t { kAll, kServers, kShards };

program::Json ServersJson(const Values& values) {
  const auto counts = ReplicaCounts(values);
  program::Json servers = program::Json::array();
  for (const auto& [id, server] : values.servers) {
    program::Json uris = program::Json::array();
    for (const auto& uri : server.uris) uris.push_back(uri);
    servers.push_back({{"id", id},
                       {"running", values.running.contains(id)},
                       {"uris", uris},
                       {"zone", server.zone},
                       {"memory_bytes", server.memory_bytes},
                       {"shards", CountAt(counts, id)},
                       {"shards_max", server.shards_max}});
  }
  return servers;
}

program::Json ShardsJson(const Values& values) {
  program::Json shards = program::Json::array();
  for (const auto& [number, shard] : values.shards) {
    const auto health = static_cast<size_t>(HealthOf(values, number));
    program::Json one = {{"shard", number},
                         {"state", kHealthNames[health]},
                         {"epoch", shard.epoch},
                         {"slot_first", shard.slot_first},
                         {"slot_last", shard.slot_last},
                         {"primary", shard.primary}};
    one["in_sync"] = NamesJson(shard.in_sync);
    one["placed"] = PlacedOn(values, number);
    shards.push_back(std::move(one));
  }
  return shards;
}

program::Json JsonOf(const Values& values, Part part = Part::kAll) {
  program::Json object = {{"cluster", cluster::IdText(values.config.cluster_id)}};
  if (part == Part::kAll) object["repair_after_ms"] = values.config.repair_after.count();
  if (part != Part::kShards) object["servers"] = ServersJson(values);
  if (part != Part::kServers) object["shards"] = ShardsJson(values);
  return object;
}

std::string ServersText(const Values& values) {
  std::string text;
  const auto counts = ReplicaCounts(values);
  for (const auto& [id, server] : values.servers) {
    std::string uris;
    for (const auto& uri : server.uris) uris += " " + uri;
    text += fmt::format("server {:<12} {:<8} {} of {}{}\n", id,
                        values.running.contains(id) ? "running" : "away", CountAt(counts, id),
                        CountOf(server.shards_max, "shard"), uris);
  }
  return text;
}

std::string ShardsText(const Values& values) {
  std::string text;
  for (const auto& [number, shard] : values.shards) {
    const auto health = static_cast<size_t>(HealthOf(values, number));
    text += fmt::format("shard {:<5} {:<8} epoch {:<6} primary {}, in sync {}", number,
                        kHealthNames[health], shard.epoch, shard.primary, NamesOf(shard.in_sync));
    if (!cluster::IsAsPlaced(values, number)) {
      text += fmt::format(", to be on {}", Joined(PlacedOn(values, number)));
    }
    text += "\n";
  }
  return text;
}

std::string TextOf(const Values& values, Part part) {
  if (part == Part::kServers) return ServersText(values);
  if (part == Part::kShards) return ShardsText(values);
  const cluster::Config& config = values.config;
  return fmt::format("cluster {}: {}, {}, lease {} ms, {}\n", cluster::IdText(config.cluster_id),
                     CountOf(config.shards, "shard"), CountOf(config.replicas, "replica"),
                     config.lease.count(), RepairText(config)) +
         ServersText(values) + ShardsText(values);
}

Outcome Create(const Options& options, program::Output* output) {
  using std::chrono::milliseconds;
  const ClusterOptions& wanted = options.cluster;
  const std::vector<std::string> servers(options.words.begin() + 2, options.words.end());
  const uint32_t replicas = wanted.replicas.value_or(servers.size() > 1 ? 2 : 1);
  const cluster::Config config{.shards = wanted.shards,
                               .replicas = replicas,
                               .min_replicas = wanted.min_replicas,
                               .lease = std::chrono::ceil<milliseconds>(wanted.lease),
                               .detect = std::chrono::ceil<milliseconds>(wanted.detect),
                               .drop = std::chrono::ceil<milliseconds>(wanted.drop),
                               .rate_error_ppm = 100'000,
                               .repair_after = std::chrono::ceil<milliseconds>(
                                   wanted.repair_after.value_or(std::chrono::minutes(10)))};
  const auto coordinator = OpenCluster(options, true);
  if (!coordinator) return AboutCluster(coordinator.error());
  const auto created = cluster::CreateCluster(coordinator->get(), config, servers);
  if (!created) return AboutCluster(created.error());
  const auto values = cluster::ReadValues(coordinator->get());
  if (!values) return AboutCluster(values.error());
  output->Write(options.json
                    ? program::LineOf(JsonOf(*values))
                    : fmt::format("created cluster {}: {}, {} of each, on {}\n",
                                  cluster::IdText(created->cluster_id),
                                  CountOf(created->shards, "shard"), CountOf(replicas, "replica"),
                                  CountOf(servers.size(), "server")));
  return {};
}

void Show(const Options& options, const Values& values, Part part, program::Output* output) {
  output->Write(options.json ? program::LineOf(JsonOf(values, part)) : TextOf(values, part));
}

// Again whenever something has changed, until somebody ends it.
Outcome Watch(const Options& options, program::Output* output) {
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  cluster::ValuesFollower follower(coordinator->get());
  std::optional<Values> shown;
  while (output->good()) {
    const auto values = follower.Look();
    if (!values && !shown) return AboutCluster(values.error());
    if (!values) {
      std::ignore = Complain("cluster watch", values.error());
      std::this_thread::sleep_for(kAgain);
      continue;
    }
    if (**values != shown) {
      if (shown && !options.json) output->Write("\n");
      Show(options, *(shown = **values), Part::kAll, output);
      if (auto finished = output->Finish(); !finished) return finished;
    }
    AwaitHint(coordinator->get());
  }
  return {};
}

Outcome ShowOnce(const Options& options, Part part, program::Output* output) {
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  const auto values = cluster::ReadValues(coordinator->get());
  if (!values) return AboutCluster(values.error());
  Show(options, *values, part, output);
  std::array<uint64_t, kHealthNames.size()> counts{};
  for (uint32_t number = 0; number < values->config.shards; ++number) {
    ++counts[static_cast<size_t>(HealthOf(*values, number))];
  }
  if (counts[0] == values->config.shards) return {};
  std::string text;
  for (size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], kHealthNames[i]);
  }
  // The exit status of what is not all there, 1.
  return Fail(Code::kNotFound,
              fmt::format("of {}, {}", CountOf(values->config.shards, "shard"), text));
}

template <Part part>
Outcome Status(const Options& options, program::Output* output) {
  return ShowOnce(options, part, output);
}

// What of the config may change later.
Outcome SetConfig(const Options& options, program::Output* output) {
  if (!options.cluster.repair_after) {
    return Fail(Code::kInvalidArgument, "set needs what is to be set: --repair-after");
  }
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  const auto value = (*coordinator)->Get("config");
  if (!value) return AboutCluster(value.error());
  auto config = cluster::DecodeConfig(value->data);
  if (!config) return AboutCluster(config.error());
  config->repair_after =
      std::chrono::ceil<std::chrono::milliseconds>(*options.cluster.repair_after);
  const auto set = (*coordinator)->Set("config", cluster::Encode(*config), value->revision);
  if (!set) return AboutCluster(set.error());
  output->Write(
      fmt::format("cluster {}: {}\n", cluster::IdText(config->cluster_id), RepairText(*config)));
  return {};
}

Outcome Force(const Options& options, program::Output* output) {
  const auto shard = ShardIn(options.words[2]);
  if (!shard) return std::unexpected(shard.error());
  if (options.cluster.to.empty() || !options.cluster.loses_data) {
    return Fail(Code::kInvalidArgument,
                "force needs --to ID, the server on which the shard begins with nothing, and "
                "--lose-data");
  }
  const auto coordinator = OpenCluster(options);
  if (!coordinator) return AboutCluster(coordinator.error());
  const auto values = cluster::ReadValues(coordinator->get());
  if (!values) return AboutCluster(values.error());
  const auto placement = values->placements.find(*shard);
  if (placement == values->placements.end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("there is no shard {}: the cluster has {}", *shard,
                            CountOf(values->config.shards, "shard")));
  }
  const auto& placed = placement->second.servers;
  if (std::ranges::find(placed, options.cluster.to) == placed.end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("shard {} is not placed on {}", *shard, options.cluster.to));
  }
  auto forced = cluster::ForceEmptyStart(coordinator->get(), values->config.cluster_id, *shard,
                                         options.cluster.to);
  if (!forced) return AboutCluster(forced.error());
  output->Write(fmt::format("shard {} begins with nothing on {}\n", *shard, options.cluster.to));
  return {};
}

constexpr auto kClusterCommands = std::to_array<ClusterCommand>({
    {"create", "URI ID...", 2, SIZE_MAX, Create},
    {"status", "URI", 1, 1, Status<Part::kAll>},
    {"servers", "URI", 1, 1, Status<Part::kServers>},
    {"shards", "URI", 1, 1, Status<Part::kShards>},
    {"watch", "URI", 1, 1, Watch},
    {"set", "URI", 1, 1, SetConfig},
    {"move", "URI SHARD", 2, 2, MoveShard},
    {"drain", "URI ID", 2, 2, DrainServer},
    {"repair", "URI", 1, 1, RepairCluster},
    {"balance", "URI", 1, 1, BalanceCluster},
    {"remove", "URI ID", 2, 2, RemoveServer},
    {"force", "URI SHARD", 2, 2, Force},
});

}  // namespace

Health HealthOf(const Values& values, uint32_t number) {
  const auto shard = values.shards.find(number);
  if (shard == values.shards.end()) return Health::kAway;
  const auto start = values.empty_starts.find(number);
  if (start != values.empty_starts.end() && !start->second.is_taken) return Health::kNew;
  const auto running = [&](const cluster::Member& member) {
    return values.running.contains(member.server);
  };
  const auto& in_sync = shard->second.in_sync;
  const auto count = static_cast<size_t>(std::ranges::count_if(in_sync, running));
  if (count == 0) return Health::kAway;
  const auto placement = values.placements.find(number);
  const size_t wanted = placement == values.placements.end() ? 1 : placement->second.servers.size();
  return count < wanted || count < in_sync.size() ? Health::kDegraded : Health::kWhole;
}

std::string RepairText(const cluster::Config& config) {
  if (config.repair_after.count() == 0) return "repaired by hand";
  return fmt::format("repaired after {} s",
                     std::chrono::duration<double>(config.repair_after).count());
}

// A file tells nothing of who runs, and nobody changes it but with an editor.
std::expected<std::unique_ptr<cluster::Coordinator>, Error> OpenCluster(
    const std::string& uri, const std::string& auth_file, std::chrono::microseconds timeout,
    bool creates_root) {
  if (!uri.starts_with("zk:")) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is not zk://HOST[:PORT],.../ROOT", uri));
  }
  return cluster::Open(uri, {.timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout),
                             .auth_file = auth_file,
                             .creates_root = creates_root});
}

std::expected<std::unique_ptr<cluster::Coordinator>, Error> OpenCluster(const Options& options,
                                                                        bool creates_root) {
  return OpenCluster(options.words[1], options.cluster.auth_file, options.timeout, creates_root);
}

// What is wrong with the command line is kInvalidArgument; the coordinator's errors are of the system.
std::unexpected<Error> AboutCluster(Error error) {
  if (error.code == Code::kNotFound || error.code == Code::kExists) error.code = Code::kSystem;
  return std::unexpected(std::move(error));
}

std::expected<uint32_t, Error> ShardIn(const std::string& word) {
  uint32_t shard = 0;
  const char* end = word.data() + word.size();
  const auto [rest, failure] = std::from_chars(word.data(), end, shard);
  if (failure == std::errc() && rest == end) return shard;
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a shard's number", word));
}

Outcome Cluster(const Options& options, program::Output* output) {
  const auto command = std::ranges::find(kClusterCommands, options.words[0], &ClusterCommand::name);
  if (command == kClusterCommands.end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("no command 'cluster {}' (try plov cluster --help)", options.words[0]));
  }
  const size_t words = options.words.size() - 1;
  if (words < command->words_min || words > command->words_max) {
    return Fail(Code::kInvalidArgument, fmt::format("usage: plov cluster {} {} (try plov cluster "
                                                    "--help)",
                                                    command->name, command->words));
  }
  return command->run(options, output);
}

}  // namespace plov::cli
