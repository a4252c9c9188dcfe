#include "torture/interval_checker.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plov::torture {

namespace {

// With `max_age` keys stay busy for so long, and each look at all of them is dear.
constexpr Instant kAdvancesPerAge = 16;

}  // namespace

IntervalChecker::IntervalChecker(const IntervalOptions& options) : options_(options) {
  if (options_.initial == Initial::kAnything) fresh_key_.form = Settled::Form::kAnything;
  recent_.reserve(options_.recent_count);
}

IntervalChecker::Key& IntervalChecker::KeyOf(uint64_t number) {
  if (number >= kDenseKeys) return sparse_.try_emplace(number, fresh_key_).first->second;
  if (number >= dense_.size()) {
    dense_.resize(std::max<size_t>(number + 1, dense_.size() * 2), fresh_key_);
  }
  return dense_[number];
}

uint32_t IntervalChecker::Hold(uint64_t number, const Key& key) {
  if (idle_.empty()) {
    idle_.push_back(static_cast<uint32_t>(sweeps_.size()));
    sweeps_.push_back(std::make_unique<Held>());
  }
  const uint32_t index = idle_.back();
  idle_.pop_back();
  Held& held = *sweeps_[index];
  held.key = number;
  held.is_idle = false;
  held.sweep.Reset({key.version, key.value, key.form});
  return index;
}

void IntervalChecker::Remember(const Operation& operation) {
  if (recent_.size() < options_.recent_count) {
    recent_.push_back(operation);
  } else if (!recent_.empty()) {
    recent_[fed_ % recent_.size()] = operation;
  }
  ++fed_;
}

void IntervalChecker::Restore(uint64_t key, const Settled& state) {
  Key& restored = KeyOf(key);
  restored.version = state.version;
  restored.value = state.value;
  restored.form = state.form;
}

Operation IntervalChecker::Widened(Operation operation) const {
  const bool may_be_old = operation.kind == Kind::kGet && operation.process != kTool;
  if (may_be_old && IsWellFormed(operation)) {
    operation.start = std::max<Instant>(operation.start - options_.max_age, 0);
  }
  return operation;
}

void IntervalChecker::Feed(const Operation& ended) {
  const Operation operation = options_.max_age == 0 ? ended : Widened(ended);
  Remember(operation);
  const bool says_nothing =
      operation.outcome == Outcome::kRefused ||
      (operation.outcome == Outcome::kUnknown && operation.kind == Kind::kGet);
  if (says_nothing && IsWellFormed(operation)) return;
  waiting_.push_back(operation);
  if (waiting_.size() == kWaitingMax) Distribute();
}

// Brings the keys of operations into the cache while it looks at those before them.
void IntervalChecker::Distribute() {
  constexpr size_t kAhead = 16;  // a cache miss takes about as long as that many operations
  for (size_t i = 0; i < waiting_.size(); ++i) {
    if (i + kAhead < waiting_.size() && waiting_[i + kAhead].key < dense_.size()) {
      __builtin_prefetch(&dense_[waiting_[i + kAhead].key], 1);
    }
    FeedKey(waiting_[i]);
  }
  waiting_.clear();
}

void IntervalChecker::FeedKey(const Operation& operation) {
  Key& key = KeyOf(operation.key);
  if (key.is_broken) return;
  if (key.sweep == kNoSweep) key.sweep = Hold(operation.key, key);
  Held& held = *sweeps_[key.sweep];
  if (!std::exchange(held.is_busy, true)) busy_.push_back(key.sweep);
  held.sweep.Feed(operation);
}

void IntervalChecker::Advance(Instant horizon) {
  Distribute();
  if (horizon != kForever) {
    horizon -= options_.max_age;
    if (horizon < next_advance_) return;
    next_advance_ = horizon + options_.max_age / kAdvancesPerAge;
  }
  std::erase_if(busy_, [this, horizon](uint32_t index) {
    sweeps_[index]->sweep.Sweep(horizon);
    return Settle(index);
  });
}

// Whether the sweep need not be looked at until its key is fed again.
bool IntervalChecker::Settle(uint32_t index) {
  Held& held = *sweeps_[index];
  Key& key = KeyOf(held.key);
  if (const auto& problem = held.sweep.problem()) {
    key.is_broken = true;
    Report(held.key, *problem);
  } else if (const auto settled = held.sweep.settled()) {
    key.version = settled->version;
    key.value = settled->value;
    key.form = settled->form;
  } else {
    held.is_busy = !held.sweep.is_quiet();
    return !held.is_busy;
  }
  key.sweep = kNoSweep;
  held.is_busy = false;
  held.is_idle = true;
  idle_.push_back(index);
  return true;
}

void IntervalChecker::Report(uint64_t number, const Problem& problem) {
  ++(problem.reason == Reason::kTooAmbiguous ? undecided_ : violations_);
  Violation violation = {.key = number, .reason = problem.reason, .instant = problem.instant};
  CollectWindow(&violation);
  found_.push_back(std::move(violation));
}

void IntervalChecker::CollectWindow(Violation* violation) const {
  violation->window_is_whole = fed_ == recent_.size();
  if (recent_.empty()) return;
  const size_t begin = violation->window_is_whole ? 0 : fed_ % recent_.size();
  for (size_t i = 0; i < recent_.size(); ++i) {
    const Operation& operation = recent_[(begin + i) % recent_.size()];
    if (operation.key == violation->key) violation->window.push_back(operation);
  }
}

std::vector<Violation> IntervalChecker::TakeViolations() { return std::exchange(found_, {}); }

size_t IntervalChecker::size() const {
  size_t size = waiting_.size();
  for (const auto& held : sweeps_) size += held->is_idle ? 0 : held->sweep.size();
  return size;
}

SearchResult CheckIntervals(std::span<const Operation> history, Initial initial) {
  const auto form =
      initial == Initial::kAnything ? Settled::Form::kAnything : Settled::Form::kAbsent;
  return CheckIntervals(history, Settled{.form = form});
}

SearchResult CheckIntervals(std::span<const Operation> history, const Settled& before) {
  KeySweep sweep;
  sweep.Reset(before);
  for (const Operation& operation : history) {
    if (operation.outcome != Outcome::kRefused || !IsWellFormed(operation)) sweep.Feed(operation);
  }
  sweep.Sweep(kForever);
  if (!sweep.problem()) return SearchResult::kGood;
  return sweep.problem()->reason == Reason::kTooAmbiguous ? SearchResult::kUndecided
                                                          : SearchResult::kBad;
}

std::string_view ReasonText(Reason reason) {
  constexpr std::array<std::string_view, 10> kTexts = {
      "an operation contradicts itself",
      "one version was stored, or deleted, twice",
      "one version was seen with two values",
      "what an operation met was gone before it started",
      "no order of the operations explains what they came to",
      "too ambiguous to decide",
      "lost: acknowledged, then gone after a kill",
      "read, then lost: returned by a GET, then gone after a kill",
      "lost, though a later write of the shard was kept",
      "after a kill there was what the key had been at no moment of the life before",
  };
  return kTexts[static_cast<size_t>(reason)];
}

}  // namespace plov::torture
