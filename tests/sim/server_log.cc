#include "tests/sim/server_log.h"

#include <algorithm>
#include <array>
#include <utility>

#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "log/walk.h"

namespace plov::sim {

using test::SimulatedDisk;
using Call = SimulatedDisk::Call;

namespace {

// Of the steps: those in which a fault ends.
constexpr uint32_t kMendOneIn = 40;
// Of the calls of the disk that begin a process.
constexpr uint32_t kCallsOfABeginning = 60;
constexpr uint32_t kBeginningCutOneIn = 6;

}  // namespace

ServerLog::ServerLog(const LogScenario& scenario, Random* random)
    : scenario_(scenario),
      random_(random),
      losses_(random->Next()),
      next_disk_(std::make_unique<SimulatedDisk>(random->Next())) {}

std::expected<server::DurableLog*, Error> ServerLog::Open() {
  disk_ = next_disk_.get();
  had_snapshot_ = false;
  const auto folder = log::Folder::List(disk_);
  for (const auto& [shard, files] : folder->shards) had_snapshot_ = !files.snapshots.empty();
  is_cut_ = is_faulty_ = false;
  // Reading changes nothing, so a cut meanwhile leaves what there was before, less what was not synced.
  std::unique_ptr<SimulatedDisk> before;
  if (random_->OneIn(kBeginningCutOneIn)) {
    before = disk_->AfterKill(&losses_);
    CutAfter(random_->Below(kCallsOfABeginning));
  }
  const server::LogOptions options{
      .folder = "sim",
      .mode = scenario_.mode,
      .segment_bytes = scenario_.segment_bytes,
      .buffer_bytes = scenario_.buffer_bytes,
      .snapshots = {.rate_bytes = uint64_t{1} << 40, .keep = scenario_.snapshots_kept}};
  auto opened = server::DurableLog::OpenOn(std::move(next_disk_), options, server::ShardSet::Of(1));
  if (!opened) {
    if (before != nullptr) next_disk_ = before->Crash(&losses_);
    written_batch_ = 0;
    return std::unexpected(opened.error());
  }
  log_ = std::move(*opened);
  return log_.get();
}

std::expected<void, Error> ServerLog::Begin(server::Shard* shard) {
  server::Store* store = shard->store_to_restore();
  if (auto done = log_->Recover(0, store, shard->sessions_to_restore()); !done) return done;
  if (auto begun = log_->Begin(store->superblock().hash_seed, {[] {}}); !begun) return begun;
  if (power_is_gone()) return Fail(Code::kSystem, "the power is gone");
  is_cut_ = false;
  disk_->ClearFaults();
  shard->LogTo({commit(), scenario_.mode, log_->feed_of_shard(0)});
  FindCut();
  passed_on_ = written_ = 0;
  return {};
}

// By the log, as anybody reads it, and the snapshot before it.
void ServerLog::FindCut() {
  const auto folder = log::Folder::List(disk_);
  const log::ShardFiles& files = folder->shards.at(0);
  cut_ = kept_batch_ = 0;
  log::Walk::Start start{.segment = 1, .batch = 1};
  if (!files.snapshots.empty()) {
    const auto newest =
        log::SnapshotReader::Open(disk_, log::SnapshotName(0, *files.snapshots.rbegin()));
    if (!newest || !*newest) return;
    cut_ = (*newest)->footer().last_version;
    start = {.segment = (*newest)->head().number,
             .batch = (*newest)->footer().start_batch,
             .needs = (*newest)->footer().needs_batch};
  }
  auto walk = log::Walk::Open(disk_, files, start);
  while (walk && *walk) {
    const auto next = (*walk)->Next();
    if (!next || !*next || !**next) break;
    cut_ = std::max(cut_, (**next)->head.last_version);
  }
  if (walk && *walk) kept_batch_ = std::max(kept_batch_, (*walk)->end().next_batch - 1);
}

bool ServerLog::Step() {
  Trouble();
  if (random_->Below(100) < scenario_.snapshot_percent) return log_->snapshots()->Step(true);
  const bool worked = commit()->Step(random_->OneIn(scenario_.interval_one_in));
  if (!worked && commit()->failures() == 0) written_ = passed_on_;
  return worked;
}

void ServerLog::Trouble() {
  if (scenario_.snapshot_one_in != 0 && random_->OneIn(scenario_.snapshot_one_in)) {
    log_->feed_of_shard(0)->Ask();
  }
  if (is_cut_) return;
  if (is_faulty_ && random_->OneIn(kMendOneIn)) {
    disk_->ClearFaults();
    is_faulty_ = false;
  }
  if (scenario_.fault_one_in != 0 && random_->OneIn(scenario_.fault_one_in)) BeginFault();
}

void ServerLog::BeginFault() {
  ++faults_;
  is_faulty_ = true;
  constexpr std::array kCalls = {Call::kWrite,  Call::kSync,      Call::kRename,
                                 Call::kCreate, Call::kSyncNames, Call::kOpen};
  switch (random_->Below(4)) {
    case 0:
      return disk_->SetFull(true);
    case 1:
      return disk_->FailAtRandom(0.5);
    default:
      return disk_->FailNext(random_->Pick(kCalls), Code::kSystem, random_->Below(4));
  }
}

void ServerLog::OnTurn() {
  const bool nothing_is_open = commit()->last_batch() < commit()->open_batch();
  if (nothing_is_open) passed_on_ = commit()->last_batch();
}

void ServerLog::Settle(server::Store* store) {
  while (commit()->pending() || store->pending() > 0) {
    commit()->PassOn();
    commit()->Step(true);
    store->PublishDurable(SIZE_MAX);
  }
}

void ServerLog::CutAfter(uint64_t calls) {
  is_cut_ = true;
  is_faulty_ = false;
  cut_at_ = disk_->calls() + calls;
  disk_->ClearFaults();
  disk_->FailAllAfter(calls);
}

void ServerLog::Die(Death death) {
  written_batch_ = 0;
  if (log_ != nullptr && commit() != nullptr) {
    snapshots_ += log_->feed_of_shard(0)->stats().taken;
    if (death == Death::kStopped) {
      disk_->ClearFaults();
      if (commit()->Finish()) written_batch_ = commit()->last_batch();
    }
    if (death == Death::kKilled && commit()->failures() == 0) written_batch_ = written_;
  }
  next_disk_ = death == Death::kPowerCut ? disk_->Crash(&losses_) : disk_->AfterKill(&losses_);
  disk_->ClearFaults();  // what is written to this one from now on nobody reads
}

bool ServerLog::WasCut() {
  if (log_ == nullptr) return next_disk_ != nullptr;
  if (!power_is_gone()) return false;
  Die(Death::kPowerCut);
  return true;
}

}  // namespace plov::sim
