#include "torture/shrink.h"

#include <algorithm>
#include <string>
#include <utility>

#include "torture/loss.h"
#include "torture/weaken.h"

namespace plov::torture {

namespace {

// Most violations are between operations that are near to each other.
constexpr size_t kShortestEnd = 32;
constexpr size_t kEndsGrowBy = 4;
// Several lives are judged by all states between them, which costs the length squared.
constexpr size_t kLivesLengthMax = 512;
// What is longer takes minutes to shrink.
constexpr size_t kLengthMax = size_t{1} << 14;

bool IsWrong(const std::vector<Operation>& history, const Rules& rules) {
  return CheckLives(history, rules) == SearchResult::kBad;
}

// Takes `smaller` over if it is smaller or at least simpler, and still wrong.
bool Adopt(std::vector<Operation>* history, std::vector<Operation>&& smaller, const Rules& rules) {
  if (smaller == *history || !IsWrong(smaller, rules)) return false;
  *history = std::move(smaller);
  return true;
}

// The least instant after which the history is wrong whatever came later.
void CutEarliest(std::vector<Operation>* history, const Rules& rules) {
  std::vector<Instant> ends;
  for (const Operation& operation : *history) {
    if (operation.outcome != Outcome::kUnknown) ends.push_back(operation.end);
  }
  std::ranges::sort(ends);
  // What is wrong by an instant is wrong by every later one.
  const auto first = std::ranges::partition_point(
      ends, [&](Instant end) { return !IsWrong(CutAfter(*history, end), rules); });
  if (first != ends.end()) Adopt(history, CutAfter(*history, *first), rules);
}

// Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
void DropObservations(std::vector<Operation>* history, const Rules& rules) {
  for (size_t length = history->size(); length > 1; length = (length + 1) / 2) {
    for (size_t begin = 0; begin < history->size();) {
      if (!Adopt(history, WithoutObservations(*history, begin, begin + length), rules)) {
        begin += length;
      }
    }
  }
}

bool DropOne(std::vector<Operation>* history, const Rules& rules) {
  bool any = false;
  for (size_t i = history->size(); i-- > 0;) {
    if (i < history->size()) any |= Adopt(history, WithoutOne(*history, i), rules);
  }
  return any;
}

std::vector<Operation> ShrinkBy(std::vector<Operation> history, const Rules& rules) {
  if (!IsWrong(history, rules)) return history;
  std::erase_if(history, [](const Operation& operation) {
    return operation.outcome == Outcome::kRefused && IsWellFormed(operation);
  });
  CutEarliest(&history, rules);
  DropObservations(&history, rules);
  while (DropOne(&history, rules)) CutEarliest(&history, rules);
  return history;
}

// Those between and during operations, and the last before them. What stands for lost ones has no
// instant.
std::vector<Restart> Within(std::vector<Restart> restarts, std::span<const Operation> history) {
  Instant first = kForever, last = kNever;
  for (const Operation& operation : history) {
    const bool is_lost_one = operation.process == kBefore && IsOpen(operation);
    if (!is_lost_one) first = std::min(first, operation.start);
    last = std::max(last, IsOpen(operation) ? operation.start : operation.end);
  }
  std::erase_if(restarts, [last](const Restart& restart) { return restart.at > last; });
  const auto inside = std::ranges::find_if(
      restarts, [first](const Restart& restart) { return restart.at > first; });
  if (inside != restarts.begin()) restarts.erase(restarts.begin(), inside - 1);
  return restarts;
}

bool IsCheap(const std::vector<Operation>& history, const Rules& rules) {
  const bool has_lives = !rules.restarts.empty() && rules.commit != Commit::kStrict;
  return history.size() <= (has_lives ? kLivesLengthMax : kLengthMax);
}

// The shortest end of the history that is wrong by itself, made ready for Initial::kAnything; empty
// when none is.
std::vector<Operation> WrongEnd(const std::vector<Operation>& history, Rules rules) {
  const std::vector<Restart> restarts = std::move(rules.restarts);
  rules.initial = Initial::kAnything;
  for (size_t count = kShortestEnd; count < history.size(); count *= kEndsGrowBy) {
    const auto begin = history.end() - static_cast<std::ptrdiff_t>(count);
    auto end = CompleteWindow({begin, history.end()});
    rules.restarts = Within(restarts, end);
    if (!IsCheap(end, rules)) break;
    if (IsWrong(end, rules)) return end;
  }
  return {};
}

// The end of the first hit that met what a store that was over before it started had overwritten; else
// `instant`.
Instant EndOfStale(const std::vector<Operation>& window, Instant instant) {
  std::vector<std::pair<Instant, uint64_t>> newest;  // from when on, at least which version
  for (const Operation& operation : window) {
    if (IsStored(operation)) newest.emplace_back(operation.end, operation.version);
  }
  std::ranges::sort(newest);
  for (size_t i = 1; i < newest.size(); ++i) {
    newest[i].second = std::max(newest[i].second, newest[i - 1].second);
  }
  Instant end = kForever;
  for (const Operation& operation : window) {
    if (!IsHit(operation)) continue;
    const auto later =
        std::ranges::lower_bound(newest, operation.start, {}, &std::pair<Instant, uint64_t>::first);
    const bool is_stale = later != newest.begin() && (later - 1)->second > operation.version;
    if (is_stale) end = std::min(end, operation.end);
  }
  return end == kForever ? instant : end;
}

// The same of what lies around one GET, however much happened while it was under way.
std::vector<Operation> WrongGet(const std::vector<Operation>& window, Instant end,
                                const Rules& rules) {
  if (!rules.restarts.empty()) return {};
  return WrongEnd(ByStart(WithoutLater(CutAfter(window, end), end)), rules);
}

}  // namespace

std::vector<Operation> Shrink(std::vector<Operation> history, Initial initial) {
  return ShrinkBy(std::move(history), {.initial = initial});
}

Finding Explain(const Violation& violation, Initial initial) {
  if (auto loss = ExplainLoss(violation)) return std::move(*loss);
  Rules rules = {initial, violation.restarts, violation.commit};
  Finding finding;
  finding.key = violation.key;
  finding.reason = std::string(ReasonText(violation.reason));
  finding.instant = violation.instant;
  const Instant end = EndOfStale(violation.window, violation.instant);
  finding.history = WrongGet(violation.window, end, rules);
  if (!finding.history.empty()) {
    finding.instant = end;
  } else {
    finding.history = WrongEnd(ByStart(CutAfter(violation.window, violation.instant)), rules);
  }
  if (!finding.history.empty() || !violation.window_is_whole) rules.initial = Initial::kAnything;
  if (finding.history.empty()) {
    finding.history =
        violation.window_is_whole ? violation.window : CompleteWindow(violation.window);
  }
  rules.restarts = Within(std::move(rules.restarts), finding.history);
  finding.is_minimal = IsCheap(finding.history, rules) && IsWrong(finding.history, rules);
  if (finding.is_minimal) {
    finding.history = ShrinkBy(std::move(finding.history), rules);
  } else {
    finding.history = violation.window;
  }
  finding.initial = rules.initial;
  finding.restarts = Within(std::move(rules.restarts), finding.history);
  finding.commit = rules.commit;
  return finding;
}

}  // namespace plov::torture
