#include "tests/torture/edits.h"

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

using CheckHistory = std::function<void(const std::vector<Operation>&, const char*)>;

class Editor {
 public:
  Editor(std::vector<Operation> history, const CheckHistory& check)
      : history_(std::move(history)), check_(check) {
    for (const Operation& operation : history_) {
      if (operation.version != 0) told_.emplace_back(operation.version, operation.value);
      last_ = std::max(last_, operation.end);
    }
  }

  void Run() {
    for (size_t i = 0; i < history_.size(); ++i) {
      EditOutcome(i);
      EditVersion(i);
      EditTime(i);
      EditPair(i);
      Drop(i);
    }
  }

 private:
  void Try(size_t at, const Operation& edited, const char* name) {
    if (edited == history_[at] || !IsWellFormed(edited)) return;
    const Operation before = std::exchange(history_[at], edited);
    check_(history_, name);
    history_[at] = before;
  }

  // What came of it: hit and miss, done and not done, known and unknown.
  void EditOutcome(size_t at) {
    for (const auto outcome : {Outcome::kOk, Outcome::kAbsent, Outcome::kExists, Outcome::kMismatch,
                               Outcome::kRefused, Outcome::kUnknown}) {
      Operation edited = history_[at];
      edited.outcome = outcome;
      const bool is_store = IsStore(edited.kind);
      if (edited.kind == Kind::kGet) edited.value = kForeign;
      edited.version = 0;
      Try(at, edited, "outcome");
      if (outcome == Outcome::kRefused || outcome == Outcome::kUnknown) continue;
      for (const auto& [version, value] : told_) {
        edited.version = is_store && outcome == Outcome::kOk ? version + 1 : version;
        if (edited.kind == Kind::kGet) edited.value = value;
        Try(at, edited, "outcome and version");
      }
    }
  }

  void EditVersion(size_t at) {
    for (const auto& [version, value] : told_) {
      Operation edited = history_[at];
      if (edited.version != 0) {
        edited.version = version;
        Try(at, edited, "version");
      }
      if (edited.kind == Kind::kGet && edited.outcome == Outcome::kOk) {
        edited.value = value;
        Try(at, edited, "version and value");
        edited.version = history_[at].version;
        Try(at, edited, "value");
      }
      if (IsConditional(edited.kind)) {
        edited = history_[at];
        edited.expected = version;
        Try(at, edited, "expected");
      }
    }
  }

  void EditTime(size_t at) {
    const Operation& operation = history_[at];
    for (const Instant shift : {-20, -5, -1, 1, 5, 20}) {
      Operation edited = operation;
      edited.start = std::max<Instant>(0, edited.start + shift);
      edited.end = std::max<Instant>(0, edited.end + shift);
      Try(at, edited, "shift");
    }
    Operation edited = operation;
    edited.start = edited.end = last_ + 1;
    Try(at, edited, "after all");
    edited.start = edited.end = 0;
    Try(at, edited, "before all");
    edited = operation;
    edited.end = edited.start;
    Try(at, edited, "ends at once");
    edited = operation;
    edited.start = edited.end;
    Try(at, edited, "starts at its end");
  }

  void EditPair(size_t at) {
    for (size_t other = at + 1; other < history_.size(); ++other) {
      Operation &a = history_[at], &b = history_[other];
      const std::pair before = {a, b};
      if (IsStore(a.kind) && IsStore(b.kind) && a.version != 0 && b.version != 0) {
        std::swap(a.version, b.version);
        check_(history_, "swapped versions");
        std::tie(a, b) = before;
      }
      std::swap(a.start, b.start);
      std::swap(a.end, b.end);
      check_(history_, "swapped times");
      std::tie(a, b) = before;
    }
  }

  void Drop(size_t at) {
    const Operation before = history_[at];
    history_.erase(history_.begin() + static_cast<std::ptrdiff_t>(at));
    check_(history_, "dropped");
    history_.insert(history_.begin() + static_cast<std::ptrdiff_t>(at), before);
  }

  std::vector<Operation> history_;
  const CheckHistory& check_;
  std::vector<std::pair<uint64_t, ValueId>> told_;
  Instant last_ = 0;
};

}  // namespace

void ForEachEdit(std::vector<Operation> history, const CheckHistory& check) {
  Editor(std::move(history), check).Run();
}

}  // namespace plov::torture
