// ReplicatedServer: a server of this process with one replica of a shard: its store and sessions, what the fabric and
// the coordinator need, and clients that write without a connection.
#pragma once

#include <cstdint>
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
#include "server/replicated_store.h"
#include "tests/cluster/one_at_a_time.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"
#include "tests/server/stream_listener.h"

namespace plov::server {

inline constexpr uint32_t kReplicatedShard = 7;

// All servers' time. It goes on with theirs, and stands still while they have no turns: whoever had none is not silent.
class TurnClock {
 public:
  uint64_t now_us() const { return now_us_; }
  void Tick() {
    const uint64_t real_us = MonotonicUs();
    now_us_ += std::min(real_us - real_us_, kTurnUsMax);
    real_us_ = real_us;
  }

 private:
  static constexpr uint64_t kTurnUsMax = 2000;
  uint64_t real_us_ = MonotonicUs();
  uint64_t now_us_ = 1'000'000'000;
};

class ReplicatedServer : public ReplicatedStore::Owner {
 public:
  using Items = std::map<std::string, std::pair<std::string, uint64_t>>;  // value and version

  ReplicatedServer(std::string name, const std::string& folder, const TurnClock* clock,
                   test::SimEnsemble* ensemble, std::mutex* mutex)
      : clock_(clock),
        name_(std::move(name)),
        uri_("shm:" + folder + "/" + name_),
        coordinator_(ensemble->Connect(), mutex),
        oaths_(*ClusterRegion::Create(test::kClusterId, 1)),
        agent_(
            *cluster::ConfigurationAgent::Create(&coordinator_, test::kClusterId, [this](uint32_t) {
              const std::lock_guard lock(wake_mutex_);
              if (replicated_) replicated_->Wake();
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

  // Its process begins. What it knew of sessions is lost in any case; without memory it has another incarnation.
  void Start(std::optional<cluster::Replica::Memory> memory) {
    if (!memory) {
      incarnation_ = fabric::RandomId();
      store_ = *Store::Create({.memory_bytes = memory_bytes, .hash_seed = 0x5eed});
    }
    const bool is_born = memory && memory->tail.end() == cluster::Position{};
    sessions_.emplace(memory && !is_born);
    listener_.emplace(uri_);
    const ShardReplica::Server server{&coordinator_, agent_.get(), oaths_.get(), &dialers_};
    const std::lock_guard lock(wake_mutex_);
    replicated_.emplace(store_.get(), &*sessions_, this, server,
                        ShardReplica::Options{.config = Config(),
                                              .shard = kReplicatedShard,
                                              .self = member(),
                                              .memory = std::move(memory)},
                        clock_->now_us());
    replicated_->AddPort(listener_->Expose(kReplicatedShard));
  }
  // And ends. What is left: its memory, if it was a member.
  std::optional<cluster::Replica::Memory> Kill() {
    std::optional<cluster::Replica::Memory> left;
    const std::lock_guard lock(wake_mutex_);
    if (replica().is_member()) left = {replica().tail(), *replica().held()};
    clients_.clear();
    source_.reset();
    pass_.reset();
    replicated_.reset();
    store_->EndLog();
    listener_.reset();
    oaths_->ClearOath(kReplicatedShard);
    return left;
  }

  void Step() {
    if (!replicated_ || is_stopped) return;
    (*listener_)->HandleEvents();
    replicated_->Step(clock_->now_us());
    store_->OnIdle();
    store_->growth().OnConfirmed(UINT64_MAX);  // nobody READs
    if (starts_anew_) {
      starts_anew_ = false;
      ++lives_begun_anew;
      Kill();
      Start(std::nullopt);
    }
    if (source_) StepCatchUp();
  }

  bool is_up() const { return replicated_.has_value(); }
  const cluster::Replica& replica() const { return replicated_->replica(); }
  bool serves() const { return is_up() && !is_stopped && replica().serves(); }
  bool takes_writes() const { return is_up() && !is_stopped && replicated_->takes_writes(); }
  void HandOverTo(uint64_t incarnation) { replicated_->HandOverTo(incarnation); }
  uint64_t entries_published() const { return replica().tail().published().number; }

  // Of a client: its reply, once that may be sent. nullopt: it is not, and the client sends it again, as `retry`.
  std::optional<WriteReply> Write(uint64_t client, verify::Request request) {
    if (!takes_writes()) return std::nullopt;
    auto [found, is_new] = clients_.try_emplace(client);
    Client& at = found->second;
    if (is_new) at.session = sessions_->Enter(client, client);
    if (!is_new && at.sequence == request.sequence) {
      return at.rests_on <= replicated_->log().durable() ? std::optional(at.reply) : std::nullopt;
    }
    WriteReply reply;
    switch (at.session->Find(request.sequence, request.retry, &reply)) {
      case Session::State::kNew:
        if (!store_->MayWrite(request)) return std::nullopt;
        if (!replicated_->HasRoom(verify::LoggedBytes(request.key.size(), request.value.size()))) {
          return std::nullopt;
        }
        reply = Apply(client, request);
        at.session->Remember(request.sequence, reply);
        break;
      case Session::State::kDone:
        break;
      case Session::State::kForgotten:
        reply = {Code::kUnknown, 0};
    }
    at.sequence = request.sequence;
    at.reply = reply;
    at.rests_on = replicated_->log().last_batch();
    return std::nullopt;
  }

  // What the table has.
  Items items() {
    Items items;
    cuckoo::TablePass pass(store_->table_to_read(), [&](const verify::Bucket& bucket) {
      const verify::MaskedItem item = store_->HitOf(bucket)->item;
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
           verify::Oath(test::kClusterId, kReplicatedShard, epoch, incarnation_);
  }

  bool is_stopped = false;
  int lives_begun_anew = 0;
  size_t memory_bytes = size_t{32} << 20;  // of the next life
  std::function<ReplicatedServer*(const std::string&)> server_of;

 private:
  struct Client {
    Session* session = nullptr;
    uint64_t sequence = 0;  // of the last write
    WriteReply reply;
    uint64_t rests_on = 0;
  };

  WriteReply Apply(uint64_t client, const verify::Request& request) {
    if (request.operation == verify::Operation::kDelete) {
      return store_->Delete(request, clock_->now_us(), client);
    }
    Store::Writing writing;
    writing.client_id = client;
    while (true) {
      if (const auto reply = store_->Write(request, clock_->now_us(), &writing)) return *reply;
    }
  }

  void CloseClients() override {
    for (const auto& [id, client] : clients_) sessions_->Leave(id);
    clients_.clear();
  }
  void StartAnew(const char*) override { starts_anew_ = true; }

  // As READs would have it: some items at a time, while the primary goes on writing.
  void CatchUp(const cluster::Member& primary) override {
    source_ = primary;
    server_of(primary.server)->pass_.reset();
  }
  void StepCatchUp() {
    ReplicatedServer* from = server_of(source_->server);
    if (!from->is_up() || from->is_stopped || from->member() != *source_) return;
    if (!from->pass_) {
      from->pass_.emplace(from->store_->table_to_read(),
                          [this, from](const verify::Bucket& bucket) {
                            const verify::MaskedItem item = from->store_->HitOf(bucket)->item;
                            std::string key(item.key_bytes(), 0), value(item.value_bytes(), 0);
                            replicated_->Take({.version = item.version(),
                                               .flags = item.flags(),
                                               .expiry = item.expiry(),
                                               .key = item.CopyKey(key.data()),
                                               .value = item.CopyValue(value.data())},
                                              clock_->now_us());
                          });
    }
    if (!is_read_) {
      is_read_ = from->pass_->Step(16) == cuckoo::TablePass::Progress::kOver;
      return;
    }
    if (from->store_->pending() > 0) return;
    is_read_ = false;
    from->pass_.reset();
    source_.reset();
    Sessions::Pass sessions(&*from->sessions_);
    while (sessions.Step()) continue;
    replicated_->TakeSessions(sessions.Take(), sessions.are_all());
    replicated_->EndCatchUp();
  }

  const TurnClock* clock_;
  std::string name_;
  std::string uri_;
  test::OneAtATime coordinator_;
  std::unique_ptr<ClusterRegion> oaths_;
  Dialers dialers_{[] {}};
  uint64_t incarnation_ = fabric::RandomId();
  bool starts_anew_ = false;
  std::optional<cluster::Member> source_;  // that it catches up from
  bool is_read_ = false;
  std::unique_ptr<Store> store_ =
      *Store::Create({.memory_bytes = memory_bytes, .hash_seed = 0x5eed});
  std::optional<Sessions> sessions_;
  std::map<uint64_t, Client> clients_;
  std::optional<StreamListener> listener_;
  std::optional<cuckoo::TablePass> pass_;  // of who joins
  std::mutex wake_mutex_;
  std::optional<ReplicatedStore> replicated_;
  std::unique_ptr<cluster::ConfigurationAgent> agent_;  // the last, so that it ends first
};

}  // namespace plov::server
