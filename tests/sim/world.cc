#include "tests/sim/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cuckoo/hash.h"
#include "torture/value.h"

namespace plov::sim {

namespace {

constexpr uint32_t kFillerProcess = 1 << 20;
// Of a schedule; far more than any takes that gets on at all.
constexpr uint32_t kStepsMax = 400'000;
constexpr uint32_t kStepsToTrouble = 60;
constexpr uint32_t kStoresToDeath = 80;
constexpr uint32_t kStepsToRebirth = 30;
// Enough for a GET to lose its patience with a bucket, though not with the server.
constexpr uint32_t kStandSteps = 3000;
constexpr uint64_t kLeapUs = 11'000'000;

// A file for each run would do; one for all that run after another saves their folders.
std::string WarmPath() { return fmt::format("/dev/shm/plov-sim-{}", ::getpid()); }

}  // namespace

World::World(uint64_t seed, const Scenario& scenario)
    : scenario_(scenario),
      host_(~seed),
      random_(seed),
      stage_{.host = &host_, .random = &random_, .scenario = &scenario_, .judge = &judge_},
      network_(&random_, scenario.network) {
  stage_.in_trouble = IsTroubled(scenario_);
  if (scenario_.warm) ::unlink(WarmPath().c_str());
  life_ = std::make_unique<Life>(scenario_, &network_, scenario_.warm ? WarmPath() : "");
  judge_.Begin(life_->first_version(), false, stage_.instant);
  NameKeys();
  Fill();
  verify::store_observer = [this](verify::Store store, const uint64_t*) {
    if (in_server_ && !in_others_) OnStore(store != verify::Store::kWord);
  };
  for (uint32_t i = 0; i < scenario_.clients; ++i) actors_.push_back(NewActor());
}

World::~World() {
  verify::store_observer = nullptr;
  actors_.clear();
  life_.reset();
}

std::unique_ptr<Actor> World::NewActor() { return std::make_unique<Actor>(&stage_, ++processes_); }

void World::NameKeys() {
  const uint64_t seed = life_->store().superblock().hash_seed;
  for (uint32_t tries = 0; stage_.names.size() < scenario_.keys; ++tries) {
    std::string name = fmt::format("key{}", tries);
    const uint64_t home = cuckoo::HomeOf(cuckoo::HashKey(name, seed), scenario_.bucket_count);
    if (scenario_.homes == 0 || home < scenario_.homes) stage_.names.push_back(std::move(name));
  }
  for (uint32_t i = 0; i < scenario_.fillers; ++i) stage_.names.push_back(fmt::format("fill{}", i));
}

void World::Fill() {
  std::string value;
  for (uint32_t i = 0; i < scenario_.fillers; ++i) {
    torture::Operation put{.start = ++stage_.instant, .key = scenario_.keys + i};
    put.kind = torture::Kind::kPut;
    put.value = torture::MakeValueId(kFillerProcess, i + 1);
    value.resize(random_.OneIn(2) ? torture::kValueBytesMin : scenario_.value_bytes_max);
    torture::WriteValue(put.value, put.key, value);
    put.version = life_->Put(stage_.names[put.key], value);
    put.end = ++stage_.instant;
    if (put.version == 0) break;
    judge_.Feed(put);
  }
}

void World::Run() {
  for (uint32_t i = 0; i < scenario_.schedules && !judge_.is_guilty(); ++i) {
    for (const auto& actor : actors_) actor->Assign(random_.Between(1, scenario_.operations));
    RunSchedule();
  }
  if (!judge_.is_guilty()) {
    actors_.front()->Audit();
    RunSchedule();
  }
  if (!judge_.is_guilty()) judge_.Finish();
  CountServer();
  for (const auto& actor : actors_) CountClient(*actor);
  coverage_.operations = judge_.operations();
  coverage_.reads = network_.reads();
}

void World::RunSchedule() {
  const auto draw = [this](uint32_t one_in) {
    return one_in != 0 && random_.OneIn(one_in) ? random_.Between(1, kStepsToTrouble) : 0;
  };
  to_break_ = draw(scenario_.break_one_in);
  to_leave_ = draw(scenario_.leave_one_in);
  to_kill_ = draw(scenario_.kill_one_in);
  const auto done = [](const auto& actor) { return actor->is_done(); };
  uint32_t steps = 0;
  while (!std::ranges::all_of(actors_, done)) {
    if (++steps == kStepsMax) {
      std::string plight;
      for (const auto& actor : actors_) plight += actor->Plight();
      judge_.Accuse(fmt::format("stuck after {} steps:{}", steps, plight));
      return;
    }
    Step();
    if (judge_.is_guilty()) return;
  }
  ++coverage_.schedules;
  FeedExpiries();
  judge_.Advance(++stage_.instant);
}

void World::FeedExpiries() {
  for (auto it = stage_.expiries.begin(); it != stage_.expiries.end();) {
    const auto& [value, expiry] = *it;
    if (expiry.passed == 0 || !expiry.is_settled) {
      ++it;
      continue;
    }
    judge_.FeedExpiry(expiry.key, expiry.version, expiry.passed);
    it = stage_.expiries.erase(it);
  }
}

void World::PassStep() {
  const bool leap = scenario_.leap_one_in != 0 && random_.OneIn(scenario_.leap_one_in);
  Pass(random_.Below(leap ? kLeapUs : scenario_.step_us_max + 1));
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
  if (life_->lives() && random_.Below(8 + scenario_.server_weight) < scenario_.server_weight) {
    ServerStep();
  } else {
    OthersStep();
  }
}

void World::ServerStep() {
  in_server_ = true;
  network_.set_refusing(true);
  bool worked = true;
  try {
    worked = life_->Turn();
  } catch (const Killed&) {
    in_others_ = false;
    Die();
  }
  network_.set_refusing(false);
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
  ActorStep(random_.Pick(actors_).get());
}

void World::ActorStep(Actor* actor) {
  if (!actor->connected()) return;
  if (random_.OneIn(2)) actor->Start();
  actor->Poll();
}

// Only between the server's turns; its death in the middle of one is OnStore's.
void World::Trouble() {
  if (to_break_ != 0 && --to_break_ == 0) network_.BreakAny();
  if (to_leave_ != 0 && --to_leave_ == 0) {
    auto& actor = random_.Pick(actors_);
    CountClient(*actor);
    actor = nullptr;
    actor = NewActor();
  }
  if (to_kill_ != 0 && --to_kill_ == 0 && life_->lives()) {
    stores_to_kill_ = random_.Between(1, kStoresToDeath);
  }
  if (to_rebirth_ != 0 && --to_rebirth_ == 0) {
    life_->Begin();
    judge_.Begin(life_->first_version(), life_->store().recovery().warm, ++stage_.instant);
    coverage_.recoveries += life_->store().recovery().warm ? 1 : 0;
  }
  for (auto& actor : actors_) {
    if (!actor->connected() && life_->lives()) actor = NewActor();
  }
}

void World::Die() {
  CountServer();
  life_->Kill();
  ++coverage_.kills;
  ++stage_.instant;
  to_rebirth_ = random_.Between(1, kStepsToRebirth);
}

void World::CountServer() {
  if (!life_->lives()) return;
  const server::Store& store = life_->store();
  const cuckoo::TableStats table = store.table().stats();
  coverage_.displacements += table.moves;
  coverage_.overflowed_homes += table.overflowed_homes;
  coverage_.growths += store.growth().growths();
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
}

}  // namespace plov::sim
