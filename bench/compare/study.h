// Comparison: plov and its peers at the same work, in rounds that go over all of them.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/goals.h"
#include "bench/page/page.h"
#include "bench/peers/peer.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

struct CompareSettings : StudySettings {
  CompareSettings() {
    rounds = 5;
    duration = std::chrono::milliseconds(500);
  }

  std::vector<const PeerKind*> peers;
  uint64_t items = 4'000'000;
  bool huge_pages = false;  // of plov's server
};

// What one side did of one kind, operations a second.
struct RateRow {
  std::string_view who;  // kCold, kKnown, a PeerKind's name
  std::string_view title;
  Way way;
  Sample per_second;
};

struct SkippedPeer {
  const PeerKind* kind;
  std::string reason;
};

// A goal, and what was measured.
struct GoalRow : FactGoal {
  explicit GoalRow(const FactGoal& goal = {}) : FactGoal(goal), peer_value(goal.published) {}

  std::string peer_value;  // medians with their spread, as text
  std::string own_value;
  Sample measured;      // of ratios one for each round
  std::string skipped;  // why it was not measured; empty: it was
};

struct Comparison {
  CompareSettings settings;
  uint64_t buckets = 0;  // of plov's table
  std::vector<RateRow> rates;
  std::vector<GoalRow> goals;
  std::vector<SkippedPeer> skipped;

  const RateRow* FindRate(std::string_view who, Way way) const;
};

// Starts everything, measures, ends it. Errors: those of plov's server and clients; of peers, but
// not that they are not installed.
std::expected<Comparison, Error> Compare(const CompareSettings& settings);

Page PageOf(const Comparison& comparison);
program::Json JsonOf(const Comparison& comparison);

}  // namespace plov::bench
