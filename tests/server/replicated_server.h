// ReplicatedServer: a server of this process with one replica of a shard in warm memory, connected to the others over
// shared memory; its clients' messages are written by the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuckoo/table_pass.h"
#include "fabric/random.h"
#include "server/clock.h"
#include "server/shard.h"
#include "server/shard_replication.h"
#include "tests/cluster/one_at_a_time.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"
#include "tests/server/shard_world.h"
#include "tests/server/stream_listener.h"

namespace plov::server {

inline constexpr uint32_t kReplicatedShard = 7;

// All servers' time. It goes on with theirs, and stands still while they have no turns: whoever had none is not silent.
class TurnClock {
 public:
  static uint64_t now_us() { return now_us_; }
  static void Tick() {
    const uint64_t real_us = MonotonicUs();
    now_us_ += std::min(real_us - real_us_, kTurnUsMax);
    real_us_ = real_us;
  }

 private:
  static constexpr uint64_t kTurnUsMax = 2000;
  static inline uint64_t real_us_ = MonotonicUs();
  static inline uint64_t now_us_ = real_us_;  // items expire by the shards' own
};

class ReplicatedServer {
 public:
  using Items = std::map<std::string, std::pair<std::string, uint64_t>>;  // value and version

  ReplicatedServer(std::string name, const std::string& folder, test::SimEnsemble* ensemble,
                   std::mutex* mutex)
      : name_(std::move(name)),
        uri_("shm:" + folder + "/" + name_),
        memory_path_(folder + "/" + name_ + ".memory"),
        coordinator_(ensemble->Connect(), mutex),
        oaths_(*ClusterRegion::Create(test::kClusterId, 1)),
        agent_(
            *cluster::ConfigurationAgent::Create(&coordinator_, test::kClusterId, [this](uint32_t) {
              const std::lock_guard lock(wake_mutex_);
              if (replication_ != nullptr) replication_->replicated().Wake();
            })) {}

  const std::string& name() const { return name_; }
  const std::string& uri() const { return uri_; }
  Dialers* dialers() { return &dialers_; }
  cluster::Member member() const { return {name_, incarnation_}; }

  static cluster::Config Config() {
    cluster::Config config = test::WholeConfig();
    config.lease = std::chrono::milliseconds(20);
    config.detect = std::chrono::milliseconds(150);
    config.drop = std::chrono::milliseconds(60);
    return config;
  }

  // Its process begins. Without memory it has another incarnation.
  void Start(std::optional<cluster::Replica::Memory> memory) {
    const bool is_born = memory && memory->tail.end() == cluster::Position{};
    if (!memory) incarnation_ = fabric::RandomId();
    if (!memory || is_born) std::filesystem::remove(memory_path_);
    auto store = Store::Create(
        {.memory_bytes = memory_bytes, .hash_seed = 0x5eed, .warm_path = memory_path_});
    ASSERT_TRUE(store) << store.error().message;
    listener_.emplace(uri_);
    port_ = std::make_unique<FakePort>();
    const std::lock_guard lock(wake_mutex_);
    shard_.emplace(std::move(*store));
    shard_->AddPort(port_.get());
    auto replication = std::make_unique<ShardReplication>(
        shard_->store_to_restore(), shard_->sessions_to_restore(),
        ShardReplication::Options{.server = {&coordinator_, agent_.get(), oaths_.get(), &dialers_},
                                  .replica = {.config = Config(),
                                              .shard = kReplicatedShard,
                                              .self = member(),
                                              .memory = std::move(memory)},
                                  .sessions = {1, 2},
                                  .start_anew =
                                      [this](const char*, bool is_too_small) {
                                        starts_anew_ = true;
                                        lives_too_small += is_too_small ? 1 : 0;
                                      },
                                  .close_clients = [this] { shard_->CloseClients(); },
                                  .now_us = TurnClock::now_us});
    replication_ = replication.get();
    shard_->CommitBy(std::move(replication));
    replication_->replicated().AddPort(listener_->Expose(kReplicatedShard));
  }
  // And ends. What is left: its memory, if it was a member.
  std::optional<cluster::Replica::Memory> Kill() {
    std::optional<cluster::Replica::Memory> left;
    if (replica().is_member()) left = {replica().tail(), *replica().held()};
    incarnation_ = replica().self().incarnation;
    const std::lock_guard lock(wake_mutex_);
    clients_.clear();
    replication_ = nullptr;
    shard_.reset();
    listener_.reset();
    oaths_->ClearOath(kReplicatedShard);
    return left;
  }

  void Step() {
    if (!shard_ || is_stopped) return;
    (*listener_)->HandleEvents();
    shard_->Turn();
    TakeReplies();
    if (starts_anew_) {
      starts_anew_ = false;
      ++lives_begun_anew;
      Kill();
      Start(std::nullopt);
    }
  }

  // Of its clients.
  FakePort* port() { return port_.get(); }
  bool is_up() const { return shard_.has_value(); }
  const cluster::Replica& replica() const { return replication_->replicated().replica(); }
  bool serves() const { return is_up() && !is_stopped && replica().serves(); }
  bool takes_writes() const {
    return is_up() && !is_stopped && replication_->replicated().takes_writes();
  }
  void HandOverTo(uint64_t incarnation) { replication_->replicated().HandOverTo(incarnation); }
  uint64_t entries_published() const { return replica().tail().published().number; }

  // Of a client, whose requests have sequences: sends it unless that is done already; its reply, once there is one. A connection that was closed is
  // opened again.
  std::optional<Replied> Send(uint64_t client, const verify::Request& request) {
    if (!is_up()) return std::nullopt;
    auto [found, is_new] = clients_.try_emplace(client);
    Client& at = found->second;
    if (is_new) {
      at.peer = ++last_peer_;
      port_->Script(fabric::PortEvent::Kind::kOpened, at.peer, client);
    }
    if (at.sequence != request.sequence) {
      at.sequence = request.sequence;
      at.reply.reset();
      port_->Script(fabric::PortEvent::Kind::kMessage, at.peer, client, Encode(client, {request}));
    }
    return at.reply;
  }

  // To the last one; nullopt: there is none, or the connection was closed.
  std::optional<Replied> Reply(uint64_t client) const {
    const auto found = clients_.find(client);
    return found == clients_.end() ? std::nullopt : found->second.reply;
  }

  // What the table has.
  Items items() {
    Items items;
    cuckoo::TablePass pass(store()->table_to_read(), [&](const verify::Bucket& bucket) {
      const verify::MaskedItem item = store()->HitOf(bucket)->item;
      std::string key(item.key_bytes(), 0), value(item.value_bytes(), 0);
      items[std::string(item.CopyKey(key.data()))] = {std::string(item.CopyValue(value.data())),
                                                      item.version()};
    });
    while (pass.Step(1000) == cuckoo::TablePass::Progress::kMore) continue;
    return items;
  }

  // As a client READs it.
  bool ShowsOath(uint64_t epoch) const {
    const uint64_t* oath =
        verify::WordsAt(oaths_->region().data(), verify::OathOffset(kReplicatedShard));
    return verify::LoadWord(oath) ==
           verify::Oath(test::kClusterId, kReplicatedShard, epoch, replica().self().incarnation);
  }

  bool is_stopped = false;
  int lives_begun_anew = 0, lives_too_small = 0;
  size_t memory_bytes = size_t{32} << 20;  // of the next life

 private:
  struct Client {
    fabric::PeerId peer = 0;
    uint64_t sequence = 0;  // of the last one
    std::optional<Replied> reply;
  };

  Store* store() { return shard_->store_to_restore(); }

  void TakeReplies() {
    for (const auto& [peer, message] : std::exchange(port_->sent, {})) {
      for (auto& [id, client] : clients_) {
        if (client.peer == peer) client.reply = Decode(id, message).front();
      }
    }
    for (const fabric::PeerId peer : std::exchange(port_->closed, {})) {
      std::erase_if(clients_, [&](const auto& client) { return client.second.peer == peer; });
    }
  }

  std::string name_;
  std::string uri_;
  std::string memory_path_;
  test::OneAtATime coordinator_;
  std::unique_ptr<ClusterRegion> oaths_;
  Dialers dialers_{[] {}};
  uint64_t incarnation_ = fabric::RandomId();
  bool starts_anew_ = false;
  std::map<uint64_t, Client> clients_;  // that are connected
  fabric::PeerId last_peer_ = 0;
  std::optional<StreamListener> listener_;
  std::unique_ptr<FakePort> port_;
  std::mutex wake_mutex_;
  std::optional<Shard> shard_;
  ShardReplication* replication_ = nullptr;
  std::unique_ptr<cluster::ConfigurationAgent> agent_;  // the last, so that it ends first
};

}  // namespace plov::server
