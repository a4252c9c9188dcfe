#include "tests/sim/history_checker.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "torture/report.h"
#include "torture/shrink.h"

namespace plov::sim {

using torture::Operation;
using torture::Outcome;

namespace {

// Far more operations of a run than any window needs.
constexpr size_t kRecentCount = 512;

uint64_t VersionOf(const Operation& operation) {
  if (operation.outcome == Outcome::kOk && torture::IsDelete(operation.kind)) {
    return operation.expected;
  }
  return operation.version;
}

bool MayHaveStored(const Operation& operation) {
  const bool may = operation.outcome == Outcome::kOk || operation.outcome == Outcome::kUnknown;
  return may && operation.kind != torture::Kind::kGet && !torture::IsDelete(operation.kind);
}

}  // namespace

uint32_t HistoryChecker::Begin(uint32_t server, uint64_t first_version, bool warm,
                               const HostClock& clock, torture::Instant now) {
  for (uint32_t i = 0; i < lives_.size(); ++i) {
    Life& life = lives_[i];
    if (life.server != server || life.end != torture::kForever) continue;
    if (warm) return i;
    life.end = now;
  }
  lives_.push_back({.server = server,
                    .first_versions = {first_version},
                    .begin = now,
                    .clock = clock,
                    .checker = std::make_unique<torture::IntervalChecker>(
                        torture::IntervalOptions{.recent_count = kRecentCount})});
  return static_cast<uint32_t>(lives_.size() - 1);
}

uint32_t HistoryChecker::LastLifeOf(uint32_t server) const {
  for (size_t i = lives_.size(); i > 0; --i) {
    if (lives_[i - 1].server == server) return static_cast<uint32_t>(i - 1);
  }
  return 0;
}

const HistoryChecker::Life* HistoryChecker::LifeOf(uint64_t version) const {
  const Life* best = nullptr;
  uint64_t best_first = 0;
  for (const Life& life : lives_) {
    for (const uint64_t first : life.first_versions) {
      if (first > version || (best != nullptr && first <= best_first)) continue;
      best = &life;
      best_first = first;
    }
  }
  return best;
}

uint64_t HistoryChecker::UnixUsOf(uint64_t version, uint64_t time_us) const {
  const Life* life = LifeOf(version);
  return life == nullptr ? 0 : life->clock.UnixUs(time_us);
}

void HistoryChecker::Feed(const Operation& operation, LifeSet lives) {
  if (evicts_ && MayHaveStored(operation)) {
    FeedExpiry(operation.key, operation.version, lives, operation.start);
  }
  ++operations_;
  fingerprint_ = XXH3_64bits_withSeed(&operation, sizeof(operation), fingerprint_);
  if (is_strict_ && (IsStored(operation) || IsHit(operation))) {
    NoteValue(operation);
  }
  if (loss_) return FeedOfLog(operation, lives);
  const uint64_t version = VersionOf(operation);
  if (version == 0) return FeedUnversioned(operation, lives);
  const Life* life = LifeOf(version);
  if (life == nullptr || operation.end < life->begin || operation.start > life->end ||
      (lives >> NumberOf(life) & 1) == 0) {
    return AccuseOfLife(operation, life);
  }
  life->checker->Feed(operation);
}

void HistoryChecker::AccuseOfLife(const Operation& operation, const Life* life) {
  Accuse(fmt::format("{} of key {} at {}..{} came to version {}, which belongs to {} life",
                     torture::KindName(operation.kind), operation.key, operation.start,
                     operation.end, VersionOf(operation), life == nullptr ? "no" : "another"));
}

// A DELETE that removed something did so in one of them; what removed nothing says nothing.
void HistoryChecker::FeedUnversioned(Operation operation, LifeSet lives) {
  if (std::popcount(lives) > 1 && operation.outcome != Outcome::kUnknown) {
    if (operation.outcome != Outcome::kOk) return;
    operation.outcome = Outcome::kUnknown;
  }
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (lives >> i & 1) lives_[i].checker->Feed(operation);
  }
}

void HistoryChecker::FeedExpiry(uint64_t key, uint64_t version, LifeSet lives,
                                torture::Instant start) {
  Operation expiry{.start = start, .end = start, .key = key, .expected = version};
  expiry.kind = version == 0 ? torture::Kind::kDelete : torture::Kind::kDeleteIf;
  expiry.outcome = Outcome::kUnknown;
  if (version != 0) return LifeOf(version)->checker->Feed(expiry);
  for (size_t i = 0; i < lives_.size(); ++i) {
    if (lives >> i & 1) lives_[i].checker->Feed(expiry);
  }
}

void HistoryChecker::Advance(torture::Instant horizon) {
  for (Life& life : lives_) {
    life.checker->Advance(horizon);
    for (const torture::Violation& violation : life.checker->TakeViolations()) {
      if (violation.reason != torture::Reason::kTooAmbiguous) findings_.push_back(violation);
    }
  }
  if (loss_) std::ranges::copy(loss_->Check(), std::back_inserter(findings_));
  if (loss_) Accuse(loss_->TakeAccusation());
}

void HistoryChecker::Accuse(const std::string& what) {
  if (verdict_.empty()) verdict_ = what;
}

std::string HistoryChecker::Verdict() const {
  std::string text = verdict_;
  for (const torture::Violation& violation : findings_) {
    if (!text.empty()) text += "\n";
    text += torture::Timeline(torture::Explain(violation, torture::Initial::kAbsent));
  }
  return text;
}

size_t HistoryChecker::shortest() const {
  size_t shortest = 0;
  for (const torture::Violation& violation : findings_) {
    const size_t size = torture::Explain(violation, torture::Initial::kAbsent).history.size();
    if (shortest == 0 || size < shortest) shortest = size;
  }
  return shortest;
}

}  // namespace plov::sim
