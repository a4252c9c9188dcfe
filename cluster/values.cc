#include "cluster/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "cluster/configuration_register.h"
#include "cluster/empty_start.h"
#include "fabric/random.h"

namespace plov::cluster {

namespace {

using Checked = std::expected<void, Error>;

constexpr int kCreateTries = 4;  // of what is not known to have been done
// From a server to the next one with the same shards there are so many distances, and as many in the other direction: more would
// share a repair in a shorter time, and more groups of servers must not be lost together.
constexpr uint32_t kDistances = 3;

std::unexpected<Error> Wrong(const std::string& path, const std::string& what) {
  return Fail(Code::kProtocol, path + ": " + what);
}

// As it is written by who numbers shards: without zeros before it.
std::optional<uint32_t> ShardNumberIn(const std::string& name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data(), end, number);
  const bool is_number = failure == std::errc() && rest == end && std::to_string(number) == name;
  return is_number ? std::optional(number) : std::nullopt;
}

template <typename T>
using Decoder = std::expected<T, Error> (*)(std::string_view);

template <typename T>
std::expected<T, Error> ReadValue(Coordinator* coordinator, const std::string& path,
                                  Decoder<T> decode) {
  const auto value = coordinator->Get(path);
  if (!value) return std::unexpected(value.error());
  auto decoded = decode(value->data);
  if (!decoded) return Wrong(path, decoded.error().message);
  return decoded;
}

// A value of this cluster.
template <typename T>
std::expected<T, Error> ReadOurs(Coordinator* coordinator, const std::string& path,
                                 uint64_t cluster_id, Decoder<T> decode) {
  auto value = ReadValue(coordinator, path, decode);
  if (!value) return value;
  if (auto ours = CheckCluster(value->cluster_id, cluster_id); !ours) {
    return Wrong(path, ours.error().message);
  }
  return value;
}

// Of one name below `folder`; one that is not there is none.
template <typename Key, typename T>
Checked ReadOne(Coordinator* coordinator, const std::string& folder, const std::string& name,
                const Key& key, uint64_t cluster_id, Decoder<T> decode, std::map<Key, T>* to) {
  auto value = ReadOurs(coordinator, folder + "/" + name, cluster_id, decode);
  if (!value && value.error().code != Code::kNotFound) return std::unexpected(value.error());
  if (value) {
    to->insert_or_assign(key, std::move(*value));
  } else {
    to->erase(key);
  }
  return {};
}

Checked ReadConfig(Coordinator* coordinator, uint64_t cluster_id, Config* to) {
  auto config = ReadOurs(coordinator, "config", cluster_id, DecodeConfig);
  if (!config) return std::unexpected(config.error());
  *to = *config;
  return {};
}

Checked ReadServers(Coordinator* coordinator, uint64_t cluster_id,
                    std::map<std::string, Server>* to) {
  const auto names = coordinator->List("servers");
  if (!names) return std::unexpected(names.error());
  std::map<std::string, Server> servers;
  for (const std::string& name : *names) {
    auto read = ReadOne(coordinator, "servers", name, name, cluster_id, DecodeServer, &servers);
    if (!read) return read;
  }
  *to = std::move(servers);
  return {};
}

Checked ReadRunning(Coordinator* coordinator, std::set<std::string>* to) {
  const auto running = coordinator->List("running");
  if (!running) return std::unexpected(running.error());
  *to = {running->begin(), running->end()};
  return {};
}

template <typename T>
Checked ReadNumbered(Coordinator* coordinator, const std::string& folder, uint64_t cluster_id,
                     Decoder<T> decode, std::map<uint32_t, T>* to) {
  const auto names = coordinator->List(folder);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    const auto number = ShardNumberIn(name);
    if (!number) return Wrong(folder + "/" + name, "is not a shard's number");
    auto read = ReadOne(coordinator, folder, name, *number, cluster_id, decode, to);
    if (!read) return read;
  }
  return {};
}

Checked CreateNode(Coordinator* coordinator, const std::string& path, const std::string& data) {
  bool is_unknown = false;
  for (int i = 0; i < kCreateTries; ++i) {
    const auto created = coordinator->Create(path, data, Lifetime::kPersistent);
    if (created) return {};
    if (created.error().code == Code::kExists && is_unknown) {
      const auto value = coordinator->Get(path);
      if (value && value->data == data) return {};
    }
    if (created.error().code != Code::kUnknown) return std::unexpected(created.error());
    is_unknown = true;
  }
  return Fail(Code::kUnknown, path + ": it is not known whether it was created");
}

Checked CheckServers(const Config& config, const std::vector<std::string>& servers) {
  std::set<std::string> known;
  for (const std::string& server : servers) {
    if (!IsName(server)) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is no ID: 1 to 64 letters, digits, . _ -", server));
    }
    if (!known.insert(server).second) {
      return Fail(Code::kInvalidArgument, "server " + server + " is named twice");
    }
  }
  if (config.replicas > 1 && config.shards == 1) {
    return Fail(
        Code::kInvalidArgument,
        "replicas need 2 shards at least: a server of one shard could be taken for one of no "
        "cluster, and be believed when it is none any more");
  }
  if (servers.size() >= config.replicas) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{} replicas need as many servers, there are {}",
                                                  config.replicas, servers.size()));
}

Checked CreateShard(Coordinator* coordinator, const Config& config, uint32_t number,
                    const std::vector<std::string>& servers) {
  const Placement placement{config.cluster_id, FirstPlacement(number, config, servers)};
  const Member first{placement.servers.front(), fabric::RandomId()};
  const std::string name = std::to_string(number);
  auto placed = CreateNode(coordinator, "placement/" + name, Encode(placement));
  if (!placed) return placed;
  ConfigurationRegister shard(coordinator, number, config.cluster_id);
  const auto created = shard.Create({.slot_first = FirstSlotOf(number, config.shards),
                                     .slot_last = FirstSlotOf(number + 1, config.shards) - 1,
                                     .primary = first.server,
                                     .in_sync = {first},
                                     .joining = {}});
  if (!created) return std::unexpected(created.error());
  return CreateNode(coordinator, EmptyStartPath(number),
                    Encode(EmptyStart{config.cluster_id, first}));
}

}  // namespace

std::expected<Values, Error> ReadValues(Coordinator* coordinator) {
  auto config = ReadValue(coordinator, "config", DecodeConfig);
  if (!config) return std::unexpected(config.error());
  Values values;
  values.config = *config;
  const uint64_t cluster_id = config->cluster_id;
  auto read = ReadServers(coordinator, cluster_id, &values.servers);
  if (read) {
    read = ReadNumbered(coordinator, "placement", cluster_id, DecodePlacement, &values.placements);
  }
  if (read) read = ReadNumbered(coordinator, "shards", cluster_id, DecodeShard, &values.shards);
  if (read) {
    read = ReadNumbered(coordinator, "empty", cluster_id, DecodeEmptyStart, &values.empty_starts);
  }
  if (read) read = ReadRunning(coordinator, &values.running);
  if (!read) return std::unexpected(read.error());
  return values;
}

std::expected<const Values*, Error> ValuesFollower::Look() {
  for (std::string& path : coordinator_->TakeHints()) due_.insert(std::move(path));
  if (!values_) {
    if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  }
  while (!due_.empty()) {
    if (auto read = Read(*due_.begin()); !read) return std::unexpected(read.error());
    due_.erase(due_.begin());
  }
  return &*values_;
}

// The number of shards never changes.
Checked ValuesFollower::Begin() {
  const auto config = ReadValue(coordinator_, "config", DecodeConfig);
  if (!config) return std::unexpected(config.error());
  for (const char* path : {"config", "servers", "running"}) coordinator_->Watch(path);
  for (uint32_t number = 0; number < config->shards; ++number) {
    for (const char* folder : {"placement", "shards", "empty"}) {
      coordinator_->Watch(fmt::format("{}/{}", folder, number));
    }
  }
  auto values = ReadValues(coordinator_);
  if (!values) return std::unexpected(values.error());
  values_ = std::move(*values);
  return {};
}

Checked ValuesFollower::Read(const std::string& path) {
  const uint64_t cluster_id = values_->config.cluster_id;
  if (path == "config") return ReadConfig(coordinator_, cluster_id, &values_->config);
  if (path == "servers") return ReadServers(coordinator_, cluster_id, &values_->servers);
  if (path == "running") return ReadRunning(coordinator_, &values_->running);
  const size_t slash = path.find('/');
  const std::string folder = path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  const uint32_t number = *ShardNumberIn(name);
  const auto read = [&](auto decode, auto* to) {
    return ReadOne(coordinator_, folder, name, number, cluster_id, decode, to);
  };
  if (folder == "placement") return read(DecodePlacement, &values_->placements);
  if (folder == "shards") return read(DecodeShard, &values_->shards);
  return read(DecodeEmptyStart, &values_->empty_starts);
}

std::vector<std::string> FirstPlacement(uint32_t shard, const Config& config,
                                        const std::vector<std::string>& servers) {
  const uint64_t count = servers.size();
  const uint64_t first = shard * count / config.shards;
  const uint64_t first_shard = (first * config.shards + count - 1) / count;  // of that server
  const uint64_t most = config.replicas > 1 ? (count - 1) / (config.replicas - 1) : 1;
  const uint64_t distance = 1 + (shard - first_shard) % std::min<uint64_t>(kDistances, most);
  std::vector<std::string> placement;
  for (uint32_t i = 0; i < config.replicas; ++i) {
    placement.push_back(servers[(first + i * distance) % count]);
  }
  return placement;
}

std::expected<Config, Error> CreateCluster(Coordinator* coordinator, Config config,
                                           const std::vector<std::string>& servers) {
  config.cluster_id = fabric::RandomId();
  config.hash_seed = fabric::RandomId();
  config.session_key = fabric::RandomId();
  if (auto decoded = DecodeConfig(Encode(config)); !decoded) {
    return Fail(Code::kInvalidArgument, decoded.error().message);
  }
  if (auto checked = CheckServers(config, servers); !checked) {
    return std::unexpected(checked.error());
  }
  const auto names = coordinator->List("");
  if (!names) return std::unexpected(names.error());
  for (const std::string name : {"config", "placement", "shards", "empty"}) {
    if (std::ranges::find(*names, name) == names->end()) continue;
    return Fail(Code::kExists, name == "config" ? "there is a cluster already"
                                                : "there is what is left of a cluster (" + name +
                                                      "): delete it, or choose another root");
  }
  for (uint32_t number = 0; number < config.shards; ++number) {
    auto created = CreateShard(coordinator, config, number, servers);
    if (!created) return std::unexpected(created.error());
  }
  // The last: without it there is no cluster.
  if (auto created = CreateNode(coordinator, "config", Encode(config)); !created) {
    return std::unexpected(created.error());
  }
  return config;
}

}  // namespace plov::cluster
