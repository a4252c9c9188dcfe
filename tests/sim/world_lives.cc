// World: the lives of its servers, and what else goes wrong.

#include <fmt/format.h>

#include <algorithm>

#include "cuckoo/hash.h"
#include "tests/sim/world.h"
#include "torture/value.h"

namespace plov::sim {

namespace {

constexpr uint32_t kFillerProcess = 1 << 20;
constexpr uint32_t kStoresToDeath = 80;
constexpr uint32_t kCallsToDeath = 20;
constexpr uint32_t kStepsToRebirth = 30;

// The checker's modes are the server's.
static_assert(static_cast<int>(log::CommitMode::kStrict) ==
              static_cast<int>(torture::Commit::kStrict));
static_assert(static_cast<int>(log::CommitMode::kAcked) ==
              static_cast<int>(torture::Commit::kAcked));
static_assert(static_cast<int>(log::CommitMode::kAsync) ==
              static_cast<int>(torture::Commit::kAsync));

}  // namespace

ServerLimits World::DrawLimits() {
  ServerLimits limits{.value_bytes_max = scenario_.value_bytes_max,
                      .staging_bytes = scenario_.staging_bytes,
                      .bucket_count = scenario_.bucket_count};
  limits.slices = server::Slices(
      {.requests = static_cast<uint32_t>(random_.Between(1, 4)), .work_bytes = 64 << 10});
  if (!scenario_.limits_differ) return limits;
  limits.value_bytes_max = random_.Between(torture::kValueBytesMin, scenario_.value_bytes_max);
  // Often less than a value needs.
  const auto pages = static_cast<uint32_t>(scenario_.staging_bytes / server::kPageBytes);
  limits.staging_bytes = random_.Below(random_.Between(1, pages + 1)) * server::kPageBytes;
  limits.bucket_count += random_.Below(8);
  return limits;
}

void World::BeginServer(uint32_t number) {
  ServerProcess* server = servers_[number].process.get();
  const ServerLimits limits = DrawLimits();
  if (const auto begun = server->Begin(limits); !begun) {
    return checker_.Accuse("the server does not start: " + begun.error().message);
  }
  if (stage_.names.empty()) NameKeys();
  const bool warm = BeginHistory(number);
  // What is to be there always is there before anybody can connect.
  if (!warm && (scenario_.servers > 1 || filler_values_ == 0)) Fill(server, limits.value_bytes_max);
  server->Listen();
}

// The life's history begins; whether it goes on with a former one's memory.
bool World::BeginHistory(uint32_t number) {
  ServerProcess* server = servers_[number].process.get();
  if (scenario_.log) {
    BeginRestored(number);
    return false;
  }
  const bool warm = server->store().recovery().warm;
  const auto& first = server->first_versions();
  const uint32_t life =
      checker_.Begin(number, first.front(), warm, server->clock(), ++stage_.instant);
  for (size_t i = 1; i < first.size() && !warm; ++i) checker_.AlsoBegins(life, first[i]);
  coverage_.recoveries += warm ? 1 : 0;
  return warm;
}

void World::BeginRestored(uint32_t number) {
  ServerProcess* server = servers_[number].process.get();
  const ServerLog& log = *server->log();
  if (log.kept_batch() < log.written_batch()) {
    checker_.Accuse(fmt::format("the log ends with batch {}, and {} was in its file",
                                log.kept_batch(), log.written_batch()));
  }
  stage_.instant += 2;
  const auto commit = static_cast<torture::Commit>(scenario_.log->mode);
  checker_.BeginRestored(commit, server->first_versions().front(), server->clock(),
                         {.now = stage_.instant, .cut = log.cut(), .state = Survey(server)});
  ++stage_.restarts;
  ++coverage_.restorations;
  stage_.forgets = stage_.forgets || log.had_snapshot();
}

// What is there, key by key.
std::vector<torture::Settled> World::Survey(ServerProcess* server) {
  std::vector<torture::Settled> found(stage_.names.size());
  for (uint64_t key = 0; key < found.size(); ++key) {
    const auto hit = server->Find(stage_.names[key]);
    if (!hit) continue;
    const auto writer = torture::ReadValue(hit->item.value(), key);
    if (!writer) {
      checker_.Accuse(fmt::format("a value of key {} that nobody wrote for it was restored: {}",
                                  key, writer.error()));
    }
    found[key] = {.version = hit->item.version(),
                  .value = writer.value_or(torture::kForeign),
                  .form = torture::Settled::Form::kPresent};
  }
  return found;
}

void World::NameKeys() {
  const uint64_t seed = servers_.front().process->store().superblock().hash_seed;
  for (uint32_t tries = 0; stage_.names.size() < scenario_.keys; ++tries) {
    std::string name = fmt::format("key{}", tries);
    const uint64_t home = cuckoo::HomeOf(cuckoo::HashKey(name, seed), scenario_.bucket_count);
    if (scenario_.homes == 0 || home < scenario_.homes) stage_.names.push_back(std::move(name));
  }
  for (uint32_t i = 0; i < scenario_.fillers; ++i) stage_.names.push_back(fmt::format("fill{}", i));
}

void World::Fill(ServerProcess* server, uint64_t value_bytes_max) {
  std::string value;
  for (uint32_t i = 0; i < scenario_.fillers; ++i) {
    torture::Operation put{.start = ++stage_.instant, .key = scenario_.keys + i};
    put.kind = torture::Kind::kPut;
    put.value = torture::MakeValueId(kFillerProcess, ++filler_values_);
    const bool is_small = scenario_.bucket_bytes != 0 && random_.OneIn(2);
    value.resize(is_small ? torture::kValueBytesMin : value_bytes_max);
    torture::WriteValue(put.value, put.key, value);
    put.version = server->Put(stage_.names[put.key], value);
    put.end = ++stage_.instant;
    if (put.version == 0) {
      stage_.first_steady_key = UINT64_MAX;
      break;
    }
    checker_.Feed(put, ~LifeSet{0});
  }
}

void World::RaiseMemory() {
  ServerProcess* server = servers_[network_.lead()].process.get();
  if (!server->lives()) return;
  server->RaiseMemory(random_.Between(1, 32) * size_t{server::kPageBytes});
  ++coverage_.raises;
}

// Only between the servers' turns; a death in the middle of one is OnStore's.
void World::Trouble() {
  if (to_break_ != 0 && --to_break_ == 0) {
    network_.Impersonate();
    network_.BreakAny();
  }
  if (to_leave_ != 0 && --to_leave_ == 0) random_.Pick(actors_)->Leave();
  if (to_switch_ != 0 && --to_switch_ == 0) Switch();
  if (to_raise_ != 0 && --to_raise_ == 0) RaiseMemory();
  if (to_kill_ != 0 && --to_kill_ == 0 && servers_[network_.lead()].process->lives()) DieSoon();
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].to_rebirth != 0 && --servers_[i].to_rebirth == 0) BeginServer(i);
  }
  for (auto& actor : actors_) {
    if (!actor->has_left()) continue;
    CountClient(*actor);
    actor = NewActor();
  }
}

// An address that moves may leave the connections to its former host alone for a while.
void World::Switch() {
  ++coverage_.switches;
  network_.Lead((network_.lead() + 1) % scenario_.servers);
  if (random_.OneIn(2)) network_.BreakStrays();
}

// The server that the name leads to dies soon: in one of its turns; with a log also when the disk is
// asked for something, or now.
void World::DieSoon() {
  const uint32_t number = network_.lead();
  const uint32_t kind = scenario_.log ? random_.Below(4) : 0;
  if (kind == 1) {
    servers_[number].process->log()->CutAfter(random_.Below(kCallsToDeath));
  } else if (kind == 2) {
    Die(number, random_.OneIn(4) ? Death::kStopped : DrawDeath());
  } else {
    stores_to_kill_ = random_.Between(1, kStoresToDeath);
  }
}

Death World::DrawDeath() {
  if (!scenario_.log || random_.Below(100) >= scenario_.log->power_percent) return Death::kKilled;
  return Death::kPowerCut;
}

void World::Die(uint32_t number, Death death) {
  ServerProcess* server = servers_[number].process.get();
  CountServer(*server);
  server->Kill(death);
  ++(death == Death::kPowerCut ? coverage_.power_cuts : coverage_.kills);
  ++stage_.instant;
  servers_[number].to_rebirth = random_.Between(1, kStepsToRebirth);
  // Somebody has set the date of the host; a life that goes on, warm or by a log, goes by the former
  // one.
  if (!scenario_.warm && !scenario_.log) {
    server->SetUnixTime(HostClock::Draw(&random_).unix_us);
  }
  if (random_.OneIn(2)) Switch();
}

// A thread of the log has a turn.
void World::LogStep() {
  const uint32_t number = network_.lead();
  ServerProcess* server = servers_[number].process.get();
  if (!server->lives() || PowerIsGone()) return;
  server->StepLog();
  if (PowerIsGone() && !in_server_) Die(number, Death::kPowerCut);
}

// And the process that is left does not live much longer.
bool World::PowerIsGone() const {
  const ServerProcess& server = *servers_[network_.lead()].process;
  return scenario_.log && server.lives() && server.log()->power_is_gone();
}

}  // namespace plov::sim
