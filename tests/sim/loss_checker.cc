#include "tests/sim/loss_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace plov::sim {

using torture::Commit;
using torture::Operation;
using torture::Outcome;
using torture::Settled;

Operation GetOf(const Settled& state, torture::Instant start, torture::Instant end) {
  Operation get{.start = start, .end = end};
  get.process = torture::kTool;
  get.outcome = Outcome::kAbsent;
  if (state.form == Settled::Form::kAbsent) return get;
  get.outcome = Outcome::kOk;
  get.value = state.value;
  get.version = state.version;
  return get;
}

// An operation that was under way when a life ended or began lies within the one that it is of.
void LossChecker::Feed(size_t life, const Operation& operation) {
  if (operation.outcome == Outcome::kRefused) return;
  if (operation.kind == torture::Kind::kGet && IsOpen(operation)) return;
  Operation& fed = lives_[life].operations.emplace_back(operation);
  fed.start = std::max(fed.start, lives_[life].begun.now);
  if (life + 1 < lives_.size()) fed.end = std::min(fed.end, lives_[life + 1].begun.now - 1);
}

void LossChecker::FeedSync(size_t life, torture::Instant start) {
  lives_[life].synced = std::max(lives_[life].synced, start);
}

std::vector<torture::Violation> LossChecker::Check() {
  std::vector<torture::Violation> violations;
  for (; checked_ + 1 < lives_.size(); ++checked_) {
    const Restored& next = lives_[checked_ + 1].begun;
    CheckPromises(checked_);
    for (uint64_t key = 0; key < next.state.size(); ++key) {
      std::vector<Operation> operations;
      std::ranges::copy_if(lives_[checked_].operations, std::back_inserter(operations),
                           [key](const Operation& operation) { return operation.key == key; });
      const torture::Life life = {.before = lives_[checked_].begun.state[key],
                                  .operations = operations,
                                  .begin = lives_[checked_].begun.now,
                                  .end = {.at = next.now, .kept = next.cut}};
      const Settled& after = next.state[key];
      if (MayBecome(checked_, life, after)) continue;
      Operation get = GetOf(after, next.now, next.now);
      get.key = key;
      const torture::Reason reason = LossReason(life, after, commit_);
      operations.push_back(get);
      violations.push_back({.key = key,
                            .reason = reason,
                            .instant = next.now,
                            .window = operations,
                            .window_is_whole = true,
                            .restarts = {life.end},
                            .commit = commit_});
    }
  }
  return violations;
}

bool LossChecker::MayBecome(size_t life, const torture::Life& of_key, const Settled& after) const {
  if (!torture::MayBecome(of_key, after, commit_)) return false;
  if (commit_ != Commit::kAsync) return true;
  std::vector<Operation> operations(of_key.operations.begin(), of_key.operations.end());
  const torture::Instant from = std::max(of_key.begin, lives_[life].synced);
  operations.push_back(GetOf(after, from, of_key.end.at));
  return CheckIntervals(operations, of_key.before) != torture::SearchResult::kBad;
}

// By versions alone, which no order of operations explains away.
void LossChecker::CheckPromises(size_t life) {
  const uint64_t cut = lives_[life + 1].begun.cut;
  for (const Operation& operation : lives_[life].operations) {
    if (IsOpen(operation) || torture::KnownVersion(operation) <= cut) continue;
    const bool is_synced = operation.end < lives_[life].synced;
    const bool is_promised = commit_ == Commit::kAcked && operation.kind != torture::Kind::kGet;
    if (!is_promised && !is_synced) continue;
    AccuseOf(life, operation, is_promised ? "which was acknowledged" : "which a Sync told of");
    return;
  }
}

void LossChecker::FeedOwnSync(uint32_t process, torture::Instant from, torture::Instant start) {
  for (size_t life = 0; life + 1 < lives_.size(); ++life) {
    for (const Operation& operation : lives_[life].operations) {
      if (operation.process != process || operation.kind == torture::Kind::kGet) continue;
      if (IsOpen(operation) || operation.end <= from || operation.end >= start) continue;
      if (!IsLost(life, torture::KnownVersion(operation))) continue;
      return AccuseOf(life, operation, "which a later Sync of the same client told of");
    }
  }
}

void LossChecker::AccuseOf(size_t life, const Operation& operation, const char* promise) {
  accusation_ = fmt::format(
      "a {} of key {} at {}..{} told of version {}, {}, and after the death the log ended at {}",
      torture::KindName(operation.kind), operation.key, operation.start, operation.end,
      torture::KnownVersion(operation), promise, lives_[life + 1].begun.cut);
}

}  // namespace plov::sim
