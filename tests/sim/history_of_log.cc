// History checker: lives of a server with a log.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "tests/sim/history_checker.h"

namespace plov::sim {

using torture::Operation;
using torture::Outcome;
using torture::Settled;

uint32_t HistoryChecker::BeginRestored(torture::Commit commit, uint64_t first_version,
                                       const HostClock& clock, const Restored& restored) {
  const bool is_first = lives_.empty();
  is_strict_ = commit == torture::Commit::kStrict;
  const uint32_t life = Begin(0, first_version, is_strict_, clock, restored.now);
  // A life after one that left nothing at all begins anywhere.
  uint64_t& first = lives_[life].first_versions.front();
  first = std::min(first, first_version);
  if (!is_strict_ && !loss_) loss_.emplace(commit);
  if (loss_) loss_->Begin(restored);
  for (uint64_t key = 0; key < restored.state.size() && !is_first; ++key) {
    const Settled& state = restored.state[key];
    Operation found = GetOf(state, restored.now, restored.now);
    found.key = key;
    if (IsHit(found)) NoteValue(found);
    if (is_strict_) {
      lives_[life].checker->Feed(found);
    } else {
      lives_[life].checker->Restore(key, state);
    }
  }
  return life;
}

void HistoryChecker::FeedLife(size_t life, const Operation& operation) {
  lives_[life].checker->Feed(operation);
  loss_->Feed(life, operation);
}

// It may have taken effect in any of them.
void HistoryChecker::FeedOpen(Operation operation, LifeSet lives) {
  operation.outcome = Outcome::kUnknown;
  operation.version = 0;
  for (size_t life = 0; life < lives_.size(); ++life) {
    if (lives >> life & 1) FeedLife(life, operation);
  }
}

// A version is of the life that drew it: a store took effect in that one, everything else in it or later. A
// write that took effect in one life may have done so before, and have been lost.
void HistoryChecker::FeedOfLog(const Operation& operation, LifeSet lives) {
  const uint64_t version = torture::KnownVersion(operation);
  const Life* drawn = version == 0 ? nullptr : LifeOf(version);
  const bool is_write = operation.kind != torture::Kind::kGet;
  LifeSet may = lives;
  if (version != 0) {
    if (drawn == nullptr || operation.end < drawn->begin) return AccuseOfLife(operation, drawn);
    const LifeSet its_own = LifeSet{1} << NumberOf(drawn);
    may &= IsStored(operation) ? its_own : ~(its_own - 1);
    const bool is_late = IsStored(operation) && operation.start > drawn->end;
    if (may == 0 || is_late) return AccuseOfLife(operation, drawn);
  }
  if (IsStored(operation) || IsHit(operation)) NoteValue(operation);
  if (std::popcount(may) == 1 && !IsOpen(operation)) {
    FeedLife(static_cast<size_t>(std::countr_zero(may)), operation);
    if (is_write) FeedOpen(operation, lives & (may - 1));
  } else if (is_write) {
    FeedOpen(operation, lives);
  }
}

// At most once: under two versions only if the first one was lost.
void HistoryChecker::NoteValue(const Operation& told) {
  if (told.value == torture::kForeign) return;
  const auto [noted, is_new] = stored_.try_emplace(told.value, told.version, told.end);
  Stored& stored = noted->second;
  if (is_new) return;
  stored.by = std::min(stored.by, told.end);
  if (stored.version == told.version) return;
  // A later life's versions may be less: one that finds nothing begins anywhere.
  const auto in_order = [this](uint64_t version) { return std::pair(LifeOf(version), version); };
  uint64_t first = stored.version, second = told.version;
  if (in_order(second) < in_order(first)) std::swap(first, second);
  if (!IsLost(first)) {
    Accuse(fmt::format("a write was applied twice: its value has the versions {} and {}", first,
                       second));
  }
  stored = {second, stored.version == second ? stored.by : told.end};
}

bool HistoryChecker::IsLost(uint64_t version) const {
  const Life* life = LifeOf(version);
  return loss_ && life != nullptr && loss_->IsLost(NumberOf(life), version);
}

torture::Instant HistoryChecker::WhenStored(torture::ValueId value) const {
  const auto noted = stored_.find(value);
  if (noted == stored_.end() || IsLost(noted->second.version)) return torture::kForever;
  return noted->second.by;
}

void HistoryChecker::FeedSync(const Sync& sync, LifeSet lives) {
  if (!loss_) return;
  const auto life = static_cast<size_t>(std::countr_zero(lives));
  const bool is_of_one = std::popcount(lives) == 1 && lives_[life].end == torture::kForever;
  if (is_of_one) loss_->FeedSync(life, sync.start);
  if (sync.own_since) loss_->FeedOwnSync(sync.process, *sync.own_since, sync.start);
  Accuse(loss_->TakeAccusation());
}

}  // namespace plov::sim
