#include "torture/life_checker.h"

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

// Whether an operation has told of more than is there.
bool HasGoneBack(const Life& life, const Settled& after) {
  if (after.form != Settled::Form::kPresent) return false;
  return std::ranges::any_of(life.operations, [&after](const Operation& operation) {
    return KnownVersion(operation) > after.version;
  });
}

// Whether the GET can be of this life at all. Of a value that is back from an earlier one no
// operation of this life says anything.
bool IsWritten(const Life& life, const Operation& get) {
  if (get.outcome != Outcome::kOk || get.version <= life.before.version) return true;
  return std::ranges::any_of(life.operations, [&get](const Operation& operation) {
    return IsStore(operation.kind) && operation.value == get.value;
  });
}

}  // namespace

Operation RestoredAs(uint64_t key, const Settled& before, Instant begin) {
  const Instant at = std::max<Instant>(begin - 1, 0);
  return {.start = at,
          .end = at,
          .key = key,
          .value = before.value,
          .version = before.version,
          .process = kBefore,
          .kind = Kind::kPut};
}

void LifeChecker::Begin(Instant now) {
  begin_ = now;
  before_.clear();
  operations_.clear();
}

void LifeChecker::Feed(const Operation& operation) {
  if (operation.outcome == Outcome::kRefused) return;
  const bool is_get = operation.kind == Kind::kGet;
  if (is_get && (IsOpen(operation) || operations_.size() >= kOperationsMax)) return;
  operations_.push_back(operation);
}

// The highest version of the life that was not lost, for certain.
uint64_t LifeChecker::KeptVersion(std::span<const Operation> survey) const {
  uint64_t kept = 0;
  for (const Operation& get : survey) {
    const Settled after = StateOf(get);
    if (after.version > before(get.key).version) kept = std::max(kept, after.version);
  }
  if (commit_ != Commit::kAcked) return kept;
  for (const Operation& operation : operations_) {
    if (IsStored(operation)) kept = std::max(kept, operation.version);
  }
  return kept;
}

std::span<const Operation> LifeChecker::OperationsOf(uint64_t key) const {
  const auto of = std::ranges::equal_range(operations_, key, {}, &Operation::key);
  return {of.begin(), of.end()};
}

Violation LifeChecker::ViolationOf(const Life& life, const Operation& get) const {
  Violation violation = {.key = get.key,
                         .reason = LossReason(life, StateOf(get), commit_),
                         .instant = get.end,
                         .window_is_whole = true,
                         .restarts = {life.end},
                         .commit = commit_};
  if (life.before.form == Settled::Form::kPresent) {
    // As it was found, so that the check of the window knows that it was there.
    Operation found = RestoredAs(get.key, life.before, begin_);
    violation.window.push_back(found);
    found.start = found.end = begin_;
    found.process = kTool;
    found.kind = Kind::kGet;
    violation.window.push_back(found);
    violation.restarts.insert(violation.restarts.begin(), {.at = begin_});
  }
  if (IsWritten(life, get)) {
    violation.window.insert(violation.window.end(), life.operations.begin(), life.operations.end());
  }
  violation.window.push_back(get);
  return violation;
}

std::vector<Violation> LifeChecker::End(Instant restart, std::span<const Operation> survey) {
  std::ranges::sort(operations_, {}, [](const Operation& operation) {
    return std::pair(operation.key, operation.start);
  });
  const Restart end = {restart, is_one_shard_ ? KeptVersion(survey) : 0};
  std::vector<Violation> violations;
  for (const Operation& get : survey) {
    const Life life = {before(get.key), OperationsOf(get.key), begin_, end};
    if (violations.size() < kViolationsMax && !MayBecome(life, StateOf(get), commit_)) {
      violations.push_back(ViolationOf(life, get));
    }
    gone_back_ += HasGoneBack(life, StateOf(get)) ? 1 : 0;
  }
  before_.clear();
  for (const Operation& get : survey) {
    if (get.key >= before_.size()) before_.resize(get.key + 1);
    before_[get.key] = StateOf(get);
  }
  operations_.clear();
  begin_ = restart;
  return violations;
}

}  // namespace plov::torture
