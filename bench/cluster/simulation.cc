#include "bench/cluster/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "bench/cluster/fail_over_simulation.h"
#include "bench/page/rows.h"
#include "client/oath_link.h"
#include "cluster/planner.h"
#include "cluster/values.h"
#include "verify/cluster_map.h"

namespace plov::bench {

namespace {

using cluster::Values;

constexpr uint32_t kCopies = 2, kRacks = 25;
constexpr double kMemoryBytes = 256e9;  // of items, in a server
constexpr double kLinkBytes = 12.5e9;   // a second, of which a repair takes half
constexpr double kGetsPerClient = 1e4;  // a second
// What a simulation may differ from its formula: neither is exact.
constexpr double kNear = 1.25;

std::string ServerId(uint32_t server) { return fmt::format("s{:04}", server); }

// Servers that follow each other are in different racks.
Values ValuesOf(const SimulationSettings& settings) {
  Values values;
  values.config = {.cluster_id = 1,
                   .hash_seed = 1,
                   .shards = settings.servers * settings.shards,
                   .replicas = kCopies,
                   .min_replicas = 1,
                   .lease = std::chrono::milliseconds(250),
                   .detect = std::chrono::milliseconds(300),
                   .drop = std::chrono::milliseconds(80),
                   .rate_error_ppm = 100'000,
                   .session_key = 1};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < settings.servers; ++i) {
    names.push_back(ServerId(i));
    values.servers[ServerId(i)] = {
        .cluster_id = 1,
        .life = 1,
        .uris = {fmt::format("rdma://10.0.{}.{}:7777", i / 256, i % 256)},
        .zone = fmt::format("r{}", i % kRacks),
        .memory_bytes = static_cast<uint64_t>(kMemoryBytes),
        .shards_max = 3 * settings.shards};
    values.running.insert(ServerId(i));
  }
  for (uint32_t number = 0; number < values.config.shards; ++number) {
    const auto placed = cluster::FirstPlacement(number, values.config, names);
    values.placements[number] = {.cluster_id = 1, .servers = placed};
    cluster::Shard shard{.cluster_id = 1,
                         .epoch = 1,
                         .slot_first = cluster::FirstSlotOf(number, values.config.shards),
                         .slot_last = cluster::FirstSlotOf(number + 1, values.config.shards) - 1,
                         .primary = placed.front(),
                         .in_sync = {},
                         .joining = {},
                         .proposal = 1};
    for (const std::string& server : placed) shard.in_sync.push_back({server, number + 1});
    values.shards[number] = std::move(shard);
  }
  return values;
}

verify::ClusterMap MapOf(const Values& values) {
  verify::ClusterMap map;
  std::map<std::string, uint16_t> places;
  for (const auto& [id, server] : values.servers) {
    places[id] = static_cast<uint16_t>(map.servers.size());
    map.servers.push_back({id, server.uris});
  }
  for (const auto& [number, shard] : values.shards) {
    map.shards.push_back({.epoch = shard.epoch,
                          .slot_first = static_cast<uint16_t>(shard.slot_first),
                          .slot_last = static_cast<uint16_t>(shard.slot_last),
                          .number = static_cast<uint16_t>(number)});
    for (const cluster::Member& member : shard.in_sync) {
      map.shards.back().in_sync.push_back({member.incarnation, places[member.server]});
    }
  }
  return map;
}

class Simulator {
 public:
  explicit Simulator(const SimulationSettings& settings)
      : settings_(settings), values_(ValuesOf(settings)) {}

  std::expected<std::vector<GoalRow>, Error> Run() {
    DistributeMaps();
    ReadOaths();
    std::set<std::string> rack;
    for (const auto& [id, server] : values_.servers) {
      if (server.zone == "r0") rack.insert(id);
    }
    if (auto failed = FailOver(rack); !failed) return std::unexpected(failed.error());
    Repair({ServerId(0)}, "repair_server", "a lost server's 256 GB are copied again");
    Repair(rack, "repair_rack", "a lost rack's are");
    return std::move(rows_);
  }

 private:
  // paper: by the formula, which is text.
  void Add(std::string_view name, std::string_view what, std::string_view unit, int digits,
           const std::string& formula, double paper, double simulated) {
    GoalRow row({.name = name,
                 .what = what,
                 .peer = "on paper",
                 .bound = Bound::kAtMost,
                 .target = paper * kNear,
                 .unit = unit,
                 .digits = digits});
    row.peer_value = fmt::format("{:.{}f} = {}", paper, digits, formula);
    row.measured.Add(simulated);
    rows_.push_back(std::move(row));
  }

  // Each client asks one of its seeds, which are all servers or the same few of them.
  void DistributeMaps() {
    const auto bytes = static_cast<double>(verify::EncodeMap(MapOf(values_), 1, 1).size());
    const double shards = values_.config.shards, servers = settings_.servers;
    Add("map_bytes", "a map of the cluster, KB", "", 0, "48 B a shard + 48 B a server",
        (shards * 48 + servers * 48) / 1000, bytes / 1000);
    std::map<uint32_t, uint32_t> asked;
    for (uint32_t i = 0; i < settings_.clients; ++i) ++asked[Draw(settings_.servers)];
    uint32_t most = 0;
    for (const auto& [server, count] : asked) most = std::max(most, count);
    const double each = settings_.clients / servers;
    Add("map_server", "maps that the server most asked gives when all clients start", "", 0,
        "C/S + 4 sqrt(C/S)", each + 4 * std::sqrt(each), most);
  }

  // A client's GETs over all shards: one whose oaths were seen more than half a lease ago has both servers' READ anew, and
  // each READ has all oaths of its server.
  void ReadOaths() {
    constexpr double kSeconds = 10;
    const double lease = std::chrono::duration<double>(values_.config.lease).count();
    std::map<std::string, double> seen;
    uint64_t reads = 0;
    std::exponential_distribution<double> pause(kGetsPerClient);
    for (double now = 0; now < kSeconds; now += pause(random_)) {
      for (const std::string& server : values_.placements.at(Draw(values_.config.shards)).servers) {
        const auto last = seen.find(server);
        if (last != seen.end() && now - last->second < lease / 2) continue;
        seen[server] = now;
        ++reads;
      }
    }
    // What is between two shards is READ, too, while it is short.
    std::map<std::string, uint32_t> last, words;
    for (const auto& [number, placement] : values_.placements) {
      for (const std::string& server : placement.servers) {
        const auto before = last.emplace(server, number);
        const uint32_t gap = before.second ? 1 : number - before.first->second;
        words[server] += gap < kOathsNear ? gap : 1;
        before.first->second = number;
      }
    }
    std::vector<uint32_t> bytes;
    for (const auto& [server, count] : words) bytes.push_back(8 * count);
    std::ranges::sort(bytes);
    const double servers = settings_.servers;
    const double between = servers / (kGetsPerClient * kCopies);  // GETs that rest on a server
    const double each = servers / (lease / 2 + between);
    Add("oaths_client", "READs of oaths of a client with 10,000 GETs a second, a second", "", 0,
        "S / (lease/2 + S/(R GETs))", each, static_cast<double>(reads) / kSeconds);
    Add("oaths_server", "READs of oaths that a server's adapter answers, a second", "", 0,
        "C x that / S", each * settings_.clients / servers,
        static_cast<double>(reads) / kSeconds * settings_.clients / servers);
    Add("oath_bytes", "bytes of one", "", 0, "8 B x 4 servers' shards", 8.0 * 4 * settings_.shards,
        bytes[bytes.size() / 2]);
    rows_.back().own_value = fmt::format("p50; the longest {}", bytes.back());
  }

  std::expected<void, Error> FailOver(const std::set<std::string>& rack) {
    const SimulatedTimes times;
    FailOverSimulation world(values_, times);
    if (!world.Begin()) return Fail(Code::kSystem, "the simulated cluster does not begin");
    const auto& config = values_.config;
    const double beat =
        std::chrono::duration<double>(std::min(config.detect, config.drop)).count() / 3;
    const double pairs = double{kCopies - 1} * settings_.shards * 2;
    Add("beats", "messages that a server sends others while nothing is written, a second", "", 0,
        "2 p (R-1) 3/drop", pairs / beat, world.BeatsPerSecond(1) / settings_.servers);
    const auto result = world.Silence(rack);
    if (result.lost > 0) return Fail(Code::kSystem, "a rack has all replicas of a shard");
    const double proposals =
        static_cast<double>(result.primary_ms.size() + result.backup_ms.size());
    const double queue = proposals * static_cast<double>(times.write_us) / 1e3;
    Add("proposals", "writes to the coordinator when a rack falls silent", "", 0, "2 p a server",
        double{kCopies} * settings_.shards * static_cast<double>(rack.size()),
        static_cast<double>(result.proposals));
    const double lease = static_cast<double>(config.lease.count()) * 1.1;
    const double detect = static_cast<double>(config.detect.count());
    const double drop = static_cast<double>(config.drop.count());
    AddTimes("takeover", "ms until a shard whose primary falls silent is written again",
             "detect + max(lease x 1.1, CAS)", detect + std::max(lease, queue / 2),
             result.primary_ms);
    AddTimes("dropped", "ms until a shard whose other replica does is", "drop + CAS",
             drop + queue / 2, result.backup_ms);
    return {};
  }
  void AddTimes(std::string_view name, std::string_view what, const std::string& formula,
                double paper, const std::vector<double>& sorted) {
    if (sorted.empty()) return;
    Add(name, what, "", 0, formula, paper, sorted.back());
    rows_.back().own_value = fmt::format("the last; p50 {:.0f}", sorted[sorted.size() / 2]);
  }

  // What the planner moves is copied by the primaries, from those that are left to where it is placed; each link is
  // shared evenly by what goes over it.
  void Repair(const std::set<std::string>& lost, std::string_view name, std::string_view what) {
    Values values = values_;
    for (const std::string& server : lost) values.running.erase(server);
    struct Copy {
      std::string from, to;
      double bytes_left;
    };
    std::vector<Copy> copies;
    const double bytes = kMemoryBytes / (settings_.shards * kCopies);
    for (const auto& [number, servers] : cluster::PlanRepair(values).plan) {
      Copy copy{.from = "", .to = "", .bytes_left = bytes};
      for (const std::string& server : values.placements.at(number).servers) {
        if (!lost.contains(server)) copy.from = server;
      }
      for (const std::string& server : servers) {
        if (server != copy.from) copy.to = server;
      }
      copies.push_back(std::move(copy));
    }
    double seconds = 0;
    while (!copies.empty()) {
      std::map<std::string, double> from, to;
      for (const Copy& copy : copies) {
        ++from[copy.from];
        ++to[copy.to];
      }
      const auto rate = [&](const Copy& copy) {
        return kLinkBytes / 2 / std::max(from.at(copy.from), to.at(copy.to));
      };
      double next = HUGE_VAL;
      for (const Copy& copy : copies) next = std::min(next, copy.bytes_left / rate(copy));
      for (Copy& copy : copies) copy.bytes_left -= next * rate(copy);
      seconds += next;
      std::erase_if(copies, [](const Copy& copy) { return copy.bytes_left < 1; });
    }
    Add(name, what, " s", 1, "M / (w link/2), w = 6", kMemoryBytes / (6 * kLinkBytes / 2), seconds);
  }

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  const SimulationSettings& settings_;
  const Values values_;
  std::mt19937_64 random_{1};
  std::vector<GoalRow> rows_;
};

}  // namespace

std::expected<Simulation, Error> Simulate(const SimulationSettings& settings) {
  if (settings.servers < 2 * kRacks) {
    return Fail(Code::kInvalidArgument, fmt::format("--servers {}: {} at least, two in a rack",
                                                    settings.servers, 2 * kRacks));
  }
  if (settings.servers * settings.shards > cluster::kSlots) {
    return Fail(Code::kInvalidArgument, fmt::format("--servers {}: {} at most", settings.servers,
                                                    cluster::kSlots / settings.shards));
  }
  auto figures = Simulator(settings).Run();
  if (!figures) return std::unexpected(figures.error());
  return Simulation{settings, std::move(*figures)};
}

Page PageOf(const Simulation& simulation) {
  const SimulationSettings& settings = simulation.settings;
  return {.title = "plov-bench cluster --simulate",
          .headline = {},
          .facts = FactsOfRun(),
          .parts = {Paragraph{fmt::format(
                        "{} servers in {} racks, each the primary of {} shards, 2 replicas, {} "
                        "clients; placement, fail-over and repair as plov's code decides, with a "
                        "simulated clock, network and coordinator",
                        settings.servers, kRacks, settings.shards, settings.clients)},
                    TableOf(simulation.figures)}};
}

program::Json JsonOf(const Simulation& simulation) {
  return {{"servers", simulation.settings.servers},
          {"clients", simulation.settings.clients},
          {"figures", simulation.figures}};
}

}  // namespace plov::bench
