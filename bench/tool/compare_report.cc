// A comparison as text and JSON, and the command itself.

#include "bench/tool/compare_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "client/cli/format.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

// Thousands in groups where there are any, else as many digits as say something.
std::string Number(double value) {
  if (value >= 1000) return cli::Grouped(static_cast<uint64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string WhySkipped(const Comparison& comparison, std::string_view peer) {
  for (const SkippedPeer& one : comparison.skipped) {
    if (one.kind->name == peer) return one.reason;
  }
  return "not among --peers";
}

std::string TargetOf(const GoalRow& row) {
  return fmt::format("{} {:g}{}", row.bound == Bound::kAtLeast ? ">=" : "<=", row.target, row.unit);
}

std::string GoalsOf(const Comparison& comparison) {
  std::string text = fmt::format("\n{:<21} {:<19} {:>28} {:>28} {:>8} {:>8}  {}\n", "what", "peer",
                                 "peer's", "plov's", "measured", "target", "verdict");
  for (const GoalRow& row : comparison.goals) {
    const std::string measured =
        row.measured.empty() ? "-" : Number(row.measured.median()) + row.unit;
    text += fmt::format("{:<21} {:<19} {:>28} {:>28} {:>8} {:>8}  {}\n", row.what, row.peer,
                        row.peer_value, row.own_value, measured, TargetOf(row), VerdictOf(row));
  }
  return text;
}

std::string RatesOf(const Comparison& comparison) {
  std::string text;
  for (size_t way = 0; way < kWayNames.size(); ++way) {
    text += fmt::format("\n{:<30} {:>12}\n", kWayNames[way], "a second");
    for (const RateRow& row : comparison.rates) {
      if (row.way != static_cast<Way>(way)) continue;
      text += fmt::format(
          "  {:<28} {:>12} {}\n", row.title, Number(row.per_second.median()),
          fmt::format("{}..{}", Number(row.per_second.least()), Number(row.per_second.most())));
    }
  }
  return text;
}

cli::Json JsonOf(const Sample& sample) {
  return {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

cli::Json JsonOf(const GoalRow& row) {
  cli::Json object = {{"name", row.name},
                      {"what", row.what},
                      {"peer", row.peer},
                      {"bound", row.bound == Bound::kAtLeast ? "at least" : "at most"},
                      {"target", row.target}};
  if (row.skipped.empty()) {
    object["measured"] = JsonOf(row.measured);
    object["reached"] = MissedBy(row.bound, row.target, row.measured.median()) == 0;
  } else {
    object["skipped"] = row.skipped;
  }
  return object;
}

}  // namespace

uint64_t StatOf(std::string_view stats, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + " ";
  const std::string text = "\n" + std::string(stats);
  const size_t at = text.find(wanted);
  uint64_t value = 0;
  if (at != std::string::npos) {
    const char* const begin = text.data() + at + wanted.size();
    std::from_chars(begin, text.data() + text.size(), value);
  }
  return value;
}

std::string Spread(const Sample& sample) {
  return fmt::format("{} ({}..{})", Number(sample.median()), Number(sample.least()),
                     Number(sample.most()));
}

std::string VerdictOf(const GoalRow& row) {
  if (!row.skipped.empty()) return "skipped: " + row.skipped;
  const double missed = MissedBy(row.bound, row.target, row.measured.median());
  if (missed == 0) return "reached";
  return fmt::format("missed by {} %", Number(missed * 100));
}

void AddRateGoals(Comparison* comparison) {
  for (const RateGoal& goal : kRateGoals) {
    GoalRow row;
    row.name = goal.name;
    row.what = goal.what;
    row.peer = FindPeerKind(goal.peer) == nullptr ? goal.peer : FindPeerKind(goal.peer)->title;
    row.target = goal.target;
    row.unit = "x";
    const RateRow* ours = comparison->FindRate(goal.ours, goal.way);
    const RateRow* theirs = comparison->FindRate(goal.peer, goal.way);
    row.own_value = Spread(ours->per_second);
    if (theirs == nullptr) {
      row.skipped = WhySkipped(*comparison, goal.peer);
    } else {
      row.peer_value = Spread(theirs->per_second);
      row.measured = RatiosOf(ours->per_second, theirs->per_second);
    }
    comparison->goals.push_back(std::move(row));
  }
}

std::string TextOf(const Comparison& comparison) {
  const CompareSettings& settings = comparison.settings;
  std::string text = fmt::format(
      "{} items, keys of 16 bytes, values of 64, uniform, over shared memory; {} buckets\n"
      "medians of {} round{} of {} ms, with the least and the most\n",
      cli::Grouped(settings.items), cli::Grouped(comparison.buckets), settings.rounds,
      settings.rounds == 1 ? "" : "s", static_cast<double>(settings.duration.count()) / 1000);
  if (settings.quick) {
    text +=
        "quick: few items lie in caches, which changes the ratios to the memory; the goals are "
        "for\n"
        "4,000,000\n";
  }
  return text + GoalsOf(comparison) + RatesOf(comparison);
}

std::string JsonOf(const Comparison& comparison) {
  const CompareSettings& settings = comparison.settings;
  cli::Json object = {{"items", settings.items},     {"buckets", comparison.buckets},
                      {"rounds", settings.rounds},   {"duration_us", settings.duration.count()},
                      {"quick", settings.quick},     {"goals", cli::Json::array()},
                      {"rates", cli::Json::array()}, {"skipped", cli::Json::array()}};
  for (const GoalRow& row : comparison.goals) object["goals"].push_back(JsonOf(row));
  for (const RateRow& row : comparison.rates) {
    object["rates"].push_back({{"who", row.who},
                               {"title", row.title},
                               {"what", NameOf(row.way)},
                               {"per_second", JsonOf(row.per_second)}});
  }
  for (const SkippedPeer& one : comparison.skipped) {
    object["skipped"].push_back({{"peer", one.kind->name}, {"reason", one.reason}});
  }
  return cli::LineOf(object);
}

Outcome RunCompare(const Given& given, cli::Output* output) {
  const auto settings = CompareSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto comparison = Compare(*settings);
  if (!comparison) return std::unexpected(comparison.error());
  output->Write(settings->json ? JsonOf(*comparison) : TextOf(*comparison));
  return {};
}

}  // namespace plov::bench
