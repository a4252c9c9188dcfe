#include "torture/stale_counter.h"

#include <algorithm>
#include <tuple>

namespace plov::torture {

void StaleCounter::Feed(const Operation& operation) {
  if (IsStored(operation)) {
    waiting_.push_back({operation.end, operation.key, operation.version, false});
  }
  if (operation.kind != Kind::kGet || operation.process == kTool) return;
  if (IsHit(operation)) {
    waiting_.push_back({operation.start, operation.key, operation.version, true});
  }
  gets_ += IsHit(operation) || operation.outcome == Outcome::kAbsent ? 1 : 0;
}

void StaleCounter::Advance(Instant horizon) {
  const auto later = std::partition(waiting_.begin(), waiting_.end(),
                                    [horizon](const Event& event) { return event.time < horizon; });
  // A store that ends when a GET begins did not end before it.
  std::sort(waiting_.begin(), later, [](const Event& a, const Event& b) {
    return std::tuple(a.time, !a.is_get) < std::tuple(b.time, !b.is_get);
  });
  for (auto event = waiting_.begin(); event != later; ++event) {
    uint64_t& newest = newest_[event->key];
    if (event->is_get) {
      stale_ += event->version < newest ? 1 : 0;
    } else {
      newest = std::max(newest, event->version);
    }
  }
  waiting_.erase(waiting_.begin(), later);
}

}  // namespace plov::torture
