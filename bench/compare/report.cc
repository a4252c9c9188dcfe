// A comparison as a page and JSON, and the command itself.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "bench/compare/study.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"
#include "program/format.h"

namespace plov::bench {

namespace {

constexpr uint64_t kItemsMin = 1000;
constexpr uint64_t kItemsMax = 100'000'000;

std::string PeerNames() {
  std::string names;
  for (const PeerKind& kind : PeerKinds()) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", kind.name);
  }
  return names;
}

std::expected<std::vector<const PeerKind*>, Error> PeersOf(const Given& given) {
  std::vector<const PeerKind*> peers;
  for (const std::string& name :
       SplitList(given.Has("peers") ? given.Text("peers") : PeerNames())) {
    const PeerKind* kind = FindPeerKind(name);
    if (kind == nullptr) {
      return given.Invalid(fmt::format("--peers: no peer '{}', there are {}", name, PeerNames()));
    }
    if (std::ranges::find(peers, kind) == peers.end()) peers.push_back(kind);
  }
  return peers;
}

// Thousands in groups where there are any, else as many digits as say something.
std::string Number(double value) {
  if (value >= 1000) return Whole(value);
  return Fixed(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string TargetOf(const GoalRow& row) {
  return fmt::format("{} {:g}{}", row.bound == Bound::kAtLeast ? ">=" : "<=", row.target, row.unit);
}

// What has a verdict.
double MeasuredOf(const GoalRow& row) {
  const double measured = row.measured.median();
  if (row.digits < 0) return measured;
  const double scale = std::pow(10, row.digits);
  return std::round(measured * scale) / scale;
}

std::string MeasuredText(const GoalRow& row) {
  const double measured = row.measured.median();
  return (row.digits < 0 ? Number(measured) : Fixed(measured, row.digits)) + std::string(row.unit);
}

std::string Text(const TableSize& size) {
  return fmt::format("{} of {} bytes", program::Grouped(size.buckets), size.bucket_bytes);
}

std::string HeadOf(const Comparison& comparison) {
  const CompareSettings& settings = comparison.settings;
  std::string text = fmt::format(
      "{} items, keys of 16 bytes, values of 64, uniform, over shared memory{}\n"
      "goals are about a server that chooses its buckets, {}; records: beside {}\n"
      "medians of {}, with the least and the most",
      program::Grouped(settings.items), settings.huge_pages ? " in huge pages" : "",
      Text(comparison.table), Text(comparison.table_of_records),
      RoundsOf(settings.rounds, settings.duration));
  text += "\n" + comparison.background.Text();
  if (settings.quick) {
    text +=
        "\nquick: few items lie in caches, which changes the ratios to the memory; the goals "
        "are\nfor 4,000,000 items";
  }
  return text;
}

const RateRow* FasterOf(const Comparison& comparison, const RateGoal& goal) {
  const RateRow* one = comparison.FindRate(goal.peer, goal.way);
  const RateRow* other = comparison.FindRate(goal.or_peer, goal.way);
  if (one == nullptr || other == nullptr) return one == nullptr ? other : one;
  return one->per_second.median() < other->per_second.median() ? other : one;
}

Headline HeadlineOf(const Comparison& comparison) {
  Headline headline{.text = ReachedOf(comparison.goals)};
  for (const auto& [who, way, what] :
       {std::tuple{kKnown, Way::kGet, "GETs a second, known"},
        std::tuple{kCold, Way::kGetMany, "GETs a second, 32 in flight"},
        std::tuple{kCold, Way::kPut, "PUTs a second"}}) {
    headline.figures.push_back({what, Compact(comparison.FindRate(who, way)->per_second.median())});
  }
  return headline;
}

Outcome FillSettings(const Given& given, CompareSettings* settings) {
  settings->huge_pages = given.On("hugepages");
  if (given.On("quick")) {
    settings->items = 200'000;
    settings->rounds = 3;
    settings->duration = std::chrono::milliseconds(100);
  }
  auto peers = PeersOf(given);
  if (!peers) return std::unexpected(peers.error());
  settings->peers = std::move(*peers);
  return AllOf(
      {given.Fill("items", kItemsMin, kItemsMax, &settings->items), FillStudy(given, settings)});
}

}  // namespace

std::string WhySkipped(const Comparison& comparison, std::string_view peer) {
  for (const SkippedPeer& one : comparison.skipped) {
    if (one.kind->name == peer) return one.reason;
  }
  return "not among --peers";
}

std::string Spread(const Sample& sample) {
  constexpr std::array<std::pair<double, std::string_view>, 2> kUnits = {
      {{1e6, " M"}, {1e3, " k"}}};
  for (const auto& [unit, name] : kUnits) {
    if (sample.median() < unit) continue;
    return fmt::format("{}{} ({}..{})", Number(sample.median() / unit), name,
                       Number(sample.least() / unit), Number(sample.most() / unit));
  }
  return fmt::format("{} ({}..{})", Number(sample.median()), Number(sample.least()),
                     Number(sample.most()));
}

bool IsReached(const GoalRow& row) { return MissedBy(row.bound, row.target, MeasuredOf(row)) == 0; }

std::string VerdictOf(const GoalRow& row) {
  if (!row.skipped.empty()) return "skipped: " + row.skipped;
  if (IsReached(row)) return "reached";
  const double missed = MissedBy(row.bound, row.target, MeasuredOf(row));
  if (row.target == 0) return fmt::format("missed by {}{}", Number(missed), row.unit);
  return fmt::format("missed by {} %", Number(missed / row.target * 100));
}

std::string ReachedOf(const std::vector<GoalRow>& goals) {
  size_t measured = 0;
  size_t reached = 0;
  for (const GoalRow& row : goals) {
    if (!row.skipped.empty()) continue;
    ++measured;
    if (IsReached(row)) ++reached;
  }
  return fmt::format("{} of {} goals reached", reached, measured);
}

Table TableOf(const std::vector<GoalRow>& goals) {
  program::Json rows = program::Json::array();
  for (const GoalRow& row : goals) {
    rows.push_back({{"what", row.what},
                    {"peer", row.peer},
                    {"theirs", row.peer_value},
                    {"ours", row.own_value},
                    {"measured", row.measured.empty() ? "-" : MeasuredText(row)},
                    {"target", TargetOf(row)},
                    {"verdict", VerdictOf(row)}});
  }
  return TableOf("", rows,
                 {{"what", "what"},
                  {"beside", "peer"},
                  {"the peer's", "theirs"},
                  {"plov's", "ours"},
                  {"measured", "measured"},
                  {"target", "target"},
                  {"verdict", "verdict"}});
}

void to_json(program::Json& json, const GoalRow& row) {
  json = {{"name", row.name},     {"what", row.what},
          {"peer", row.peer},     {"bound", row.bound == Bound::kAtLeast ? "at least" : "at most"},
          {"target", row.target}, {"unit", row.unit}};
  if (row.skipped.empty()) {
    json["measured"] = row.measured;
    json["reached"] = IsReached(row);
  } else {
    json["skipped"] = row.skipped;
  }
}

void to_json(program::Json& json, const RateRow& row) {
  json = {{"who", row.who},
          {"title", row.title},
          {"what", NameOf(row.way)},
          {"per_second", row.per_second}};
}

void to_json(program::Json& json, const TableSize& size) {
  json = {{"buckets", size.buckets}, {"bucket_bytes", size.bucket_bytes}};
}

void to_json(program::Json& json, const SkippedPeer& one) {
  json = {{"peer", one.kind->name}, {"reason", one.reason}};
}

void AddRateGoals(Comparison* comparison) {
  for (const RateGoal& goal : kRateGoals) {
    GoalRow row({.name = goal.name,
                 .what = goal.what,
                 .peer = FindPeerKind(goal.peer)->title,
                 .target = goal.target,
                 .unit = "x"});
    const RateRow* ours = comparison->FindRate(goal.ours, goal.way);
    const RateRow* theirs = FasterOf(*comparison, goal);
    row.own_value = Spread(ours->per_second);
    if (theirs == nullptr) {
      row.skipped = WhySkipped(*comparison, goal.peer);
    } else {
      row.peer = theirs->title;
      row.peer_value = Spread(theirs->per_second);
      row.measured = RatiosOf(ours->per_second, theirs->per_second);
    }
    comparison->goals.push_back(std::move(row));
  }
}

Page PageOf(const Comparison& comparison) {
  Page page{.title = "plov-bench compare",
            .headline = HeadlineOf(comparison),
            .facts = FactsOfRun(),
            .parts = {Paragraph{HeadOf(comparison)}, TableOf(comparison.goals)}};
  const program::Json rates = JsonOf(comparison)["rates"];
  for (const std::string_view way : kWayNames) {
    page.parts.push_back(TableOf("", RowsWith(rates, {{"what", way}}),
                                 {{std::string(way), "title"},
                                  {"a second", "per_second", kAsItIs, Shown::kBars},
                                  {"from..to", "per_second", kAsItIs, Shown::kSpread}}));
  }
  return page;
}

program::Json JsonOf(const Comparison& comparison) {
  const CompareSettings& settings = comparison.settings;
  return {{"items", settings.items},
          {"table", comparison.table},
          {"rounds", settings.rounds},
          {"table_of_records", comparison.table_of_records},
          {"duration_us", settings.duration.count()},
          {"quick", settings.quick},
          {"hugepages", settings.huge_pages},
          {"goals", comparison.goals},
          {"rates", comparison.rates},
          {"skipped", comparison.skipped},
          {"background_load", comparison.background}};
}

const Command kCompareCommand = {
    "compare",
    "plov and its peers at the same work, in one run, with a verdict",
    OptionsOf<CompareSettings>,
    {{"peers", "LIST", "what to compare with, with commas between (all there are)"},
     {"items", "N", "items, with keys of 16 and values of 64 bytes (4000000)"},
     {"hugepages", "", "plov's memory, which is the peer memory too, in huge pages"}},
    MeasureAndShow<FillSettings, Compare>};

}  // namespace plov::bench
