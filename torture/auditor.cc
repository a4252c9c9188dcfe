#include "torture/auditor.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace plov::torture {

namespace {

// What one look at a ring takes at most, so that a busy one does not keep the others waiting.
constexpr size_t kTakenAtOnce = 4096;
// Below this it is not worth to look for what can be decided.
constexpr size_t kAdvanceFrom = 256;
constexpr std::chrono::microseconds kRest{200};
constexpr size_t kTasksEvery = 16;  // looks
// Counting what is held looks at every key that is busy.
constexpr uint64_t kLooksPerCount = 8;
// A GET that is too old comes so long after the store that it missed: 56 MiB.
constexpr size_t kRecentWithAge = size_t{1} << 20;

IntervalOptions RulesOf(Instant max_age) {
  IntervalOptions rules{.max_age = max_age};
  if (max_age > 0) rules.recent_count = kRecentWithAge;
  return rules;
}

}  // namespace

uint64_t Audited::total() const {
  uint64_t sum = 0;
  for (const auto& kind : operations) sum = std::accumulate(kind.begin(), kind.end(), sum);
  return sum;
}

uint64_t Audited::of(Outcome outcome) const {
  uint64_t sum = 0;
  for (const auto& kind : operations) sum += kind[static_cast<size_t>(outcome)];
  return sum;
}

Auditor::Auditor(RunMemory* memory, size_t clients, std::optional<LifeChecker> lives,
                 Instant max_age)
    : memory_(memory),
      rules_(RulesOf(max_age)),
      open_(clients, false),
      checker_(rules_),
      lives_(std::move(lives)) {
  if (lives_) lives_->Begin(Now());
  if (max_age > 0) stale_.emplace();
  thread_ = std::thread([this] { Run(); });
}

Auditor::~Auditor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Auditor::Do(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  changed_.notify_all();
  changed_.wait(lock, [this] { return task_ == nullptr; });
}

// From the auditor's own thread, so that no horizon is made from some rings before and others
// after.
void Auditor::Open(size_t client) {
  Do([this, client] {
    memory_->rings[client].Open(Now());
    if (memory_->plan.transactions) {
      if (!transactions_) transactions_.emplace(memory_, open_.size());
      transactions_->Open(client);
    }
    open_[client] = true;
  });
}

void Auditor::Close(size_t client) {
  Do([this, client] {
    OperationRing& dead = memory_->rings[client];
    const auto feed = [this](const Operation& operation) { Feed(operation); };
    while (dead.TakeFinished(kTakenAtOnce, feed) > 0) {
    }
    dead.TakeUnfinished(feed);
    if (transactions_) transactions_->Close(client);
    open_[client] = false;
  });
}

void Auditor::EndHistory() {
  Do([this] {
    Finish();
    if (transactions_) transactions_->EndHistory();
    NoteTransactions();
    ++audited_.histories;
    restarts_.clear();
    if (lives_) lives_->Begin(Now());
  });
}

// What comes then is checked from what the survey has found.
void Auditor::EndLife(Instant restart, std::span<const Operation> survey,
                      std::span<const TransactionRecord> found) {
  Do([this, restart, survey, found] {
    Finish();
    if (transactions_) transactions_->EndLife(found);
    NoteTransactions();
    for (Violation& violation : lives_->End(restart, survey)) Take(std::move(violation));
    audited_.gone_back = lives_->gone_back();
    for (const Operation& get : survey) {
      checker_->Restore(get.key, StateOf(get));
      ++audited_.operations[static_cast<size_t>(get.kind)][static_cast<size_t>(get.outcome)];
    }
  });
}

void Auditor::NoteRestart(Instant restart) {
  Do([this, restart] { restarts_.push_back({.at = restart}); });
}

void Auditor::Finish() {
  while (TakeAll() > 0) {
  }
  checker_->Finish();
  Collect();
  audited_.undecided += checker_->undecided();
  checker_.emplace(rules_);
  if (stale_) {
    stale_->Finish();
    audited_.replica_gets += stale_->gets();
    audited_.stale_gets += stale_->stale();
    stale_.emplace();
  }
  unknown_.store(0, std::memory_order_relaxed);
}

void Auditor::Feed(const Operation& operation) {
  // A client process that is killed may leave anything in its ring's last entries.
  const auto kind = std::min(static_cast<size_t>(operation.kind), Audited::kKinds - 1);
  const auto outcome = std::min(static_cast<size_t>(operation.outcome), Audited::kOutcomes - 1);
  ++audited_.operations[kind][outcome];
  ++fed_;
  if (operation.outcome == Outcome::kUnknown && operation.kind != Kind::kGet) {
    unknown_.fetch_add(1, std::memory_order_relaxed);
  }
  checker_->Feed(operation);
  if (lives_) lives_->Feed(operation);
  if (stale_) stale_->Feed(operation);
}

size_t Auditor::TakeTransactions() {
  if (!transactions_) return 0;
  const size_t taken = transactions_->Take();
  fed_ += taken;
  NoteTransactions();
  return taken;
}

void Auditor::NoteTransactions() {
  if (!transactions_) return;
  const uint64_t known = audited_.transactions.violations;
  audited_.transactions = transactions_->tally();
  const uint64_t more = audited_.transactions.violations - known;
  audited_.violations += more;
  violations_.fetch_add(more, std::memory_order_relaxed);
  unknown_transactions_.store(transactions_->unknown(), std::memory_order_relaxed);
}

// The horizon is that of all rings, after what each of them had was taken.
size_t Auditor::TakeAll() {
  const bool full = held_.load(std::memory_order_relaxed) > kHeldMax;
  Instant earliest = kForever;
  for (size_t i = 0; full && i < open_.size(); ++i) {
    if (open_[i]) earliest = std::min(earliest, memory_->rings[i].horizon());
  }
  size_t taken = TakeTransactions();
  for (size_t i = 0; i < open_.size(); ++i) {
    OperationRing& ring = memory_->rings[i];
    if (!open_[i] || (full && ring.horizon() > earliest)) continue;
    taken += ring.TakeFinished(kTakenAtOnce, [this](const Operation& o) { Feed(o); });
  }
  Instant horizon = kForever;
  for (size_t i = 0; i < open_.size(); ++i) {
    if (open_[i]) horizon = std::min(horizon, memory_->rings[i].horizon());
  }
  if (horizon != kForever) {
    checker_->Advance(horizon);
    if (stale_) stale_->Advance(horizon);
  }
  if (++looks_ % kLooksPerCount == 0) held_.store(checker_->size(), std::memory_order_relaxed);
  checked_.store(fed_, std::memory_order_relaxed);
  if (checker_->violations() > 0) Collect();
  return taken;
}

void Auditor::Collect() {
  for (Violation& violation : checker_->TakeViolations()) {
    if (violation.reason == Reason::kTooAmbiguous) continue;
    const Settled before = lives_ ? lives_->before(violation.key) : Settled{};
    if (before.form == Settled::Form::kPresent) {
      const Operation restored = RestoredAs(violation.key, before, lives_->begin());
      violation.window.insert(violation.window.begin(), restored);
    }
    violation.restarts = restarts_;
    Take(std::move(violation));
  }
}

void Auditor::Take(Violation violation) {
  ++audited_.violations;
  violations_.fetch_add(1, std::memory_order_relaxed);
  if (audited_.found.size() < kFoundMax) audited_.found.push_back(std::move(violation));
}

bool Auditor::RunTask() {
  const std::lock_guard lock(mutex_);
  if (task_ != nullptr) {
    task_();
    task_ = nullptr;
    changed_.notify_all();
  }
  return !stop_;
}

void Auditor::Run() {
  for (size_t looks = 0;; ++looks) {
    const bool idle = TakeAll() < kAdvanceFrom;
    if ((idle || looks % kTasksEvery == 0) && !RunTask()) return;
    if (!idle) continue;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kRest, [this] { return task_ != nullptr || stop_; });
  }
}

}  // namespace plov::torture
