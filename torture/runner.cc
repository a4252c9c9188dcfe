#include "torture/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "program/interrupt.h"
#include "torture/expiries.h"
#include "torture/key_names.h"
#include "torture/modified.h"
#include "torture/transactions.h"

namespace plov::torture {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTickMax{20};
constexpr std::chrono::seconds kProgressEvery{1};
// Writes without an answer that one history bears. Each costs a little with every later operation
// on its key, for ever.
constexpr uint64_t kUnknownMax = 5000;
// With growth, this part of the keys is in use at first, and all of them after 3/4 of the run.
constexpr uint64_t kKeysAtFirst = 32;

// Instants as time since the run began, which people can read.
void CountFrom(Instant began, Violation* violation) {
  violation->instant -= began;
  for (Operation& operation : violation->window) {
    // That of a GET that may find something old can lie before the run.
    operation.start = std::max<Instant>(operation.start - began, 0);
    operation.end -= began;
  }
  for (Restart& restart : violation->restarts) restart.at -= began;
}

void CountFrom(Instant began, TransactionViolation* violation) {
  violation->instant -= began;
  for (TransactionRecord& record : violation->records) {
    record.start = std::max<Instant>(record.start - began, 0);
    record.end -= began;
  }
}

void Write(const ToolOptions& options, const std::string& uri, uint32_t run, Plan* plan) {
  SetText(uri, plan->uri);
  plan->run = run;
  plan->hot_keys = options.hot_keys;
  plan->keys = options.keys;
  plan->value_bytes_min = options.value_bytes_min;
  plan->value_bytes_max = options.value_bytes_max;
  plan->seed = options.seed;
  plan->timeout_us = static_cast<uint64_t>(options.timeout.count());
  plan->max_age_us = static_cast<uint64_t>(options.max_age.count());
  plan->pauses = options.has(Fault::kPause);
  plan->short_deadlines = options.has(Fault::kDeadline);
  plan->shifted_clocks = options.has(Fault::kClock);
  plan->loses_answered = options.commit == Commit::kAsync;
  plan->transactions = options.transactions;
  plan->modifies = options.commit == Commit::kStrict || !options.has(Fault::kKillServer);
  plan->standing_items = options.has_own_server() && options.servers > 1;
}

// What a kill of the server may lose is judged life by life, else no life ends for the auditor.
std::optional<LifeChecker> LivesOf(const ToolOptions& options) {
  if (options.commit == Commit::kStrict || !options.has(Fault::kKillServer)) return std::nullopt;
  return LifeChecker(options.commit, options.shards == 1);
}

}  // namespace

std::expected<std::unique_ptr<Runner>, Error> Runner::Create(const ToolOptions& options) {
  // Not from the seed: two runs with one seed on one server have keys of their own.
  const auto run = static_cast<uint32_t>(std::random_device()() % kRunsMax);
  auto target = Target::Open(options, run);
  if (!target) return std::unexpected(target.error());
  auto mapping = RunMapping::Create();
  if (!mapping) return std::unexpected(mapping.error());
  std::unique_ptr<Runner> runner(new Runner(options, std::move(*mapping), std::move(*target), run));
  if (auto started = runner->fleet_.Start(options.clients); !started) {
    return std::unexpected(started.error());
  }
  return runner;
}

Runner::Runner(const ToolOptions& options, RunMapping mapping, std::unique_ptr<Target> target,
               uint32_t run)
    : options_(options),
      mapping_(std::move(mapping)),
      target_(std::move(target)),
      auditor_(memory(), options.clients + 1, LivesOf(options),
               std::chrono::nanoseconds(options.max_age).count()),
      fleet_(&mapping_, &auditor_),
      random_(options.seed) {
  Write(options, target_->uri(), run, &memory()->plan);
  memory()->plan.transactions_over_shards =
      options.transactions && AreTransactionsOverShards(target_->client(), run);
}

double Runner::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::expected<Evidence, Error> Runner::Run() {
  start_ = Clock::now();
  end_ = start_ + options_.duration;
  next_fault_ = next_progress_ = start_ + milliseconds(50);
  OpenKeys();
  fleet_.Release();
  std::expected<void, Error> going;
  while (going && !IsOver()) going = Tick();
  evidence_.seconds = seconds();
  const bool answers = going && target_->ObserveAtLast();
  const bool is_right = evidence_.wrongs.empty() && auditor_.violations() == 0;
  if (answers && is_right && options_.reads_any_replica()) going = LookAtPrimaries();
  Evidence evidence = Finish();
  // What was found counts, even when the server is gone.
  if (evidence.wrongs.empty() && evidence.audited.violations == 0) {
    if (!going) return std::unexpected(going.error());
    if (!answers) return Fail(Code::kUnavailable, "the server at " + target_->uri() + " is gone");
  }
  return evidence;
}

bool Runner::IsOver() {
  if (Clock::now() >= end_ || auditor_.violations() > 0 || fleet_.has_lie()) return true;
  if (const auto exit = fleet_.UnexpectedExit()) Wrong(*exit);
  if (evidence_.wrongs.empty()) {
    if (const auto ended = target_->Ended()) Wrong("the server ended: " + *ended);
  }
  return !evidence_.interrupt.empty() || !evidence_.wrongs.empty();
}

std::expected<void, Error> Runner::Tick() {
  const auto next = std::min({next_fault_, next_progress_, end_, Clock::now() + kTickMax});
  if (auto interrupt = program::AwaitInterrupt(next - Clock::now())) {
    evidence_.interrupt = std::move(*interrupt);
    return {};
  }
  OpenKeys();
  if (OwnCluster* cluster = target_->cluster()) cluster->IsWhole();
  if (Clock::now() >= next_progress_) {
    target_->Observe();
    ShowProgress();
    next_progress_ += kProgressEvery;
  }
  if (auditor_.unknown() > kUnknownMax) {
    if (auto begun = BeginHistory(); !begun) return begun;
  }
  if (Clock::now() < next_fault_) return {};
  Schedule();
  if (round_.empty()) return {};
  const Fault fault = round_.back();
  round_.pop_back();
  ++evidence_.injected[IndexOf(fault)];
  return Inject(fault);
}

void Runner::OpenKeys() {
  uint64_t open = options_.keys;
  if (options_.has(Fault::kGrowth)) {
    const double whole = std::chrono::duration<double>(options_.duration).count();
    const double part = std::min(1.0, seconds() / (whole * 3 / 4));
    open = open / kKeysAtFirst + static_cast<uint64_t>(part * static_cast<double>(open));
  }
  memory()->keys_open.store(std::clamp<uint64_t>(open, 1, options_.keys),
                            std::memory_order_relaxed);
}

void Runner::ShowProgress() {
  const uint64_t checked = auditor_.checked();
  const Counts counts = fleet_.counts();
  uint64_t faults = 0;
  for (const uint64_t injected : evidence_.injected) faults += injected;
  fmt::print(stderr,
             "{:6.0f} s  {:>10} checked/s  {:>8} held  {:>9} torn  {:>9} displaced  {:>3} growths  "
             "{:>5} faults  {} violations\n",
             seconds(), Grouped(checked - shown_), Grouped(auditor_.held()),
             Grouped(counts[IndexOf(Count::kTornBuckets)] + counts[IndexOf(Count::kTornRecords)]),
             Grouped(target_->counts().displacements), target_->counts().growths, faults,
             auditor_.violations());
  shown_ = checked;
}

void Runner::Wrong(std::string what) { evidence_.wrongs.push_back(std::move(what)); }

// Whether all clients came to rest.
bool Runner::EndHistory() {
  if (const auto hangs = fleet_.AwaitParked()) {
    Wrong(*hangs);
    return false;
  }
  auditor_.EndHistory();
  return true;
}

std::expected<void, Error> Runner::BeginHistory() {
  fleet_.Park();
  if (!EndHistory()) return {};
  const uint32_t former = memory()->history.load(std::memory_order_relaxed);
  BeginKeys();
  fleet_.Release();
  target_->Delete(former, 0, options_.keys);
  return {};
}

// Of another history, while nothing is under way.
void Runner::BeginKeys() {
  memory()->modified.Reset();
  memory()->history.fetch_add(1, std::memory_order_relaxed);
}

// Those of a server that stays. Items that expire go as well, so that nothing is left at once.
bool Runner::DeleteKeys(uint32_t history) {
  const uint64_t expiring = options_.has(Fault::kClock) ? Expiries::KeysOf(fleet_.launched()) : 0;
  return target_->Delete(history, 0, options_.keys) &&
         target_->Delete(history, kFirstTransactionKey,
                         kTransactionKeys + Modified::kKeys + expiring);
}

Evidence Runner::Finish() {
  if (auto hangs = fleet_.Stop()) Wrong(std::move(*hangs));
  auditor_.EndHistory();
  const uint32_t history = memory()->history.load(std::memory_order_relaxed);
  if (!target_->is_own() && !DeleteKeys(history)) {
    fmt::print(stderr, "plov-torture: the server does not answer, keys that begin with {} stay\n",
               KeyName(memory()->plan.run, history, 0).prefix());
  }
  const bool was_running = target_->is_own() && !target_->Ended();
  if (OwnCluster* cluster = target_->cluster()) evidence_.promotions = cluster->promotions();
  if (auto wrong = target_->Close(); wrong && was_running) Wrong(std::move(*wrong));
  for (const std::string& lie : fleet_.lies()) {
    Wrong(lie);
  }
  if (auditor_.violations() > 0 || !evidence_.wrongs.empty()) target_->KeepLog();
  evidence_.options = options_;
  evidence_.audited = auditor_.audited();
  for (Violation& violation : evidence_.audited.found) CountFrom(began_, &violation);
  for (TransactionViolation& violation : evidence_.audited.transactions.found) {
    CountFrom(began_, &violation);
  }
  evidence_.counts = fleet_.counts();
  evidence_.server = target_->counts();
  const auto counted = [this](Count count) { return evidence_.counts[IndexOf(count)]; };
  evidence_.injected[IndexOf(Fault::kPause)] = counted(Count::kPauses);
  evidence_.injected[IndexOf(Fault::kDeadline)] = counted(Count::kDeadlines);
  evidence_.injected[IndexOf(Fault::kClock)] = counted(Count::kExpiries);
  return evidence_;
}

}  // namespace plov::torture
