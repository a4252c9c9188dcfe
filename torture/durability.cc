#include "torture/durability.h"

#include <algorithm>
#include <vector>

#include "torture/interval_checker.h"

namespace plov::torture {

namespace {

using Form = Settled::Form;

Operation GetOf(const Settled& state, Instant start, Instant end) {
  Operation get;
  get.start = start;
  get.end = end;
  get.process = kTool;
  get.outcome = state.form == Form::kPresent ? Outcome::kOk : Outcome::kAbsent;
  if (state.form == Form::kPresent) {
    get.value = state.value;
    get.version = state.version;
  }
  return get;
}

// Whether a version is gone though a later one of its shard was kept.
bool HasGap(const Life& life, const Settled& after) {
  const bool is_present = after.form == Form::kPresent;
  Instant last = kNever;  // start of the last operation that tells of a version that must be there
  for (const Operation& operation : life.operations) {
    const uint64_t version = KnownVersion(operation);
    if (version == 0 || version > life.end.kept) continue;
    if (is_present && version > after.version) return true;
    if (!is_present) last = std::max(last, operation.start);
  }
  if (last == kNever) return false;
  // It was deleted then.
  return std::ranges::none_of(life.operations, [last](const Operation& operation) {
    if (!IsDelete(operation.kind)) return false;
    return IsOpen(operation) || (operation.outcome == Outcome::kOk && operation.end >= last);
  });
}

// Whether the state was there at some instant for certain, without looking at orders.
bool IsNamed(const Life& life, const Settled& state) {
  if (state.form == Form::kAbsent) return life.before.form == Form::kAbsent;
  const auto is_state = [&state](uint64_t version, ValueId value) {
    return version == state.version && value == state.value;
  };
  if (life.before.form == Form::kPresent && is_state(life.before.version, life.before.value)) {
    return true;
  }
  return std::ranges::any_of(life.operations, [&](const Operation& operation) {
    return (IsStored(operation) || IsHit(operation)) &&
           is_state(operation.version, operation.value);
  });
}

// Whether no answer to a write tells of anything but the state and what was before it.
bool NothingIsToldAfter(const Life& life, const Settled& state) {
  return std::ranges::none_of(life.operations, [&state](const Operation& operation) {
    if (operation.kind == Kind::kGet || IsOpen(operation)) return false;
    if (operation.outcome == Outcome::kRefused) return false;
    if (state.form != Form::kPresent || operation.outcome == Outcome::kAbsent) return true;
    return IsDelete(operation.kind) || KnownVersion(operation) > state.version;
  });
}

// The operations of a life, of GETs those that returned up to this version, and one that returns
// `after`.
bool Explains(const Life& life, uint64_t version, const Settled& after) {
  std::vector<Operation> operations;
  for (const Operation& operation : life.operations) {
    const bool is_before = IsHit(operation) && operation.version <= version;
    if (operation.kind != Kind::kGet || is_before) operations.push_back(operation);
  }
  operations.push_back(GetOf(after, life.end.at, life.end.at));
  return CheckIntervals(operations, life.before) != SearchResult::kBad;
}

// Of acked: what GETs have returned that is behind the cut may be gone. Where the key is absent the
// cut is anywhere; it matters to writes without an answer alone, to those that expect a version that
// nobody but GETs has told of.
bool MayBecomeAcked(const Life& life, const Settled& after) {
  if (after.form == Form::kPresent) return Explains(life, after.version, after);
  return Explains(life, 0, after) ||
         std::ranges::any_of(life.operations, [&](const Operation& operation) {
           return IsOpen(operation) && IsConditional(operation.kind) &&
                  Explains(life, operation.expected, after);
         });
}

}  // namespace

std::optional<Commit> CommitNamed(std::string_view name) {
  const auto* found = std::ranges::find(kCommitNames, name);
  if (found == kCommitNames.end()) return std::nullopt;
  return static_cast<Commit>(found - kCommitNames.begin());
}

Settled StateOf(const Operation& get) {
  if (get.outcome != Outcome::kOk) return {};
  return {get.version, get.value, Form::kPresent};
}

bool MayBecome(const Life& life, const Settled& after, Commit commit) {
  if (HasGap(life, after)) return false;
  if (commit != Commit::kStrict && IsNamed(life, after) &&
      (commit == Commit::kAsync || NothingIsToldAfter(life, after))) {
    return true;
  }
  if (commit == Commit::kAcked) return MayBecomeAcked(life, after);
  std::vector<Operation> operations(life.operations.begin(), life.operations.end());
  const Instant from = commit == Commit::kAsync ? life.begin : life.end.at;
  operations.push_back(GetOf(after, from, life.end.at));
  return CheckIntervals(operations, life.before) != SearchResult::kBad;
}

Reason LossReason(const Life& life, const Settled& after, Commit commit) {
  Life alone = life;
  alone.end.kept = 0;
  if (life.end.kept != 0 && MayBecome(alone, after, commit)) return Reason::kGap;
  if (commit == Commit::kStrict && MayBecome(alone, after, Commit::kAcked)) {
    return Reason::kReadThenLost;
  }
  if (commit != Commit::kAsync && MayBecome(alone, after, Commit::kAsync)) return Reason::kLost;
  const bool is_older = after.form == Form::kAbsent || after.version < life.before.version;
  return life.before.form == Form::kPresent && is_older ? Reason::kLost : Reason::kNeverWas;
}

}  // namespace plov::torture
