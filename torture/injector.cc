// Runner: the faults, and the tool's own look at what they have left.

#include <algorithm>
#include <thread>

#include "torture/runner.h"
#include "torture/transaction_survey.h"

namespace plov::torture {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// What one round holds of each: a stop costs little, a full memory or a new life much.
struct Share {
  Fault fault;
  int times;
};
constexpr Share kRound[] = {{Fault::kStop, 4},        {Fault::kKillClient, 2}, {Fault::kFull, 1},
                            {Fault::kKillServer, 1},  {Fault::kStopServer, 2}, {Fault::kMove, 4},
                            {Fault::kCoordinator, 1}, {Fault::kCut, 2},        {Fault::kPower, 1}};
constexpr microseconds kBetweenMin = milliseconds(30);
constexpr microseconds kBetweenMax = milliseconds(150);
constexpr microseconds kStopMin{100};
constexpr microseconds kStopMax = milliseconds(40);
constexpr uint64_t kEmptyLifeOneIn = 3;
// A server of a cluster is harmed when what was harmed before is whole again.
// A replica that found no memory waits 30 s of these.
constexpr std::chrono::seconds kWholeWithin{60};
// A log is read whole at each start; beyond this the next life begins with an empty one.
constexpr uint64_t kLogBytesMax = uint64_t{512} << 20;

}  // namespace

microseconds Runner::Draw(microseconds least, microseconds most) {
  const auto range = static_cast<uint64_t>((most - least).count());
  return least + microseconds(static_cast<int64_t>(random_.Below(range + 1)));
}

// Rounds hold every fault, in any order, so that a short run has all of them.
void Runner::Schedule() {
  next_fault_ = Clock::now() + Draw(kBetweenMin, kBetweenMax);
  if (!round_.empty()) return;
  for (const Share& share : kRound) {
    for (int i = 0; i < share.times && options_.has(share.fault); ++i) {
      round_.insert(round_.begin() + static_cast<std::ptrdiff_t>(random_.Below(round_.size() + 1)),
                    share.fault);
    }
  }
}

std::expected<void, Error> Runner::Inject(Fault fault) {
  switch (fault) {
    case Fault::kStop:
      InjectStop();
      return {};
    case Fault::kKillClient:
      return fleet_.Replace(random_.Below(fleet_.size()));
    case Fault::kStopServer:
    case Fault::kMove:
    case Fault::kCoordinator:
    case Fault::kCut:
    case Fault::kPower:
      return InjectIntoCluster(fault);
    case Fault::kKillServer:
      if (target_->cluster() != nullptr) return InjectIntoCluster(fault);
      if (!options_.log.empty()) return InjectKillLogged();
      // One in three, the first of them the second.
      if (++kills_ % kEmptyLifeOneIn == 2) return InjectEmptyLife();
      return InjectKillServer();
    case Fault::kFull:
      if (target_->cluster() != nullptr) return InjectIntoCluster(fault);
      InjectFull();
      return {};
    case Fault::kPause:  // the clients' own
    case Fault::kDeadline:
    case Fault::kClock:
    case Fault::kGrowth:  // OpenKeys
      break;
  }
  return {};
}

void Runner::InjectStop() {
  const bool has_one = target_->is_own() && target_->cluster() == nullptr;
  const bool server = has_one && random_.Below(2) == 0;
  program::Process& process =
      server ? target_->process() : fleet_.process(random_.Below(fleet_.size()));
  process.Stop();
  std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  process.Continue();
}

std::expected<void, Error> Runner::InjectIntoCluster(Fault fault) {
  OwnCluster* cluster = target_->cluster();
  if (fault == Fault::kMove) {
    cluster->Move(&random_);
    return {};
  }
  if (fault == Fault::kCoordinator) return cluster->HarmCoordinator(&random_);
  if (!cluster->AwaitWhole(kWholeWithin)) {
    Wrong("the cluster does not become whole again");
    return {};
  }
  switch (fault) {
    case Fault::kStopServer:
      cluster->StopServer(&random_);
      return {};
    case Fault::kCut:
      cluster->CutServer(&random_);
      return {};
    case Fault::kFull:
      InjectFull();
      return {};
    case Fault::kPower:
      evidence_.server_lives += options_.cluster;
      return cluster->KillAll(&random_);
    default:
      ++evidence_.server_lives;
      return cluster->KillServer(&random_);
  }
}

// The next life goes on with the memory, and the history goes on.
std::expected<void, Error> Runner::InjectKillServer() {
  target_->Kill();
  std::this_thread::sleep_for(Draw(microseconds(0), kStopMax));
  ++evidence_.server_lives;
  return target_->Restart(program::Life::kWarm);
}

// No operation may be in both lives: the other one begins when all have ended. Only standing items
// are got meanwhile.
std::expected<void, Error> Runner::InjectEmptyLife() {
  const bool fails_over = options_.servers > 1;
  if (fails_over) {
    if (auto started = target_->StartStandby(); !started) return started;
  }
  fleet_.Park();
  if (!fails_over) target_->Kill();
  if (!EndHistory()) return {};
  BeginKeys();
  ++evidence_.server_lives;
  std::expected<void, Error> served;
  if (fails_over) {
    target_->FailOver();
    ++evidence_.fail_overs;
    std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  } else {
    served = target_->Restart(program::Life::kEmpty);
  }
  fleet_.Release();
  return served;
}

// The next life goes on with the log.
std::expected<void, Error> Runner::InjectKillLogged() {
  if (target_->log_folder_bytes() > kLogBytesMax) return InjectEmptyLife();
  ++evidence_.server_lives;
  auto restarted = options_.commit == Commit::kStrict ? InjectRestart() : InjectLoss();
  if (!restarted) {
    // It was there a moment ago, with the same options and the same disk.
    Wrong("after a kill " + restarted.error().message);
    return {};
  }
  // A start takes a while, and the life after it is to have some load.
  next_fault_ = Clock::now() + Draw(kBetweenMin, kBetweenMax);
  return restarted;
}

// Nothing may be lost: the history goes on.
std::expected<void, Error> Runner::InjectRestart() {
  target_->Kill();
  std::this_thread::sleep_for(Draw(microseconds(0), kStopMax));
  auditor_.NoteRestart(Now());
  if (auto started = target_->Restart(program::Life::kWarm); !started) return started;
  return LookAtKeysInHistory();
}

// What a primary has lost, GETs of any replica need not show before the run ends.
std::expected<void, Error> Runner::LookAtPrimaries() {
  if (auto hangs = fleet_.Stop()) {
    Wrong(std::move(*hangs));
    return {};
  }
  if (!target_->cluster()->AwaitWhole(kWholeWithin)) {
    Wrong("the cluster does not become whole again");
    return {};
  }
  return LookAtKeysInHistory();
}

// The tool's GETs are operations like any other.
std::expected<void, Error> Runner::LookAtKeysInHistory() {
  const size_t client = options_.clients;
  auditor_.Open(client);
  OperationRing& to = memory()->rings[client];
  const auto looked = LookAtKeys([&to](std::span<const Operation> operations) {
    while (!to.HasRoom(operations.size())) std::this_thread::sleep_for(milliseconds(1));
    for (size_t i = 0; i < operations.size(); ++i) to.Next(i) = operations[i];
    to.Issue(operations.size());
    to.Finish(Now());
  });
  auditor_.Close(client);
  return looked;
}

// The clients' calls go on when the server dies, and end before the next one starts: each belongs to
// one life.
std::expected<void, Error> Runner::InjectLoss() {
  target_->Kill();
  fleet_.Park();
  if (const auto hangs = fleet_.AwaitParked()) {
    Wrong(*hangs);
    return {};
  }
  const Instant restart = Now();
  if (auto started = target_->Restart(program::Life::kWarm); !started) return started;
  std::vector<Operation> survey;
  const auto looked = LookAtKeys([&survey](std::span<const Operation> operations) {
    survey.insert(survey.end(), operations.begin(), operations.end());
  });
  if (!looked) return looked;
  const auto found = LookAtTransactions();
  if (!found) return std::unexpected(found.error());
  auditor_.EndLife(restart, survey, *found);
  memory()->life.fetch_add(1, std::memory_order_relaxed);
  fleet_.Release();
  return {};
}

std::expected<void, Error> Runner::LookAtKeys(const Survey::Take& take) {
  const uint64_t open = memory()->keys_open.load(std::memory_order_relaxed);
  const uint64_t keys = std::max<uint64_t>(open, options_.hot_keys);
  Survey survey(target_->client(), memory()->plan.run,
                memory()->history.load(std::memory_order_relaxed));
  const auto looked = survey.GetAll(keys, take);
  if (survey.lie()) Wrong(*survey.lie());
  evidence_.surveyed += keys;
  return looked;
}

std::expected<std::vector<TransactionRecord>, Error> Runner::LookAtTransactions() {
  std::vector<TransactionRecord> none;
  if (!options_.transactions) return none;
  auto survey = SurveyTransactions(target_->client(), memory()->plan.run,
                                   memory()->history.load(std::memory_order_relaxed));
  if (survey || survey.error().code != Code::kCorrupt) return survey;
  Wrong(survey.error().message);
  return none;
}

void Runner::InjectFull() {
  const uint32_t history = memory()->history.load(std::memory_order_relaxed);
  target_->Fill(history);
  std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  target_->Empty(history);
}

}  // namespace plov::torture
