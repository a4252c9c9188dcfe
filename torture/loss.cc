#include "torture/loss.h"

#include <algorithm>
#include <string>
#include <vector>

namespace plov::torture {

namespace {

bool IsAnswered(const Operation& operation) {
  return !IsOpen(operation) && operation.outcome != Outcome::kRefused && IsWellFormed(operation);
}

class LossFinder {
 public:
  explicit LossFinder(const Violation& violation)
      : violation_(violation), sorted_(ByStart(violation.window)) {}

  std::optional<Finding> Find();

 private:
  const Restart* EndOf(const Operation& teller) const;
  bool Binds(const Operation& teller) const;
  bool IsGone(const Operation& teller, const Operation& finder) const;
  bool MayBeDeleted(const Operation& teller, const Operation& finder) const;
  const Operation* StoreOf(uint64_t version, ValueId value) const;
  Finding FindingOf(const Operation& teller, const Operation& finder) const;

  const Violation& violation_;
  std::vector<Operation> sorted_;  // by start
};

// Of the life that the operation began in.
const Restart* LossFinder::EndOf(const Operation& teller) const {
  const auto end = std::ranges::find_if(
      violation_.restarts, [&](const Restart& restart) { return restart.at > teller.start; });
  return end == violation_.restarts.end() ? nullptr : &*end;
}

// Whether what it tells must still be there after the kill.
bool LossFinder::Binds(const Operation& teller) const {
  const Restart* end = EndOf(teller);
  if (end == nullptr || !IsAnswered(teller) || KnownVersion(teller) == 0) return false;
  if (teller.process == kBefore) return false;  // a GET of the tool tells the same
  if (violation_.commit == Commit::kStrict || KnownVersion(teller) <= end->kept) return true;
  if (teller.process == kTool) return true;  // the life began with it
  return violation_.commit == Commit::kAcked && teller.kind != Kind::kGet;
}

bool LossFinder::MayBeDeleted(const Operation& teller, const Operation& finder) const {
  return std::ranges::any_of(sorted_, [&](const Operation& operation) {
    if (!IsDelete(operation.kind) || operation.start > finder.end) return false;
    return IsOpen(operation) ||
           (operation.outcome == Outcome::kOk && operation.end >= teller.start);
  });
}

bool LossFinder::IsGone(const Operation& teller, const Operation& finder) const {
  if (EndOf(teller)->at > finder.end) return false;
  if (finder.outcome == Outcome::kAbsent) return !MayBeDeleted(teller, finder);
  // A store says by its own version that nothing higher was there.
  const uint64_t held = HeldVersion(finder), met = held != 0 ? held : KnownVersion(finder);
  return met != 0 && met < KnownVersion(teller);
}

const Operation* LossFinder::StoreOf(uint64_t version, ValueId value) const {
  const auto store = std::ranges::find_if(sorted_, [&](const Operation& operation) {
    if (!IsStore(operation.kind)) return false;
    return (IsStored(operation) && operation.version == version) ||
           (IsOpen(operation) && operation.value == value && value != kForeign);
  });
  return store == sorted_.end() ? nullptr : &*store;
}

Finding LossFinder::FindingOf(const Operation& teller, const Operation& finder) const {
  Finding finding;
  finding.key = violation_.key;
  finding.instant = finder.end;
  finding.initial = Initial::kAnything;
  finding.is_minimal = true;
  for (const Operation* shown : {&finder, &teller}) {
    const Operation* store = StoreOf(KnownVersion(*shown), IsHit(*shown) ? shown->value : kForeign);
    if (KnownVersion(*shown) != 0 && store != nullptr && !(*store == *shown)) {
      finding.history.push_back(*store);
    }
  }
  finding.history.push_back(teller);
  finding.history.push_back(finder);
  finding.restarts = violation_.restarts;
  const Instant first = std::ranges::min(finding.history, {}, &Operation::start).start;
  std::erase_if(finding.restarts, [&](const Restart& restart) {
    return restart.at <= first || restart.at > finder.end;
  });
  finding.commit = violation_.commit;
  const bool is_strict = violation_.commit == Commit::kStrict;
  Reason reason = is_strict ? Reason::kReadThenLost : Reason::kGap;
  const bool is_promised = violation_.commit != Commit::kAsync && teller.kind != Kind::kGet;
  if (is_promised || (!is_strict && teller.process == kTool)) reason = Reason::kLost;
  finding.reason = std::string(ReasonText(reason));
  return finding;
}

// Goes through the operations by start, and keeps of those that ended before the one with the
// highest version; writes, which tell the most, by themselves.
std::optional<Finding> LossFinder::Find() {
  std::vector<const Operation*> tellers;
  for (const Operation& operation : sorted_) {
    if (Binds(operation)) tellers.push_back(&operation);
  }
  std::ranges::sort(tellers, {}, &Operation::end);
  size_t ended = 0;
  const Operation *write = nullptr, *any = nullptr;
  for (const Operation& finder : sorted_) {
    if (!IsAnswered(finder)) continue;
    for (; ended < tellers.size() && tellers[ended]->end < finder.start; ++ended) {
      const Operation* teller = tellers[ended];
      const auto is_higher = [teller](const Operation* than) {
        return than == nullptr || KnownVersion(*teller) > KnownVersion(*than);
      };
      if (is_higher(any)) any = teller;
      if (teller->kind != Kind::kGet && is_higher(write)) write = teller;
    }
    for (const Operation* teller : {write, any}) {
      if (teller != nullptr && IsGone(*teller, finder)) return FindingOf(*teller, finder);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> ExplainLoss(const Violation& violation) {
  if (violation.restarts.empty()) return std::nullopt;
  return LossFinder(violation).Find();
}

}  // namespace plov::torture
