#include "tests/sim/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace plov::sim {

namespace {

// A schedule that is longer is stuck. Two scans beside a writer that never rests take a million.
constexpr uint32_t kStepsMax = 4'000'000;
constexpr uint32_t kStepsToTrouble = 60;
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
  if (scenario_.modify_percent != 0) {
    stage_.plan.value_bytes_max = scenario_.value_bytes_max;
    stage_.plan.seed = seed;
    stage_.modified = std::make_unique<torture::ModifiedState>();
  }
  for (uint32_t i = 0; i < scenario_.servers; ++i) {
    servers_.push_back({std::make_unique<ServerProcess>(
        scenario_, &network_, i, HostClock::Draw(&random_), scenario_.warm ? WarmPath(i) : "")});
    if (scenario_.log) servers_.back().process->KeepLog(*scenario_.log, &random_);
  }
  if (scenario_.servers > 1 && !scenario_.evicts) stage_.first_steady_key = scenario_.keys;
  if (scenario_.evicts) checker_.LetEvict();
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
  actors_.clear();  // where the run ended early one may rest in the middle of a copy
  verify::copy_observer = nullptr;
  servers_.clear();
}

std::unique_ptr<Actor> World::NewActor() { return std::make_unique<Actor>(&stage_, ++processes_); }

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
  for (const Server& server : servers_) CountLog(server.process->log());
  for (const auto& actor : actors_) CountClient(*actor);
  coverage_.operations = checker_.operations();
  coverage_.reads = network_.reads();
  coverage_.scans = stage_.scans;
  coverage_.flushes = stage_.flushes.size();
  coverage_.commits = stage_.commits.applied();
  coverage_.key_snapshots = stage_.snapshots;
  coverage_.syncs = stage_.syncs;
  coverage_.modified = stage_.modifications;
}

void World::RunSchedule() {
  const auto draw = [this](uint32_t one_in) {
    return one_in != 0 && random_.OneIn(one_in) ? random_.Between(1, kStepsToTrouble) : 0;
  };
  to_break_ = draw(scenario_.break_one_in);
  to_leave_ = draw(scenario_.leave_one_in);
  to_switch_ = draw(scenario_.switch_one_in);
  to_raise_ = draw(scenario_.raise_one_in);
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
  if (const std::string& wrong = stage_.commits.wrong(); !wrong.empty()) checker_.Accuse(wrong);
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
    Die(number, PowerIsGone() ? Death::kPowerCut : DrawDeath());
  }
  in_server_ = false;
  // Nobody waits for a server that has nothing to do, but time.
  if (!worked && network_.flights() == 0) Pass(random_.Below(50));
}

void World::OnStore(bool seals) {
  if (stores_to_kill_ != 0 && --stores_to_kill_ == 0) throw Killed{};
  if (seals && random_.OneIn(scenario_.seal_one_in)) {
    Interrupt(scenario_.seal_burst);
  } else if (--to_interrupt_ == 0) {
    to_interrupt_ = 1 + random_.Below(size_t{scenario_.gap} * 2);
    const bool stands = scenario_.stand_one_in != 0 && random_.OneIn(scenario_.stand_one_in);
    Interrupt(stands ? kStandSteps : scenario_.burst);
  }
  if (PowerIsGone()) throw Killed{};
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
  if (scenario_.log && random_.OneIn(scenario_.log->step_one_in)) return LogStep();
  const size_t flights = network_.flights();
  if (flights > 0 && !random_.OneIn(4)) {
    const bool completed = network_.Deliver(random_.Below(flights));
    if (!completed || random_.OneIn(4)) return;
  }
  if (scenario_.log && !random_.OneIn(scenario_.log->client_one_in)) return;
  random_.Pick(actors_)->Step();
}

void World::CountServer(const ServerProcess& server) {
  for (uint32_t i = 0; i < server.shard_count(); ++i) CountStore(server.store(i));
}

void World::CountStore(const server::Store& store) {
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
  coverage_.evicted += store.stats().evicted;
  coverage_.hits_told += store.hits_told();
}

void World::CountLog(const ServerLog* log) {
  if (log == nullptr) return;
  coverage_.snapshots += log->snapshots();
  coverage_.faults += log->faults();
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
