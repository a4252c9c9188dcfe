#include "torture/lives.h"

#include <algorithm>
#include <set>
#include <utility>

#include "torture/interval_checker.h"

namespace plov::torture {

namespace {

using Form = Settled::Form;

// The lives of a key, one after the other, with all states that each can have begun with.
class LivesRun {
 public:
  // stays: an answered operation that reaches over a restart belongs to the life it began in, else
  // to the next one.
  LivesRun(std::span<const Operation> history, const Rules& rules, bool stays);
  SearchResult Run();

 private:
  void Place(Operation operation, bool stays);
  std::vector<Settled> After(size_t life) const;
  std::vector<Settled> Candidates(size_t life) const;
  bool CanBegin(size_t life, const Settled& state);
  Life LifeFrom(size_t life, const Settled& before) const;

  const Rules& rules_;
  std::vector<std::vector<Operation>> lives_;
  std::vector<std::set<uint64_t>> named_later_;  // by a later life
  std::vector<Settled> states_;                  // with which the life at hand can have begun
  bool is_undecided_ = false;
};

LivesRun::LivesRun(std::span<const Operation> history, const Rules& rules, bool stays)
    : rules_(rules), lives_(rules.restarts.size() + 1), named_later_(lives_.size()) {
  for (const Operation& operation : history) Place(operation, stays);
  for (size_t life = lives_.size() - 1; life > 0; --life) {
    named_later_[life - 1] = named_later_[life];
    for (const Operation& operation : lives_[life]) {
      named_later_[life - 1].insert(KnownVersion(operation));
      if (IsConditional(operation.kind)) named_later_[life - 1].insert(operation.expected);
    }
  }
}

void LivesRun::Place(Operation operation, bool stays) {
  const auto is_before = [](Instant instant, const Restart& restart) {
    return instant < restart.at;
  };
  const auto& restarts = rules_.restarts;
  auto next = std::upper_bound(restarts.begin(), restarts.end(), operation.start, is_before);
  if (next != restarts.end() && !IsOpen(operation) && operation.end > next->at) {
    if (stays) {
      operation.end = next->at;
    } else {
      next = std::upper_bound(next, restarts.end(), operation.end, is_before);
      operation.start = (next - 1)->at;
    }
  }
  lives_[static_cast<size_t>(next - restarts.begin())].push_back(operation);
}

Life LivesRun::LifeFrom(size_t life, const Settled& before) const {
  return {.before = before,
          .operations = lives_[life],
          .begin = life == 0 ? 0 : rules_.restarts[life - 1].at,
          .end = rules_.restarts[life]};
}

bool LivesRun::CanBegin(size_t life, const Settled& state) {
  const SearchResult result = CheckIntervals(lives_[life], state);
  is_undecided_ |= result == SearchResult::kUndecided;
  return result != SearchResult::kBad;
}

// All that the key can have been in the life, as far as anybody has told or can tell later.
std::vector<Settled> LivesRun::Candidates(size_t life) const {
  std::vector<Settled> states = {Settled{}};
  std::set<ValueId> named;
  std::set<uint64_t> versions = named_later_[life];
  uint64_t last = 0;
  for (const Settled& before : states_) {
    if (before.form == Form::kPresent) states.push_back(before);
    last = std::max(last, before.version);
  }
  for (const Operation& operation : lives_[life]) {
    last = std::max(last, KnownVersion(operation));
    if (!IsStored(operation) && !IsHit(operation)) continue;
    states.push_back({operation.version, operation.value, Form::kPresent});
    named.insert(operation.value);
  }
  // A store without an answer may have any version; of those that nobody names one is enough.
  versions.insert(last + 1);
  versions.erase(0);
  for (const Operation& operation : lives_[life]) {
    if (!IsOpen(operation) || !IsStore(operation.kind) || named.contains(operation.value)) continue;
    for (const uint64_t version : versions) {
      states.push_back({version, operation.value, Form::kPresent});
    }
  }
  if (states_.front().form == Form::kAnything) {
    for (const uint64_t version : versions) states.push_back({version, kForeign, Form::kPresent});
  }
  return states;
}

// The states that the life can have left. Of those that nobody looks at later one is enough.
std::vector<Settled> LivesRun::After(size_t life) const {
  std::vector<Settled> after;
  std::set<std::pair<uint64_t, ValueId>> seen;
  bool has_unnamed = false;
  for (const Settled& state : Candidates(life)) {
    const bool is_unnamed =
        state.form == Form::kPresent && !named_later_[life].contains(state.version);
    if (!seen.emplace(state.version, state.value).second || (is_unnamed && has_unnamed)) continue;
    const bool may = std::ranges::any_of(states_, [&](const Settled& before) {
      return MayBecome(LifeFrom(life, before), state, rules_.commit);
    });
    if (!may) continue;
    has_unnamed |= is_unnamed;
    after.push_back(state);
  }
  return after;
}

SearchResult LivesRun::Run() {
  Settled first;
  if (rules_.initial == Initial::kAnything) first.form = Form::kAnything;
  states_ = {first};
  for (size_t life = 0; life < lives_.size(); ++life) {
    std::erase_if(states_, [&](const Settled& state) { return !CanBegin(life, state); });
    if (states_.empty()) return SearchResult::kBad;
    if (life + 1 < lives_.size()) states_ = After(life);
    if (states_.empty()) return SearchResult::kBad;
  }
  return is_undecided_ ? SearchResult::kUndecided : SearchResult::kGood;
}

}  // namespace

SearchResult CheckLives(std::span<const Operation> history, const Rules& rules) {
  if (rules.restarts.empty() || rules.commit == Commit::kStrict) {
    return CheckIntervals(history, rules.initial);
  }
  const SearchResult result = LivesRun(history, rules, true).Run();
  if (result != SearchResult::kBad) return result;
  return LivesRun(history, rules, false).Run();
}

std::optional<Reason> LossIn(std::span<const Operation> history, const Rules& rules) {
  if (rules.restarts.empty()) return std::nullopt;
  Rules weaker = rules;
  for (Restart& restart : weaker.restarts) restart.kept = 0;
  const auto is_right = [&](Commit commit) {
    weaker.commit = commit;
    return CheckLives(history, weaker) == SearchResult::kGood;
  };
  if (rules.commit != Commit::kStrict && is_right(rules.commit)) return Reason::kGap;
  if (rules.commit == Commit::kStrict && is_right(Commit::kAcked)) return Reason::kReadThenLost;
  if (rules.commit != Commit::kAsync && is_right(Commit::kAsync)) return Reason::kLost;
  return std::nullopt;
}

}  // namespace plov::torture
