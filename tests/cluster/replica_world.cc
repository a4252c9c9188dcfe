#include "tests/cluster/replica_world.h"

#include <algorithm>

#include "tests/cluster/values.h"

namespace plov::test {

using cluster::Entry;
using cluster::Member;
using cluster::Position;
using cluster::Replica;
using cluster::Shard;

namespace {

const std::string kShardPath = "shards/" + std::to_string(kReplicatedShard);
constexpr int kClients = 6, kDepthMax = 3;
constexpr SimFaults kEnsembleFaults = {.old_read = 200,
                                       .lost_done = 60,
                                       .lost_never = 40,
                                       .lost_late = 100,
                                       .lost_hint = 0,
                                       .ended_session = 0};

std::string NameOf(uint64_t client) { return std::to_string(client); }

}  // namespace

ReplicaWorld::ReplicaWorld(const Options& options)
    : options_(options), random_(options.seed), ensemble_(options.seed) {
  std::vector<Member> members;
  for (int i = 0; i < options.servers; ++i) {
    servers_.push_back(
        std::make_unique<ReplicaServer>(this, std::string(1, static_cast<char>('a' + i))));
    ReplicaServer* server = servers_.back().get();
    server->Start();
    const bool joins = i >= 2 + static_cast<int>(options.seed % 2);
    if (!joins) members.push_back({server->name_, server->memory_->incarnation});
  }
  const auto held = servers_[0]->agent_->shards.Create(ShardOf("a", members));
  for (const Member& member : members) {
    ServerOf(member.server).left_ = Replica::Memory{cluster::Tail({}), *held};
    ServerOf(member.server).Start();
  }
  for (int i = 0; i < kClients; ++i) {
    ReplicaClient& client = clients_.emplace_back();
    client.is_strict = options.lease_us == 0 || i % 3 == 0;
    client.rate = DrawRate();
  }
  ensemble_.faults = kEnsembleFaults;
  ensemble_.between = [this] {
    if (depth_ < kDepthMax && Draw(3) == 0) Step();
  };
}

// From 1 to 1 + the error that the rules allow for.
double ReplicaWorld::DrawRate() {
  return 1 + static_cast<double>(Draw(kReplicaRateErrorPpm + 1)) / 1e6;
}

void ReplicaWorld::Wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = what;
}

void ReplicaWorld::Run(int steps) {
  for (int i = 0; i < steps && wrong_.empty(); ++i) Step();
  counts_.epochs = Newest().epoch;
}

bool ReplicaWorld::Recovers(int steps) {
  has_faults_ = false;
  ensemble_.faults = {};
  Heal();
  const uint64_t before = counts_.acknowledged;
  for (int i = 0; i < steps && wrong_.empty(); ++i) {
    Step();
    if (counts_.acknowledged > before && Newest().in_sync.size() == servers_.size()) return true;
  }
  return false;
}

void ReplicaWorld::Step() {
  ++depth_;
  now_us_ += Draw(300);
  const uint64_t kind = Draw(1000);
  ReplicaServer* server = servers_[Draw(servers_.size())].get();
  const bool can_run = server->is_up_ && !server->is_stopped_;
  if (kind < 400) {
    Deliver();
  } else if (kind < 600) {
    if (can_run) server->Tick();
  } else if (kind < 700) {
    if (can_run) server->Work();
  } else if (kind < 996 || !has_faults_) {
    const uint64_t id = Draw(clients_.size());
    StepOf(&clients_[id], id);
  } else {
    Fault();
  }
  --depth_;
}

void ReplicaWorld::Post(const std::string& from, const std::string& to,
                        std::function<void()> arrive) {
  messages_.push_back({from, to, std::move(arrive)});
}

void ReplicaWorld::Deliver() {
  if (messages_.empty()) return;
  // Rather the oldest.
  const size_t i =
      Draw(4) == 0 ? Draw(messages_.size()) : Draw(std::min<size_t>(4, messages_.size()));
  const Message message = messages_[i];
  const bool is_to_server = message.to[0] >= 'a';
  ReplicaServer* server = is_to_server ? &ServerOf(message.to) : nullptr;
  if (server != nullptr && server->is_up_ && server->is_stopped_ && messages_.size() < 1000) return;
  const bool is_twice = has_faults_ && Draw(30) == 0;
  if (!is_twice) messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(i));
  const bool is_lost = has_faults_ && Draw(40) == 0;
  if (is_lost || IsCut(message.from, message.to)) return;
  if (server == nullptr || (server->is_up_ && !server->is_stopped_)) message.arrive();
}

void ReplicaWorld::Heal() {
  cuts_.clear();
  for (const auto& server : servers_) {
    server->is_stopped_ = false;
    if (!server->is_up_) server->Start();
    server->agent_->coordinator.Cut(false);
  }
}

void ReplicaWorld::Fault() {
  ReplicaServer* one = servers_[Draw(servers_.size())].get();
  ReplicaServer* other = servers_[Draw(servers_.size())].get();
  switch (Draw(options_.has_logs ? 14 : 13)) {
    case 0:
    case 1:
      return Heal();
    case 2:
      if (one != other) cuts_.insert(std::minmax(one->name_, other->name_));
      return;
    case 3:
      cuts_.insert({NameOf(Draw(clients_.size())), one->name_});
      return;
    case 4:
      if (one->is_up_) one->agent_->coordinator.Cut(true);
      return;
    case 5:
    case 6:
      one->is_stopped_ = one->is_up_;
      return;
    case 7:
    case 8:
      for (const auto& server : servers_) {
        if (server->is_up_ && !server->is_stopped_) server->HandOverToSome();
      }
      return;
    case 9:
      if (one->is_up_) one->Leave();
      return;
    case 10:
      if (!one->is_up_) return one->Start();
      ++counts_.came_back;
      return one->Die(true);
    case 13:
      ++counts_.power_cuts;
      for (const auto& server : servers_) {
        if (server->is_up_) server->Die(true);
      }
      return Heal();
    case 11:  // also where the server is there
      if (one->is_up_ && one != other) one->replica_->Lost(other->name_, one->now_us());
      return;
    default:
      if (one->is_up_ && MayLose(*one)) {
        ++counts_.lost;
        one->Die(false);
      }
  }
}

// Whether another member of the newest configuration has its memory.
bool ReplicaWorld::MayLose(const ReplicaServer& server) {
  if (!options_.loses_memory || server.proposal_ || server.outcome_) return false;
  const auto newest = Newest();
  return std::ranges::any_of(newest.in_sync, [&](const Member& member) {
    const ReplicaServer& other = ServerOf(member.server);
    return &other != &server && other.memory_->incarnation == member.incarnation &&
           (other.is_up_ || other.left_);
  });
}

Shard ReplicaWorld::Newest() {
  return *cluster::DecodeShard(ensemble_.HistoryOf(kShardPath).back()->data);
}

Shard ReplicaWorld::SomeMap() {
  const auto& states = ensemble_.HistoryOf(kShardPath);
  const size_t back = Draw(3) == 0 ? Draw(std::min<size_t>(states.size() - 1, 8)) : 0;
  return *cluster::DecodeShard(states[states.size() - 1 - back]->data);
}

void ReplicaWorld::Published(const Entry& entry) {
  const uint64_t number = entry.at.number;
  if (number <= history_.size()) {
    if (history_[number - 1] != entry.at)
      Wrong("place " + std::to_string(number) + " has two entries");
    return;
  }
  if (number != history_.size() + 1)
    return Wrong("place " + std::to_string(number) + " was left out before");
  history_.push_back(entry.at);
  if (!writes_.emplace(WriteOf(entry), number).second)
    Wrong("write " + *entry.data + " was done twice");
}

void ReplicaWorld::Know(uint64_t number) {
  if (number <= known_) return;
  known_ = number;
  known_since_.push_back({now_us_, number});
}

void ReplicaWorld::Acknowledge(const std::string& server, uint64_t client, uint64_t write) {
  Post(server, NameOf(client), [this, client, write] {
    if (!writes_.contains(write)) return Wrong("write " + std::to_string(write) + " was not done");
    Know(writes_[write]);
    auto& waits_for = clients_[client].write;
    if (waits_for != write) return;
    waits_for.reset();
    ++counts_.acknowledged;
  });
}

void ReplicaWorld::Answer(const std::string& server, uint64_t client, uint64_t at_least,
                          uint64_t found) {
  Post(server, NameOf(client), [this, at_least, found] {
    if (found < at_least) Wrong("a GET by message found less than was known");
    Know(found);
    ++counts_.answered;
  });
}

// --- clients ---

void ReplicaWorld::StepOf(ReplicaClient* client, uint64_t id) {
  const uint64_t kind = Draw(20);
  if (kind == 0) return Write(client, id);
  if (kind == 1) return Ask(id);
  if (client->reads) return ReadOne(client, id);
  if (!client->map) return Connect(client, id);
  if (!client->has_looked) return Look(client, id);
  BeginGet(client);
}

void ReplicaWorld::Write(ReplicaClient* client, uint64_t id) {
  if (!client->write) client->write = ++last_write_;
  ReplicaServer* server = servers_[Draw(servers_.size())].get();
  Post(NameOf(id), server->name_,
       [server, id, write = *client->write] { server->TakeWrite(write, id); });
}

void ReplicaWorld::Ask(uint64_t id) {
  ReplicaServer* server = servers_[Draw(servers_.size())].get();
  Post(NameOf(id), server->name_,
       [server, id, known = known_] { server->TakeQuestion(id, known); });
}

void ReplicaWorld::Connect(ReplicaClient* client, uint64_t id) {
  const Shard map = SomeMap();
  client->connections.clear();
  client->has_looked = false;
  client->lease_end_us = 0;  // C2
  for (const Member& member : map.in_sync) {
    const auto& memory = ServerOf(member.server).memory_;
    if (memory->incarnation != member.incarnation || !memory->answers) return;
    if (IsCut(member.server, NameOf(id))) return;
    client->connections[member.server] = memory;
  }
  client->map = map;
}

void ReplicaWorld::Look(ReplicaClient* client, uint64_t id) {
  const auto& primary = client->connections[client->map->primary];
  client->has_looked = !IsCut(client->map->primary, NameOf(id)) && primary->answers &&
                       primary->oath == client->map->epoch;  // C1
  if (!client->has_looked) client->map.reset();
}

uint64_t ReplicaWorld::ClockOf(const ReplicaClient& client) const {
  return static_cast<uint64_t>(static_cast<double>(now_us_) * client.rate);
}

void ReplicaWorld::BeginGet(ReplicaClient* client) {
  client->reads = true;
  client->begun_us = ClockOf(*client);
  client->at_least = known_;
  client->found.reset();
  client->is_leased = !client->is_strict && client->begun_us < client->lease_end_us;  // C4
  client->oaths.clear();
  if (client->is_leased) return;
  for (const auto& [server, memory] : client->connections) client->oaths.push_back(server);  // C3
}

// One READ of the GET, in any order.
void ReplicaWorld::ReadOne(ReplicaClient* client, uint64_t id) {
  const size_t i = Draw(client->oaths.size() + (client->found ? 0 : 1));
  const bool is_oath = i < client->oaths.size();
  const std::string server = is_oath ? client->oaths[i] : client->map->primary;
  const auto& memory = client->connections[server];
  const bool is_right = !is_oath || memory->oath == client->map->epoch;
  if (IsCut(server, NameOf(id)) || !memory->answers || !is_right) {
    ++counts_.refused;
    client->reads = false;
    client->map.reset();
    return;
  }
  if (is_oath) {
    client->oaths.erase(client->oaths.begin() + static_cast<ptrdiff_t>(i));
  } else {
    client->found = memory->published;
  }
  if (client->found && client->oaths.empty()) EndGet(client);
}

void ReplicaWorld::EndGet(ReplicaClient* client) {
  client->reads = false;
  if (*client->found < client->at_least) {
    Wrong(std::string(client->is_leased ? "a leased" : "a strict") +
          " GET found less than was known");
  }
  Know(*client->found);
  ++counts_.gets;
  if (client->is_leased) ++counts_.leased;
  if (Newest().primary != client->map->primary) ++counts_.deposed_gets;
  const uint64_t lease_us =
      options_.lease_us - options_.lease_us * kReplicaRateErrorPpm / 1'000'000;
  if (!client->is_leased) client->lease_end_us = client->begun_us + lease_us;
}

}  // namespace plov::test
