#include "tests/cluster/replica_server.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "cluster/kept_history.h"
#include "tests/cluster/replica_world.h"
#include "tests/cluster/values.h"

namespace plov::test {

using cluster::Entry;
using cluster::Held;
using cluster::Member;
using cluster::Outcome;
using cluster::Position;
using cluster::Replica;
using cluster::Shard;
using cluster::Verdict;

namespace {

const cluster::StreamId kStreamOfReplicas{kClusterId, 0};

cluster::ReplicaSettings SettingsWith(uint64_t lease_us, bool has_log) {
  return {.lease_us = lease_us,
          .detect_us = 30'000,
          .drop_us = 12'000,
          .beat_us = 2'000,
          .rate_error_ppm = kReplicaRateErrorPpm,
          .min_replicas = 1,
          .replicas = 4,
          .past_bytes = 20 * sizeof(Entry),
          .past_bytes_max = 200 * sizeof(Entry),
          .piece_bytes = 7 * sizeof(Entry),
          .has_log = has_log,
          .return_us = has_log ? 60'000u : 0};
}

}  // namespace

uint64_t WriteOf(const Entry& entry) { return std::stoull(*entry.data); }

void ReplicaMemory::Add(const Entry& entry) {
  entries.emplace(entry.at.number, entry);
  while (entries.contains(published + 1)) ++published;
}

ReplicaServer::Agent::Agent(SimEnsemble* ensemble)
    : coordinator(ensemble), shards(&coordinator, kReplicatedShard, kClusterId) {}

ReplicaServer::ReplicaServer(ReplicaWorld* world, std::string name)
    : world_(world), name_(std::move(name)), rate_(world->DrawRate()) {}

uint64_t ReplicaServer::ClockAt(uint64_t world_us) const {
  return static_cast<uint64_t>(static_cast<double>(world_us) * rate_);
}

uint64_t ReplicaServer::now_us() const { return ClockAt(world_->now_us_); }

void ReplicaServer::ShowSafeTime(uint64_t us) {
  ++world_->counts_.safe_times;
  const auto is_before = [&](const ReplicaWorld::Known& one) { return ClockAt(one.at_us) < us; };
  const auto& known = world_->known_since_;
  const auto last = std::ranges::partition_point(known, is_before);
  if (last != known.begin() && memory_->published < std::prev(last)->number) {
    world_->Wrong(name_ + " lacks what was known before its safe time");
  }
}

void ReplicaServer::Start() {
  ++life_;
  is_up_ = true;
  is_stopped_ = false;
  starts_anew_ = false;
  wants_configuration_ = true;
  // Nobody's connection is to this one.
  memory_ = left_ ? std::make_shared<ReplicaMemory>(*memory_) : std::make_shared<ReplicaMemory>();
  memory_->answers = true;
  known_.clear();
  for (const auto& [number, entry] : memory_->entries) known_.insert(WriteOf(entry));
  if (!left_) {
    memory_->incarnation = ++world_->last_incarnation_;
    log_.clear();
    base_ = {};
  }
  durable_ = of_former_lives_ = log_.size();
  const auto& options = world_->options_;
  replica_ = std::make_unique<Replica>(Member{name_, memory_->incarnation},
                                       SettingsWith(options.lease_us, options.has_logs),
                                       std::exchange(left_, std::nullopt), this, now_us());
  agent_ = std::make_shared<Agent>(&world_->ensemble_);
}

void ReplicaServer::Leave() {
  leaves_ = true;
  leaves_for_good_ = world_->Draw(2) == 0;
  replica_->Leave(leaves_for_good_);
}

void ReplicaServer::Die(bool keeps_memory) {
  is_up_ = false;
  leaves_ = false;
  memory_->answers = false;
  if (keeps_memory && world_->options_.has_logs) {
    RestoreFromLog();
  } else if (keeps_memory && !starts_anew_ && replica_->is_member()) {
    left_ = Replica::Memory{replica_->tail(), *replica_->held()};
  }
  replica_.reset();
  agent_.reset();
  proposal_.reset();
  outcome_.reset();
  catches_up_.reset();
  waiting_.clear();
  questions_.clear();
}

void ReplicaServer::RestoreFromLog() {
  log_.resize(durable_ + world_->Draw(log_.size() - durable_ + 1));
  memory_ = std::make_shared<ReplicaMemory>(base_);
  cluster::KeptHistory history(name_, [this](const Entry& entry) {
    memory_->Add(entry);
    return true;
  });
  for (const auto& kept : log_) {
    if (!history.Take(kept)) return world_->Wrong("a log makes no sense");
  }
  memory_->incarnation = history.incarnation();
  left_ = history.memory();
}

void ReplicaServer::Sync() {
  durable_ += world_->Draw(log_.size() - durable_ + 1);
  replica_->HasKept(durable_ - of_former_lives_, now_us());
}

void ReplicaServer::Send(const std::string& server, const cluster::StreamMessage& message) {
  ReplicaServer* to = &world_->ServerOf(server);
  world_->Post(name_, server,
               [to, bytes = cluster::Encode(kStreamOfReplicas, message), life = to->life_] {
                 if (life == to->life_) to->Take(bytes);
               });
  if (std::holds_alternative<cluster::HandOver>(message)) ++world_->counts_.handed_over;
}

void ReplicaServer::Take(std::vector<std::byte> message) {
  const bool is_damaged = world_->has_faults_ && world_->Draw(100) == 0;
  if (is_damaged) message[world_->Draw(message.size())] ^= std::byte{0x10};
  const auto decoded = cluster::Decode(kStreamOfReplicas, message);
  if (decoded.has_value() == is_damaged) return world_->Wrong("a message is not what was sent");
  if (decoded) replica_->Receive(*decoded, now_us());
}

void ReplicaServer::CloseReaders() {
  const auto former = memory_;
  memory_ = std::make_shared<ReplicaMemory>(*former);
  former->answers = false;
}

void ReplicaServer::HandOverToSome() {
  if (!replica_->serves()) return;
  const auto& members = replica_->held()->shard.in_sync;
  replica_->HandOverTo(members[world_->Draw(members.size())].incarnation);
}

bool ReplicaServer::CanPropose() const {
  return agent_->coordinator.state().kind == cluster::State::Kind::kConnected;
}

void ReplicaServer::Propose(const Held& base, const Shard& next) { proposal_ = {base, next}; }

bool ReplicaServer::Publish(const Entry& entry) {
  if (world_->has_faults_ && world_->Draw(100) == 0 && world_->MayLose(*this)) {
    ++world_->counts_.full;
    return false;
  }
  memory_->Add(entry);
  known_.insert(WriteOf(entry));
  world_->Published(entry);
  const auto waiting = waiting_.find(WriteOf(entry));
  if (waiting == waiting_.end()) return true;
  world_->Acknowledge(name_, waiting->second, waiting->first);
  waiting_.erase(waiting);
  return true;
}

void ReplicaServer::CatchUp(const Member& primary, const Position& since) {
  catches_up_ = {primary, since};
}

void ReplicaServer::Deposed() {
  waiting_.clear();
  questions_.clear();
}

uint64_t ReplicaServer::ComeBack(const char*, const std::vector<Entry>& dropped) {
  for (const Entry& entry : dropped) {
    world_->counts_.forgotten += known_.erase(WriteOf(entry));
  }
  ++world_->counts_.returned;
  return memory_->incarnation = ++world_->last_incarnation_;
}

void ReplicaServer::StartAnew(const char* why) {
  const auto& in_sync = world_->Newest().in_sync;
  const bool is_member =
      std::ranges::find(in_sync, Member{name_, memory_->incarnation}) != in_sync.end();
  const std::string_view reason(why);
  if (reason.ends_with("not the primary's") || (is_member && reason.ends_with("what it lacks"))) {
    world_->Wrong(name_ + ": " + why);
  }
  if (reason.ends_with("what it lacks")) ++world_->counts_.lacked;
  starts_anew_ = true;
}

void ReplicaServer::Tick() {
  if (starts_anew_) {
    const auto memory = memory_;
    Die(false);
    memory->answers = true;  // for connections that there are, as long as its process lives
    Start();
  }
  CatchUpNow();
  if (world_->options_.has_logs) Sync();
  replica_->Tick(now_us());
  // Where its memory is needed by nobody it may end without it.
  if (leaves_ && replica_->has_left() && !replica_->is_member()) {
    ++world_->counts_.have_left;
    Die(!leaves_for_good_);
    return world_->has_faults_ ? void() : Start();
  }
  // Some time after it was found, and again when the primary's epoch has changed since.
  for (Question& question : questions_) {
    const bool has_ended = question.asked && question.asked->epoch != replica_->epoch();
    if (has_ended && replica_->serves()) question.asked.reset();
    if (question.asked || world_->Draw(2) == 0) continue;
    question.asked = replica_->Ask();
    replica_->Press(*question.asked, now_us());
  }
  std::erase_if(questions_, [&](const Question& question) {
    if (!question.asked || !replica_->MayAnswer(*question.asked, now_us())) return false;
    world_->Answer(name_, question.client, question.at_least, question.found);
    return true;
  });
}

void ReplicaServer::CatchUpNow() {
  if (!catches_up_ || world_->IsCut(name_, catches_up_->first.server)) return;
  const auto& [primary, since] = *catches_up_;
  const auto& source = world_->ServerOf(primary.server).memory_;
  if (!source->answers || source->incarnation != primary.incarnation) return;
  if (source->published < since.number) return;  // it has come back, and not published all again
  for (const auto& [number, entry] : source->entries) {
    if (number > since.number) continue;
    memory_->Add(entry);
    base_.Add(entry);
    known_.insert(WriteOf(entry));
  }
  catches_up_.reset();
  replica_->CaughtUp();
}

void ReplicaServer::Work() {
  const std::shared_ptr<Agent> agent = agent_;
  if (agent->is_busy) return;
  if (outcome_) return replica_->Heard(*std::exchange(outcome_, std::nullopt), now_us());
  agent->is_busy = true;
  if (proposal_) {
    const auto [base, next] = *proposal_;
    const Outcome outcome =
        agent->shards.is_open() ? agent->shards.Settle() : agent->shards.Propose(base, next);
    if (agent == agent_ && outcome.verdict != Verdict::kOpen) {
      proposal_.reset();
      outcome_ = outcome;
    }
  } else if (std::exchange(wants_configuration_, false)) {
    const auto held = agent->shards.Read();
    if (agent == agent_ && !is_stopped_ && held) replica_->Learn(*held, now_us());
  }
  agent->is_busy = false;
}

void ReplicaServer::TakeWrite(uint64_t write, uint64_t client) {
  if (!replica_->takes_writes()) return;
  const bool is_known = !known_.insert(write).second;
  const auto staged = replica_->tail().Unpublished();
  if (is_known && std::ranges::find(staged, write, WriteOf) == staged.end()) {
    return world_->Acknowledge(name_, client, write);
  }
  waiting_[write] = client;
  if (!is_known) replica_->Write(std::to_string(write), now_us());
}

void ReplicaServer::TakeQuestion(uint64_t client, uint64_t at_least) {
  if (!replica_->serves()) return;
  questions_.push_back({client, at_least, memory_->published});
}

}  // namespace plov::test
