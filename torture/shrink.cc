#include "torture/shrink.h"

#include <algorithm>
#include <string>

#include "torture/weaken.h"

namespace plov::torture {

namespace {

// Most violations are between operations that are near to each other.
constexpr size_t kShortestEnd = 32;
constexpr size_t kEndsGrowBy = 4;

bool IsWrong(const std::vector<Operation>& history, Initial initial) {
  return CheckIntervals(history, initial) == SearchResult::kBad;
}

// Takes `smaller` over if it is smaller or at least simpler, and still wrong.
bool Adopt(std::vector<Operation>* history, std::vector<Operation>&& smaller, Initial initial) {
  if (smaller == *history || !IsWrong(smaller, initial)) return false;
  *history = std::move(smaller);
  return true;
}

// The least instant after which the history is wrong whatever came later.
void CutEarliest(std::vector<Operation>* history, Initial initial) {
  std::vector<Instant> ends;
  for (const Operation& operation : *history) {
    if (operation.outcome != Outcome::kUnknown) ends.push_back(operation.end);
  }
  std::ranges::sort(ends);
  // What is wrong by an instant is wrong by every later one.
  const auto first = std::ranges::partition_point(
      ends, [&](Instant end) { return !IsWrong(CutAfter(*history, end), initial); });
  if (first != ends.end()) Adopt(history, CutAfter(*history, *first), initial);
}

// Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
void DropObservations(std::vector<Operation>* history, Initial initial) {
  for (size_t length = history->size(); length > 1; length = (length + 1) / 2) {
    for (size_t begin = 0; begin < history->size();) {
      if (!Adopt(history, WithoutObservations(*history, begin, begin + length), initial)) {
        begin += length;
      }
    }
  }
}

bool DropOne(std::vector<Operation>* history, Initial initial) {
  bool any = false;
  for (size_t i = history->size(); i-- > 0;) {
    if (i < history->size()) any |= Adopt(history, WithoutOne(*history, i), initial);
  }
  return any;
}

}  // namespace

std::vector<Operation> Shrink(std::vector<Operation> history, Initial initial) {
  if (!IsWrong(history, initial)) return history;
  std::erase_if(history, [](const Operation& operation) {
    return operation.outcome == Outcome::kRefused && IsWellFormed(operation);
  });
  CutEarliest(&history, initial);
  DropObservations(&history, initial);
  while (DropOne(&history, initial)) CutEarliest(&history, initial);
  return history;
}

namespace {

// The shortest end of the history that is wrong by itself, made ready for Initial::kAnything; empty
// when none is.
std::vector<Operation> WrongEnd(const std::vector<Operation>& history) {
  for (size_t count = kShortestEnd; count < history.size(); count *= kEndsGrowBy) {
    const auto begin = history.end() - static_cast<std::ptrdiff_t>(count);
    auto end = CompleteWindow({begin, history.end()});
    if (IsWrong(end, Initial::kAnything)) return end;
  }
  return {};
}

}  // namespace

Finding Explain(const Violation& violation, Initial initial) {
  Finding finding;
  finding.key = violation.key;
  finding.reason = std::string(ReasonText(violation.reason));
  finding.instant = violation.instant;
  finding.initial = Initial::kAnything;
  finding.history = WrongEnd(ByStart(CutAfter(violation.window, violation.instant)));
  if (finding.history.empty() && violation.window_is_whole) {
    finding.initial = initial;
    finding.history = violation.window;
  } else if (finding.history.empty()) {
    finding.history = CompleteWindow(violation.window);
  }
  finding.is_minimal = IsWrong(finding.history, finding.initial);
  if (finding.is_minimal) {
    finding.history = Shrink(std::move(finding.history), finding.initial);
  } else {
    finding.history = violation.window;
  }
  return finding;
}

}  // namespace plov::torture
