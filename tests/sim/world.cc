#include "tests/sim/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cuckoo/hash.h"
#include "torture/value.h"

namespace plov::sim {

namespace {

constexpr uint32_t kFillerProcess = 1 << 20;
// A schedule that is longer is stuck. Two scans beside a writer that never rests take a million.
constexpr uint32_t kStepsMax = 4'000'000;
constexpr uint32_t kStepsToTrouble = 60;
constexpr uint32_t kStoresToDeath = 80;
constexpr uint32_t kStepsToRebirth = 30;
// Enough for a GET to lose its timeouts with a bucket, though not with the server.
constexpr uint32_t kStandSteps = 3000;
constexpr uint64_t kLeapUs = 11'000'000;
constexpr uint64_t kCloseUs = 3000;

// A file for each run would do; one for all that run after another saves their folders.
std::string WarmPath(uint32_t server) {
  return fmt::format("/dev/shm/plov-sim-{}-{}", ::getpid(), server);
}

}  // namespace

World::World(uint64_t seed, const Scenario& scenario)
    : scenario_(scenario),
      host_(~seed),
      random_(seed),
      stage_{.host = &host_, .random = &random_, .scenario = &scenario_, .checker = &checker_},
      network_(&host_, &random_, scenario.network) {
  stage_.in_trouble = IsTroubled(scenario_);
  for (uint32_t i = 0; i < scenario_.servers; ++i) {
    if (scenario_.warm) ::unlink(WarmPath(i).c_str());
    servers_.push_back({std::make_unique<ServerProcess>(
        scenario_, &network_, i, HostClock::Draw(&random_), scenario_.warm ? WarmPath(i) : "")});
  }
  if (scenario_.servers > 1) stage_.first_steady_key = scenario_.keys;
  for (uint32_t i = 0; i < scenario_.servers; ++i) BeginServer(i);
  verify::store_observer = [this](verify::Store store, const uint64_t*) {
    if (in_server_ && !in_others_) OnStore(store != verify::Store::kWord);
  };
  verify::copy_observer = [this] {
    if (Fiber::Current() != nullptr && random_.OneIn(4)) Fiber::Rest();
  };
  network_.connect_observer = [this](uint32_t server) {
    if (stage_.running != nullptr) stage_.running->OnConnected(checker_.LastLifeOf(server));
  };
  for (uint32_t i = 0; i < scenario_.clients; ++i) actors_.push_back(NewActor());
}

World::~World() {
  verify::store_observer = nullptr;
  verify::copy_observer = nullptr;
  actors_.clear();
  servers_.clear();
}

std::unique_ptr<Actor> World::NewActor() { return std::make_unique<Actor>(&stage_, ++processes_); }

ServerLimits World::DrawLimits() {
  ServerLimits limits{.value_bytes_max = scenario_.value_bytes_max,
                      .staging_bytes = scenario_.staging_bytes,
                      .bucket_count = scenario_.bucket_count};
  limits.slice.requests = static_cast<uint32_t>(random_.Between(1, 4));
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
  server->Begin(limits);
  const bool warm = server->store().recovery().warm;
  checker_.Begin(number, server->first_version(), warm, server->clock(), ++stage_.instant);
  coverage_.recoveries += warm ? 1 : 0;
  if (stage_.names.empty()) NameKeys();
  // What is to be there always is there before anybody can connect.
  if (!warm && (scenario_.servers > 1 || filler_values_ == 0)) Fill(server, limits.value_bytes_max);
  server->Listen();
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

void World::Run() {
  for (uint32_t i = 0; i < scenario_.schedules && !checker_.is_guilty(); ++i) {
    for (const auto& actor : actors_) actor->Assign(random_.Between(1, scenario_.operations));
    RunSchedule();
  }
  if (!checker_.is_guilty()) {
    actors_.push_back(NewActor());
    actors_.back()->Audit();
    RunSchedule();
  }
  if (!checker_.is_guilty()) checker_.Finish();
  for (const Server& server : servers_) CountServer(*server.process);
  for (const auto& actor : actors_) CountClient(*actor);
  coverage_.operations = checker_.operations();
  coverage_.reads = network_.reads();
  coverage_.scans = stage_.scans;
}

void World::RunSchedule() {
  const auto draw = [this](uint32_t one_in) {
    return one_in != 0 && random_.OneIn(one_in) ? random_.Between(1, kStepsToTrouble) : 0;
  };
  to_break_ = draw(scenario_.break_one_in);
  to_leave_ = draw(scenario_.leave_one_in);
  to_switch_ = draw(scenario_.switch_one_in);
  to_kill_ = draw(scenario_.kill_one_in);
  const auto done = [](const auto& actor) { return actor->is_done(); };
  uint32_t steps = 0;
  while (!std::ranges::all_of(actors_, done)) {
    if (++steps == kStepsMax) {
      std::string pending;
      for (const auto& actor : actors_) pending += actor->Pending();
      checker_.Accuse(fmt::format("stuck after {} steps:{}", steps, pending));
      return;
    }
    Step();
    if (checker_.is_guilty()) return;
  }
  ++coverage_.schedules;
  if (network_.overruns() > 0) {
    checker_.Accuse("a client wrote beyond the limits of its connection");
  }
  if (network_.impostors() > 0) checker_.Accuse("who listened on the wire came as another client");
  FeedExpiries();
  checker_.Advance(++stage_.instant);
}

void World::FeedExpiries() {
  for (auto it = stage_.expiries.begin(); it != stage_.expiries.end();) {
    const auto& [value, expiry] = *it;
    if (expiry.passed == 0 || !expiry.is_settled) {
      ++it;
      continue;
    }
    checker_.FeedExpiry(expiry.key, expiry.version, expiry.lives, expiry.passed);
    it = stage_.expiries.erase(it);
  }
}

void World::PassStep() {
  if (scenario_.leap_one_in != 0 && random_.OneIn(scenario_.leap_one_in)) return Pass(LeapUs());
  Pass(random_.Below(scenario_.step_us_max + 1));
}

// Anywhere, or close to where some item expires.
uint64_t World::LeapUs() {
  const uint64_t now_us = host_.now_us();
  const auto next = std::ranges::find_if(stage_.expiries, [now_us](const auto& expiry) {
    return expiry.second.at_us > now_us + kCloseUs;
  });
  if (next == stage_.expiries.end() || random_.OneIn(2)) return random_.Below(kLeapUs);
  return next->second.at_us - now_us - random_.Below(kCloseUs);
}

void World::Pass(uint64_t us) {
  host_.Pass(us);
  for (auto& [value, expiry] : stage_.expiries) {
    if (expiry.passed == 0 && expiry.at_us <= host_.now_us()) expiry.passed = ++stage_.instant;
  }
}

void World::Step() {
  Trouble();
  PassStep();
  const uint32_t number = random_.Below(servers_.size());
  if (scenario_.forge_one_in != 0 && servers_[number].process->lives() &&
      random_.OneIn(scenario_.forge_one_in)) {
    forger_.Step(servers_[number].process.get(), scenario_.value_bytes_max);
  }
  if (servers_[number].process->lives() &&
      random_.Below(8 + scenario_.server_weight) < scenario_.server_weight) {
    ServerStep(number);
  } else {
    OthersStep();
  }
}

void World::ServerStep(uint32_t number) {
  in_server_ = true;
  bool worked = true;
  try {
    worked = servers_[number].process->Turn();
  } catch (const Killed&) {
    in_others_ = false;
    Die(number);
  }
  in_server_ = false;
  // Nobody waits for a server that has nothing to do, but time.
  if (!worked && network_.flights() == 0) Pass(random_.Below(50));
}

void World::OnStore(bool seals) {
  if (stores_to_kill_ != 0 && --stores_to_kill_ == 0) throw Killed{};
  if (seals && random_.OneIn(scenario_.seal_one_in)) return Interrupt(scenario_.seal_burst);
  if (--to_interrupt_ != 0) return;
  to_interrupt_ = 1 + random_.Below(size_t{scenario_.gap} * 2);
  const bool stands = scenario_.stand_one_in != 0 && random_.OneIn(scenario_.stand_one_in);
  Interrupt(stands ? kStandSteps : scenario_.burst);
}

void World::Interrupt(uint32_t steps_max) {
  in_others_ = true;
  for (uint32_t i = random_.Between(1, steps_max); i > 0; --i) {
    PassStep();
    OthersStep();
  }
  in_others_ = false;
}

void World::OthersStep() {
  const size_t flights = network_.flights();
  if (flights > 0 && !random_.OneIn(4)) {
    const bool completed = network_.Deliver(random_.Below(flights));
    if (!completed || random_.OneIn(4)) return;
  }
  random_.Pick(actors_)->Step();
}

// Only between the servers' turns; a death in the middle of one is OnStore's.
void World::Trouble() {
  if (to_break_ != 0 && --to_break_ == 0) {
    network_.Impersonate();
    network_.BreakAny();
  }
  if (to_leave_ != 0 && --to_leave_ == 0) random_.Pick(actors_)->Leave();
  if (to_switch_ != 0 && --to_switch_ == 0) Switch();
  if (to_kill_ != 0 && --to_kill_ == 0 && servers_[network_.lead()].process->lives()) {
    stores_to_kill_ = random_.Between(1, kStoresToDeath);
  }
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

void World::Die(uint32_t number) {
  ServerProcess* server = servers_[number].process.get();
  CountServer(*server);
  server->Kill();
  ++coverage_.kills;
  ++stage_.instant;
  servers_[number].to_rebirth = random_.Between(1, kStepsToRebirth);
  // Somebody has set the date of the host; a life that goes on warm goes by the former one.
  if (!scenario_.warm) server->SetUnixTime(HostClock::Draw(&random_).unix_us);
  if (random_.OneIn(2)) Switch();
}

void World::CountServer(const ServerProcess& server) {
  if (!server.lives()) return;
  const server::Store& store = server.store();
  const cuckoo::TableStats table = store.table().stats();
  coverage_.displacements += table.moves;
  coverage_.overflowed_homes += table.overflowed_homes;
  coverage_.stashed += store.table().stash().added();
  coverage_.growths += store.growth().growths();
  const uint32_t bucket_bytes = store.table().current().geometry().bucket_bytes;
  coverage_.widened += scenario_.bucket_bytes == 0 && bucket_bytes == verify::kBucketBytesMax;
  coverage_.cleaned_records += store.records().moved_records();
  coverage_.no_space += store.stats().no_space;
  coverage_.expired += store.stats().expired;
}

void World::CountClient(const Actor& actor) {
  const ClientStats stats = actor.stats();
  coverage_.torn += stats.torn_buckets + stats.torn_records;
  coverage_.confirmations += stats.confirmations;
  coverage_.restarts += stats.restarts;
  coverage_.fallbacks += stats.fallbacks;
  coverage_.refreshes += stats.refreshes;
  coverage_.reconnects += stats.reconnects;
  coverage_.retries += stats.retries;
  coverage_.known_reads += stats.known_reads;
  coverage_.known_misses += stats.known_misses;
  coverage_.late_reads += stats.late_reads;
}

}  // namespace plov::sim
