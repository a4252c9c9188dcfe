// Register checker: from a wrong history to a small one.

#include <algorithm>
#include <set>

#include "torture/register_checker.h"

namespace plov::torture {

namespace {

using History = std::vector<RegisterCall>;
using Needs = RegisterCall::Needs;

// Operations that all checks together look at, so that shrinking ends in seconds.
constexpr size_t kLooksMax = size_t{1} << 24;

class Shrinker {
 public:
  Shrinker(History history, const RegisterOptions& options)
      : history_(std::move(history)), options_(options) {}

  History Run() {
    if (!IsWrong(history_)) return history_;
    CutAfterImpossible();
    do {
      has_changed_ = false;
      DropReads();
      DropStores();
    } while (has_changed_);
    return history_;
  }

 private:
  bool IsWrong(const History& history) {
    looks_ += history.size();
    if (looks_ > kLooksMax) return false;
    const RegisterResult result = CheckRegister(history, options_);
    if (result.verdict != SearchResult::kBad) return false;
    impossible_ = result.impossible;
    return true;
  }

  bool Adopt(History&& smaller) {
    const size_t impossible = impossible_;
    if (smaller.size() < history_.size() && IsWrong(smaller)) {
      history_ = std::move(smaller);
      return has_changed_ = true;
    }
    impossible_ = impossible;
    return false;
  }

  // What started later goes; what was under way then is open, if it stores anything.
  void CutAfterImpossible() {
    const Instant instant = history_[impossible_].end;
    History before;
    for (RegisterCall call : history_) {
      const bool goes_on = call.is_open || call.end > instant;
      if (call.start > instant || (goes_on && !call.stores)) continue;
      call.is_open = goes_on;
      before.push_back(call);
    }
    Adopt(std::move(before));
  }

  // Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
  void DropReads() {
    for (size_t length = history_.size(); length > 0; length /= 2) {
      for (size_t begin = 0; begin < history_.size();) {
        History rest;
        for (size_t i = 0; i < history_.size(); ++i) {
          if (i < begin || i >= begin + length || history_[i].stores) rest.push_back(history_[i]);
        }
        if (!Adopt(std::move(rest))) begin += length;
      }
    }
  }

  // A store of what nobody needs can go: what was there before then lasts until the next store. All
  // at once, else one by one.
  void DropStores() {
    std::set<RegisterValue> needed;
    for (const RegisterCall& call : history_) {
      if (call.needs == Needs::kPresent || call.needs == Needs::kOther) return;
      if (call.needs == Needs::kValue) needed.insert(call.needed);
    }
    const auto can_go = [&](const RegisterCall& call) {
      return call.stores && !needed.contains(call.next);
    };
    History rest = history_;
    std::erase_if(rest, can_go);
    if (Adopt(std::move(rest))) return;
    for (size_t i = history_.size(); i-- > 0;) {
      if (i >= history_.size() || !can_go(history_[i])) continue;
      rest = history_;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      Adopt(std::move(rest));
    }
  }

  History history_;
  RegisterOptions options_;
  size_t impossible_ = 0;
  size_t looks_ = 0;
  bool has_changed_ = false;
};

}  // namespace

std::vector<RegisterCall> ShrinkRegister(std::vector<RegisterCall> history,
                                         const RegisterOptions& options) {
  return Shrinker(std::move(history), options).Run();
}

}  // namespace plov::torture
