#include "torture/own_cluster.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "cluster/planner.h"

namespace plov::torture {

namespace {

using std::chrono::milliseconds;

constexpr char kRoot[] = "/plov";
constexpr std::string_view kRdma = "rdma://";
constexpr std::chrono::seconds kStartWithin{180};
constexpr std::chrono::seconds kCoordinatorWithin{10};  // longer than it is stopped for
constexpr milliseconds kLookEvery{20};
// Less than what a silent server is suspected after, and more; and less than a session, and more.
constexpr milliseconds kServerStopMin{50}, kServerStopMax{1500};
constexpr milliseconds kCoordinatorMin{100}, kCoordinatorMax{3000};
// Where READs are no loads: as plov cluster create has by default.
constexpr milliseconds kLease{250};
constexpr uint32_t kRateErrorPpm = 100'000;
constexpr uint64_t kShardBytesMin = uint64_t{16} << 20;

void Rest(program::Random* random, milliseconds least, milliseconds most) {
  const auto range = static_cast<uint64_t>((most - least).count());
  std::this_thread::sleep_for(least + milliseconds(random->Below(range + 1)));
}

}  // namespace

std::optional<std::string> OwnCluster::UriOf(const std::string& first, uint32_t server) {
  const size_t digits = first.rfind(':') + 1;
  const char* end = first.data() + first.size();
  uint32_t port = 0;
  if (!first.starts_with(kRdma) || digits <= kRdma.size()) return std::nullopt;
  const auto [rest, failure] = std::from_chars(first.data() + digits, end, port);
  if (failure != std::errc() || rest != end || port == 0) return std::nullopt;
  if (port > UINT16_MAX || port + server > UINT16_MAX) return std::nullopt;
  return first.substr(0, digits) + std::to_string(port + server);
}

std::expected<std::unique_ptr<OwnCluster>, Error> OwnCluster::Start(const Options& options) {
  if (const std::string missing = program::OwnEnsemble::Missing(); !missing.empty()) {
    return Fail(Code::kUnavailable, "--cluster needs a ZooKeeper to start: " + missing);
  }
  std::unique_ptr<OwnCluster> own(new OwnCluster(options));
  if (auto begun = own->Begin(); !begun) return std::unexpected(begun.error());
  return own;
}

std::expected<void, Error> OwnCluster::Begin() {
  const std::string folder = options_.folder + "/zk";
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  if (!failed && !options_.log.empty()) std::filesystem::create_directory(options_.log, failed);
  if (failed) return Fail(Code::kSystem, folder + ": " + failed.message());
  auto ensemble = program::OwnEnsemble::Start(folder);
  if (!ensemble) return std::unexpected(ensemble.error());
  ensemble_ = std::move(*ensemble);
  if (!ensemble_->AwaitReady()) {
    return Fail(Code::kUnavailable, "ZooKeeper did not start: see " + folder);
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < options_.servers; ++i) names.push_back(NameOf(i));
  if (auto cuttable = MakeCuttable(names); !cuttable) return cuttable;
  auto coordinator = cluster::Open(ensemble_->Uri() + kRoot,
                                   {.timeout = kCoordinatorWithin, .creates_root = true});
  if (!coordinator) return std::unexpected(coordinator.error());
  coordinator_ = std::move(*coordinator);
  const auto created =
      cluster::CreateCluster(coordinator_.get(),
                             {.shards = options_.shards,
                              .replicas = options_.servers > 3 ? 3u : 2u,
                              .min_replicas = 1,
                              .lease = options_.listen.empty() ? milliseconds(0) : kLease,
                              .detect = options_.detect,
                              .drop = options_.drop,
                              .rate_error_ppm = kRateErrorPpm},
                             names);
  if (!created) return std::unexpected(created.error());
  follower_.emplace(coordinator_.get());
  for (size_t i = 0; i < options_.servers; ++i) {
    const std::string own = options_.folder + "/" + NameOf(i);
    std::filesystem::create_directory(own, failed);
    if (failed) return Fail(Code::kSystem, own + ": " + failed.message());
    servers_.emplace_back(program::OwnServerOptions{
        .plovd = options_.plovd,
        .folder = own,
        .listen = options_.listen.empty()
                      ? ""
                      : UriOf(options_.listen, static_cast<uint32_t>(i)).value_or(""),
        .memory_bytes = MemoryOf(i),
        .max_value_bytes = options_.max_value_bytes,
        .shards = options_.shards,
        .spin_us = options_.spin_us,
        .log = options_.log.empty() ? "" : options_.log + "/" + NameOf(i),
        .member = program::OwnServerOptions::Member{
            proxy_->UriFor(static_cast<fabric::HostId>(i)) + kRoot, NameOf(i), CutsPath()}});
    if (auto started = servers_[i].Start(program::Life::kFirst); !started) return started;
  }
  if (!AwaitWhole(kStartWithin)) {
    return Fail(Code::kUnavailable, "the cluster does not become whole: " + servers_[0].Log());
  }
  promotions_ = 0;
  return {};
}

// Before there are threads.
std::expected<void, Error> OwnCluster::MakeCuttable(std::vector<std::string> hosts) {
  hosts.emplace_back("zookeeper");
  auto cuts = fabric::CutFile::Create(CutsPath(), hosts);
  if (!cuts) return std::unexpected(cuts.error());
  cuts_.emplace(std::move(*cuts));
  std::vector<uint16_t> ports;
  for (size_t i = 0; i < program::OwnEnsemble::kMembers; ++i) ports.push_back(ensemble_->PortOf(i));
  auto proxy = CutProxy::Start(cuts_->table(), ensemble_host(), ports);
  if (!proxy) return std::unexpected(proxy.error());
  proxy_.emplace(std::move(*proxy));
  return {};
}

uint64_t OwnCluster::MemoryOf(size_t server) const {
  if (!options_.is_uneven || server + 1 < options_.servers) return options_.memory_bytes;
  return std::max(options_.memory_bytes / 4 * 3, options_.shards * kShardBytesMin);
}

std::string OwnCluster::uri() const {
  std::string uri = "cluster:";
  for (size_t i = 0; i < servers_.size(); ++i) uri += (i == 0 ? "" : ",") + servers_[i].uri();
  return uri;
}

std::expected<void, Error> OwnCluster::KillServer(program::Random* random) {
  program::OwnServer& server = servers_[random->Below(servers_.size())];
  server.process().Kill();
  Rest(random, milliseconds(0), kServerStopMax);
  return server.Start(program::Life::kEmpty);
}

// They come back in any order.
std::expected<void, Error> OwnCluster::KillAll(program::Random* random) {
  for (program::OwnServer& server : servers_) server.process().Kill();
  Rest(random, milliseconds(0), kServerStopMax);
  const size_t first = random->Below(servers_.size());
  for (size_t i = 0; i < servers_.size(); ++i) {
    auto started = servers_[(first + i) % servers_.size()].Start(program::Life::kCold);
    if (!started) return started;
  }
  return {};
}

void OwnCluster::StopServer(program::Random* random) {
  program::OwnServer& server = servers_[random->Below(servers_.size())];
  server.process().Stop();
  Rest(random, kServerStopMin, kServerStopMax);
  server.process().Continue();
}

void OwnCluster::ForEachOther(size_t server,
                              const std::function<void(fabric::HostId)>& change) const {
  for (fabric::HostId host = 0; host <= ensemble_host(); ++host) {
    if (host != server) change(host);
  }
}

void OwnCluster::Isolate(size_t server) {
  const auto number = static_cast<fabric::HostId>(server);
  ForEachOther(server, [&](fabric::HostId host) { cuts_->table()->Cut(number, host); });
}

void OwnCluster::Rejoin(size_t server) {
  const auto number = static_cast<fabric::HostId>(server);
  ForEachOther(server, [&](fabric::HostId host) { cuts_->table()->Heal(number, host); });
}

void OwnCluster::CutServer(program::Random* random) {
  const auto server = static_cast<fabric::HostId>(random->Below(servers_.size()));
  // One time of two from all, the ensemble too; else from one of them.
  if (random->Below(2) == 0) {
    Isolate(server);
  } else {
    const auto others = ensemble_host();
    cuts_->table()->Cut(
        server, (server + 1 + static_cast<fabric::HostId>(random->Below(others))) % (others + 1));
  }
  Rest(random, kServerStopMin, kServerStopMax);
  Rejoin(server);
}

std::expected<void, Error> OwnCluster::HandOver(uint32_t shard) {
  const auto values = follower_->Look();
  if (!values) return std::unexpected(values.error());
  const auto& placed = (*values)->placements.at(shard).servers;
  const auto plan = cluster::PlanMove(**values, shard, "", placed.back());
  if (!plan) return std::unexpected(plan.error());
  return cluster::Apply(coordinator_.get(), **values, *plan);
}

// One that cannot be is none.
void OwnCluster::Move(program::Random* random) {
  const auto values = follower_->Look();
  if (!values) return;
  const auto shard = static_cast<uint32_t>(random->Below(options_.shards));
  const auto& placed = (*values)->placements.at(shard).servers;
  const std::string from = placed[random->Below(placed.size())];
  const std::string to = NameOf(random->Below(servers_.size()));
  const bool is_there = std::ranges::find(placed, to) != placed.end();
  const auto plan = cluster::PlanMove(**values, shard, is_there ? "" : from, to);
  if (plan) std::ignore = cluster::Apply(coordinator_.get(), **values, *plan);
}

std::expected<void, Error> OwnCluster::HarmCoordinator(program::Random* random) {
  const auto leader = ensemble_->Leader();
  const size_t member = leader.value_or(0);
  switch (random->Below(3)) {
    case 0:
      ensemble_->StopAll();
      Rest(random, kCoordinatorMin, kCoordinatorMax);
      ensemble_->ContinueAll();
      return {};
    case 1:
      ensemble_->Stop(member);
      Rest(random, kCoordinatorMin, kCoordinatorMax);
      ensemble_->Continue(member);
      return {};
    default:
      ensemble_->Kill(member);
      Rest(random, milliseconds(0), kCoordinatorMin);
      return ensemble_->Start(member);
  }
}

bool OwnCluster::AwaitWhole(std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!IsWhole()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
  return true;
}

bool OwnCluster::IsWhole() {
  const auto values = follower_->Look();
  if (!values) return false;
  bool is_whole = true;
  for (const auto& [number, shard] : (*values)->shards) {
    std::string& primary = primaries_[number];
    if (!primary.empty() && primary != shard.primary) ++promotions_;
    primary = shard.primary;
    const auto& placed = (*values)->placements.at(number).servers;
    is_whole = is_whole && (*values)->empty_starts.at(number).is_taken &&
               std::ranges::all_of(placed, [&](const std::string& server) {
                 return (*values)->running.contains(server) &&
                        std::ranges::find(shard.in_sync, server, &cluster::Member::server) !=
                            shard.in_sync.end();
               });
  }
  return is_whole;
}

std::optional<std::string> OwnCluster::Ended() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    program::Process& process = servers_[i].process();
    if (process.HasEnded()) return NameOf(i) + ": " + process.ending() + ": " + servers_[i].Log();
  }
  return std::nullopt;
}

std::optional<std::string> OwnCluster::Close(milliseconds limit) {
  std::optional<std::string> wrong;
  follower_.reset();
  coordinator_.reset();
  for (program::OwnServer& server : servers_) {
    if (server.has_process() && !server.process().HasEnded()) server.process().Terminate();
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i].has_process()) continue;
    program::Process& process = servers_[i].process();
    if (!process.Await(limit)) {
      wrong = NameOf(i) + " did not stop in time";
    } else if (process.ending() != "exit status 0") {
      wrong = NameOf(i) + " stopped with " + process.ending();
    }
    process.Kill();
  }
  return wrong;
}

}  // namespace plov::torture
