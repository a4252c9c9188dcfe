#include "tests/sim/judge.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

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

}  // namespace

void Judge::Begin(uint64_t first_version, bool warm, torture::Instant now) {
  if (warm && !lives_.empty()) return;
  if (!lives_.empty()) lives_.back().end = now;
  lives_.push_back({first_version, now, torture::kForever,
                    std::make_unique<torture::IntervalChecker>(
                        torture::IntervalOptions{.recent_count = kRecentCount})});
}

Judge::Life* Judge::LifeOf(uint64_t version) {
  Life* best = nullptr;
  for (Life& life : lives_) {
    if (life.first_version > version) continue;
    if (best == nullptr || best->first_version < life.first_version) best = &life;
  }
  return best;
}

void Judge::Feed(const Operation& operation) {
  ++operations_;
  fingerprint_ = XXH3_64bits_withSeed(&operation, sizeof(operation), fingerprint_);
  const uint64_t version = VersionOf(operation);
  if (version == 0) return FeedUnversioned(operation);
  Life* life = LifeOf(version);
  if (life == nullptr || operation.end < life->begin || operation.start > life->end) {
    return Accuse(fmt::format("{} of key {} at {}..{} came to version {}, which belongs to {} life",
                              torture::KindName(operation.kind), operation.key, operation.start,
                              operation.end, version, life == nullptr ? "no" : "another"));
  }
  life->checker->Feed(operation);
}

// Without a version the life is known only when there is one. A DELETE that removed something did
// so in one of them; what removed nothing says nothing.
void Judge::FeedUnversioned(Operation operation) {
  std::vector<Life*> possible;
  for (Life& life : lives_) {
    if (operation.end >= life.begin && operation.start <= life.end) possible.push_back(&life);
  }
  if (possible.size() > 1 && operation.outcome == Outcome::kOk) {
    operation.outcome = Outcome::kUnknown;
  }
  if (possible.size() > 1 && operation.outcome != Outcome::kUnknown) return;
  for (Life* life : possible) life->checker->Feed(operation);
}

void Judge::FeedExpiry(uint64_t key, uint64_t version, torture::Instant start) {
  Operation expiry{.start = start, .end = start, .key = key, .expected = version};
  expiry.kind = version == 0 ? torture::Kind::kDelete : torture::Kind::kDeleteIf;
  expiry.outcome = Outcome::kUnknown;
  Life* of = version == 0 ? nullptr : LifeOf(version);
  for (Life& life : lives_) {
    if (of == nullptr || of == &life) life.checker->Feed(expiry);
  }
}

void Judge::Advance(torture::Instant horizon) {
  for (Life& life : lives_) {
    life.checker->Advance(horizon);
    for (const torture::Violation& violation : life.checker->TakeViolations()) {
      if (violation.reason != torture::Reason::kTooAmbiguous) findings_.push_back(violation);
    }
  }
}

void Judge::Accuse(const std::string& what) {
  if (verdict_.empty()) verdict_ = what;
}

std::string Judge::Verdict() const {
  std::string text = verdict_;
  for (const torture::Violation& violation : findings_) {
    if (!text.empty()) text += "\n";
    text += torture::Timeline(torture::Explain(violation, torture::Initial::kAbsent));
  }
  return text;
}

size_t Judge::shortest() const {
  size_t shortest = 0;
  for (const torture::Violation& violation : findings_) {
    const size_t size = torture::Explain(violation, torture::Initial::kAbsent).history.size();
    if (shortest == 0 || size < shortest) shortest = size;
  }
  return shortest;
}

}  // namespace plov::sim
