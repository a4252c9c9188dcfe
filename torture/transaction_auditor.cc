#include "torture/transaction_auditor.h"

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

constexpr size_t kTransactionsAtOnce = 256;
// When more is held, for one operation does not end, only its client's ring is looked at: 110 MiB.
constexpr size_t kTransactionsHeldMax = size_t{1} << 17;
constexpr size_t kViolationsShown = 8;
// For a DELETE without an answer absences of its key are not checked any more: a new history comes sooner.
constexpr uint64_t kUnknownDelete = 32;

}  // namespace

TransactionAuditor::TransactionAuditor(RunMemory* memory, size_t clients)
    : memory_(memory), open_(clients, false) {
  BeginHistory();
}

void TransactionAuditor::BeginHistory() {
  if (memory_->plan.transactions_over_shards) {
    over_shards_.emplace();
  } else {
    checkers_ = std::vector<TransactionChecker>(kTransactionKeys);
  }
}

void TransactionAuditor::Open(size_t client) {
  memory_->transaction_rings[client].Open(Now());
  open_[client] = true;
}

void TransactionAuditor::Close(size_t client) {
  TransactionRing& dead = memory_->transaction_rings[client];
  const auto feed = [this](const TransactionRecord& record) { Feed(record); };
  while (dead.TakeFinished(kTransactionsAtOnce, feed) > 0) {
  }
  dead.TakeUnfinished(feed);
  open_[client] = false;
}

// The horizon is that of all rings, after what each of them had was taken.
size_t TransactionAuditor::Take() {
  const bool full = held_ > kTransactionsHeldMax;
  const auto horizon = [this] {
    Instant earliest = kForever;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i]) earliest = std::min(earliest, memory_->transaction_rings[i].horizon());
    }
    return earliest;
  };
  const Instant earliest = full ? horizon() : kForever;
  size_t taken = 0;
  for (size_t i = 0; i < open_.size(); ++i) {
    TransactionRing& ring = memory_->transaction_rings[i];
    if (!open_[i] || (full && ring.horizon() > earliest)) continue;
    taken += ring.TakeFinished(kTransactionsAtOnce,
                               [this](const TransactionRecord& record) { Feed(record); });
  }
  const Instant known = horizon();
  held_ = 0;
  for (TransactionChecker& checker : checkers_) {
    if (known != kForever) checker.Advance(known);
    held_ += checker.held();
  }
  if (over_shards_) {
    if (known != kForever) over_shards_->Advance(known);
    held_ = over_shards_->held();
  }
  Collect();
  return taken;
}

void TransactionAuditor::EndHistory() {
  Finish();
  BeginHistory();
}

void TransactionAuditor::EndLife(std::span<const TransactionRecord> found) {
  Finish();
  for (const TransactionRecord& record : found) {
    if (!over_shards_) checkers_[record.group].EndLife(record);
    tally_.surveyed += record.count;
  }
  Collect();
}

void TransactionAuditor::Finish() {
  while (Take() > 0) {
  }
  for (TransactionChecker& checker : checkers_) checker.Finish();
  if (over_shards_) over_shards_->Finish();
  Collect();
  unknown_ = 0;
}

// A client that is killed may leave anything in its ring's last entries.
void TransactionAuditor::Feed(const TransactionRecord& record) {
  Count(record);
  if (over_shards_) {
    over_shards_->Feed(record);
  } else {
    checkers_[record.group % kTransactionKeys].Feed(record);
  }
}

void TransactionAuditor::Count(const TransactionRecord& record) {
  const bool is_put = record.kind == TransactionKind::kPut;
  const bool is_get = record.kind == TransactionKind::kGet;
  const bool writes = is_put || (IsWellFormed(record) && record.writes() > 0);
  const auto deletes = [](const TransactionItem& item) { return item.use == ItemUse::kDelete; };
  switch (record.outcome) {
    case Outcome::kOk:
      ++(is_get ? tally_.gets : is_put ? tally_.puts : writes ? tally_.commits : tally_.snapshots);
      return;
    case Outcome::kMismatch:
      ++tally_.conflicts;
      return;
    case Outcome::kRefused:
      ++tally_.refused;
      return;
    default:
      ++tally_.unknown;
      if (writes) unknown_ += std::ranges::any_of(record.all(), deletes) ? kUnknownDelete : 1;
  }
}

template <typename Checker>
void TransactionAuditor::CollectFrom(Checker* checker) {
  tally_.unknown_found += checker->TakeUnknownFound();
  for (TransactionViolation& violation : checker->TakeViolations()) {
    ++tally_.violations;
    if (tally_.found.size() < kViolationsShown) tally_.found.push_back(std::move(violation));
  }
}

void TransactionAuditor::Collect() {
  for (TransactionChecker& checker : checkers_) CollectFrom(&checker);
  if (over_shards_) CollectFrom(&*over_shards_);
}

}  // namespace plov::torture
