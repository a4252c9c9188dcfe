// What doctor --cluster says of a cluster: what its coordinator holds, and whether its servers are reached from here.

#include <fmt/core.h>
#include <plov/client.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "client/cli/cluster.h"
#include "client/cli/probes.h"
#include "client/cli/read_head.h"
#include "cluster/fields.h"
#include "cluster/planner.h"
#include "fabric/fabric.h"
#include "program/format.h"
#include "verify/cluster_map.h"
#include "verify/counters.h"
#include "verify/superblock.h"

namespace plov::cli {

namespace {

using cluster::Joined;
using cluster::Values;
using program::CountOf;
using Milliseconds = std::chrono::duration<double, std::milli>;

// Between two looks at a server's clock: some ms of network make an error of some 1 %, a tenth of what a cluster allows.
constexpr std::chrono::milliseconds kClockTime{300};
// By how much servers may differ in what they have for a shard.
constexpr double kMemoryRatioMax = 1.1;

void ProbeSettings(const Values& values, Findings* findings) {
  const cluster::Config& config = values.config;
  findings->Ok("cluster",
               fmt::format("{}: {}, {} of each, writes need {}, lease {} ms, {}",
                           cluster::IdText(config.cluster_id), CountOf(config.shards, "shard"),
                           CountOf(config.replicas, "replica"), config.min_replicas,
                           config.lease.count(), RepairText(config)));
  if (config.replicas > 1) return;
  findings->Note("cluster replicas", "one of each shard: a lost server's items are lost", "");
}

void ProbeShards(const Values& values, const std::string& uri, Findings* findings) {
  std::map<Health, std::vector<std::string>> shards;
  std::vector<std::string> moving;
  for (uint32_t number = 0; number < values.config.shards; ++number) {
    shards[HealthOf(values, number)].push_back(std::to_string(number));
    if (!cluster::IsAsPlaced(values, number)) moving.push_back(std::to_string(number));
  }
  if (shards[Health::kWhole].size() == values.config.shards) {
    findings->Ok("cluster shards", "all have their replicas");
  }
  if (const auto& all = shards[Health::kDegraded]; !all.empty()) {
    findings->Problem(
        "cluster shards", fmt::format("fewer replicas than there should be: {}", Joined(all)),
        fmt::format("plov cluster repair {}  # if their servers are not started again", uri));
  }
  if (const auto& all = shards[Health::kNew]; !all.empty()) {
    findings->Problem("cluster shards",
                      fmt::format("wait for the server that begins them: {}", Joined(all)),
                      fmt::format("plov cluster status {}  # start those that are away", uri));
  }
  if (const auto& all = shards[Health::kAway]; !all.empty()) {
    findings->Problem("cluster shards", fmt::format("no replica runs: {}", Joined(all)),
                      fmt::format("plov cluster status {}  # start those that are in sync", uri));
  }
  if (moving.empty()) return;
  findings->Note("cluster shards", fmt::format("are on their way: {}", Joined(moving)),
                 fmt::format("plov cluster watch {}", uri));
}

// Shards that have two replicas in a zone though there are several zones.
void ProbeZones(const Values& values, const std::string& uri, Findings* findings) {
  std::set<std::string> zones;
  for (const auto& [id, server] : values.servers) {
    if (!server.zone.empty()) zones.insert(server.zone);
  }
  if (zones.size() < 2) return;
  std::vector<std::string> shards;
  for (const auto& [number, placement] : values.placements) {
    std::set<std::string> used;
    for (const std::string& id : placement.servers) {
      const auto server = values.servers.find(id);
      if (server != values.servers.end()) used.insert(server->second.zone);
    }
    if (used.size() < std::min(placement.servers.size(), zones.size())) {
      shards.push_back(std::to_string(number));
    }
  }
  if (shards.empty()) return findings->Ok("cluster zones", "each shard is in several");
  findings->Note("cluster zones",
                 fmt::format("shards with two replicas in one zone: {}", Joined(shards)),
                 fmt::format("plov cluster balance {}", uri));
}

// Who has less for a shard than others is full first, and is then no replica any more.
void ProbeParts(const Values& values, Findings* findings) {
  std::vector<std::pair<uint64_t, std::string>> parts;
  for (const auto& [id, server] : values.servers) {
    if (!values.running.contains(id) || server.shards_max == 0) continue;
    parts.emplace_back(server.memory_bytes / server.shards_max, id);
  }
  if (parts.empty()) return;
  const auto [least, most] = std::ranges::minmax(parts);
  if (static_cast<double>(most.first) <= static_cast<double>(least.first) * kMemoryRatioMax) return;
  findings->Note("cluster memory",
                 fmt::format("{} has {} for a shard and {} has {}: the smaller one is full first",
                             least.second, program::Bytes(least.first), most.second,
                             program::Bytes(most.first)),
                 "plovd --memory SIZE --max-shards N  # the same ratio on all servers");
}

// Whether the others have room for what a server has, should it be lost.
void ProbeRoom(const Values& values, Findings* findings) {
  for (const std::string& lost : values.running) {
    Values without = values;
    without.running.erase(lost);
    const auto repair = cluster::PlanRepair(without);
    if (!repair.trouble) continue;
    return findings->Note("cluster room",
                          fmt::format("should {} be lost, its replicas find no place: {}", lost,
                                      repair.trouble->message),
                          "plovd --max-shards N  # more of them, or more servers");
  }
  if (!values.running.empty()) {
    findings->Ok("cluster room", "the replicas of any one server have a place on the others");
  }
}

// Of the server at the URI, the cluster that it says it is of.
std::expected<uint64_t, Error> ClusterAt(const std::string& uri,
                                         std::chrono::microseconds timeout) {
  verify::ClusterHead head{};
  const fabric::Deadline deadline = fabric::Clock::now() + timeout;
  auto connection = fabric::Connection::Connect(uri, {.shard = fabric::kShardMax,
                                                      .format_version = verify::kFormatVersion,
                                                      .reads_only = true,
                                                      .deadline = deadline});
  if (!connection) return std::unexpected(connection.error());
  const auto read =
      ReadHead(connection->get(), std::as_writable_bytes(std::span(&head, 1)), deadline);
  if (!read) return std::unexpected(read.error());
  if (auto checked = verify::CheckClusterHead(head); !checked) {
    return std::unexpected(checked.error());
  }
  return head.cluster_id;
}

void ProbeReach(const Values& values, const std::string& id, const cluster::Server& server,
                std::chrono::microseconds timeout, Findings* findings) {
  const std::string subject = "cluster server " + id;
  Error error{Code::kUnavailable, "it has told no URI"};
  for (const std::string& uri : server.uris) {
    const auto begun = std::chrono::steady_clock::now();
    const auto cluster = ClusterAt(uri, timeout);
    if (cluster == values.config.cluster_id) {
      const Milliseconds time = std::chrono::steady_clock::now() - begun;
      return findings->Ok(subject, fmt::format("connected at {}, and READ what it shows of the "
                                               "cluster, in {:.1f} ms",
                                               uri, time.count()));
    }
    error =
        cluster ? Error{Code::kProtocol, "another cluster's server is at " + uri} : cluster.error();
  }
  findings->Problem(
      subject, "runs, and is not reached from here: " + error.message,
      fmt::format("plov --server {} doctor", server.uris.empty() ? "URI" : server.uris.front()));
}

void ProbeServers(const Values& values, const std::string& uri, std::chrono::microseconds timeout,
                  Findings* findings) {
  for (const auto& [id, server] : values.servers) {
    if (values.running.contains(id)) {
      ProbeReach(values, id, server, timeout, findings);
      continue;
    }
    findings->Problem(
        "cluster server " + id, "does not run, as far as the coordinator knows",
        fmt::format("plovd --cluster {} --id {} --listen URI &  # on its host", uri, id));
  }
}

// Of each server that has a primary, its clock. Nothing: somebody does not answer.
std::map<std::string, std::chrono::microseconds> ClocksOf(Client* client) {
  std::map<std::string, std::chrono::microseconds> clocks;
  const auto texts = client->ServerStats();
  if (!texts) return clocks;
  for (const std::string& text : *texts) {
    const program::Json shard = ShardStats(text);
    if (!shard.contains("clock_us")) continue;
    clocks[std::string(verify::TextValue(text, "cluster.server"))] =
        std::chrono::microseconds(shard["clock_us"].get<uint64_t>());
  }
  return clocks;
}

// Leases rest on clocks that run as fast as each other.
void ProbeClocks(const Values& values, std::chrono::microseconds timeout, Findings* findings) {
  std::string uris;
  for (const std::string& id : values.running) {
    const auto server = values.servers.find(id);
    if (server == values.servers.end()) continue;
    for (const std::string& uri : server->second.uris) uris += (uris.empty() ? "" : ",") + uri;
  }
  ClientOptions options;
  options.timeout = timeout;
  auto client = Client::Connect("cluster:" + uris, options);
  if (!client) return;  // which is said of the servers or the shards
  const auto begun = std::chrono::steady_clock::now();
  const auto first = ClocksOf(&*client);
  std::this_thread::sleep_for(kClockTime);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
  double worst = 0;
  for (const auto& [server, clock] : ClocksOf(&*client)) {
    const auto before = first.find(server);
    if (before == first.end()) continue;
    const std::chrono::duration<double> ran = clock - before->second;
    const double differs = ran / waited - 1;
    worst = std::max(worst, std::abs(differs));
    if (std::abs(differs) * 1e6 <= values.config.rate_error_ppm) continue;
    findings->Problem("cluster clocks",
                      fmt::format("that of {} ran {:+.0f} % against this host's: leases need the "
                                  "same rate",
                                  server, 100 * differs),
                      "chronyc tracking  # on both hosts");
    return;
  }
  if (!first.empty()) {
    findings->Ok("cluster clocks", fmt::format("run as this host's, within {:.1f} %", 100 * worst));
  }
}

std::string MendOf(Code code, const std::string& uri) {
  switch (code) {
    case Code::kPermission:
      return fmt::format("plov doctor --cluster {} --auth FILE", uri);
    case Code::kNotFound:
      return fmt::format("plov cluster create {} ID...", uri);
    default:
      return "systemctl status zookeeper  # on the hosts of the URI";
  }
}

}  // namespace

void ProbeValues(const Values& values, const std::string& uri, Findings* findings) {
  ProbeSettings(values, findings);
  ProbeShards(values, uri, findings);
  ProbeZones(values, uri, findings);
  ProbeParts(values, findings);
  ProbeRoom(values, findings);
}

void ProbeCluster(const std::string& uri, const std::string& auth_file,
                  std::chrono::microseconds timeout, Findings* findings) {
  constexpr auto kSubject = "cluster coordinator";
  const std::string quoted = program::Quoted(uri);
  const auto coordinator = OpenCluster(uri, auth_file, timeout);
  const auto begun = std::chrono::steady_clock::now();
  const auto values =
      coordinator ? cluster::ReadValues(coordinator->get()) : std::unexpected(coordinator.error());
  if (!values) {
    const Error& error = values.error();
    return findings->Problem(kSubject, error.message, MendOf(error.code, quoted));
  }
  const Milliseconds time = std::chrono::steady_clock::now() - begun;
  findings->Ok(kSubject, fmt::format("tells all values in {:.0f} ms", time.count()));
  ProbeValues(*values, quoted, findings);
  ProbeServers(*values, quoted, timeout, findings);
  ProbeClocks(*values, timeout, findings);
}

}  // namespace plov::cli
