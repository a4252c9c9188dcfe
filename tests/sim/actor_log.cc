// Actor: what is due to a client of a server with a log.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/sim/actor.h"

namespace plov::sim {

// plov.7, AT MOST ONCE: whether the server can have forgotten what became of a write, or the client
// can have been left alone with it until its deadline.
bool Actor::MayBeForgotten(const Attempt& attempt) const {
  if (is_dying_) return true;
  const auto timeout_us = static_cast<uint64_t>(timeout_.count());
  const bool is_over =
      stage_->host->now_us() - attempt.started_us >= timeout_us - timeout_us / 1000;
  const bool was_sent_again = connected_to_.size() > attempt.connections;
  const bool met_restart = stage_->restarts > attempt.restarts;
  const bool has_later_writes = writes_ > attempt.number;
  return is_over || (was_sent_again && (stage_->forgets || (met_restart && has_later_writes)));
}

// Writes of one key take effect in the order in which they began: this one before a later one was seen.
torture::Instant Actor::MustPrecede(const Attempt& attempt) const {
  torture::Instant instant = torture::kForever;
  if (!stage_->scenario->log) return instant;
  for (const Store& store : stores_[attempt.operation.key]) {
    if (store.number <= attempt.number) continue;
    instant = std::min(instant, stage_->checker->WhenStored(store.value));
  }
  return instant;
}

void Actor::CallSync() {
  const torture::Instant start = ++stage_->instant;
  const size_t connections = connected_to_.size();
  const uint32_t restarts = stage_->restarts;
  const bool may_be_lost = std::exchange(met_restart_, false);
  const auto synced = client_->Sync();
  const Code code = synced ? Code::kOk : synced.error().code;
  bool is_excused = true;
  if (code == Code::kOk || code == Code::kUnknown) {
    HistoryChecker::Sync told{.process = process_, .start = start};
    if (synced) told.own_since = unknown_until_;
    ++stage_->instant;
    stage_->checker->FeedSync(told, LivesSince(connections));
    stage_->syncs += synced ? 1 : 0;
    is_excused = synced || may_be_lost || may_be_answered_ || stage_->restarts > restarts_told_;
    may_be_answered_ = may_be_answered_ && !synced;
    restarts_told_ = restarts;
    if (!synced) unknown_until_ = start;
  } else {
    met_restart_ = met_restart_ || may_be_lost;
  }
  if (code == Code::kSystem || code == Code::kNoSpace) {
    is_excused = stage_->scenario->log->fault_one_in != 0;
  } else if (code != Code::kOk && code != Code::kUnknown) {
    is_excused = code == Code::kTimeout || code == Code::kUnavailable;
  }
  if (is_excused) return;
  stage_->checker->Accuse(
      fmt::format("a Sync ended with {}: {}", CodeName(code), synced.error().message));
}

}  // namespace plov::sim
