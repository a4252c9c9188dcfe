// A cluster study as a page and JSON, the goals it is held against, and the command.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bench/cluster/simulation.h"
#include "bench/cluster/study.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace {

// The longest call, at the median. Source: the table of targets in the design of clusters.
struct AwayGoal {
  std::string_view name;  // in JSON
  std::string_view what;
  Harm harm;
  Sample HarmRow::*figure;
  double most_ms;
};
constexpr auto kAwayGoals = std::to_array<AwayGoal>({
    {"kill_puts", "longest PUT, a server killed", Harm::kKill, &HarmRow::puts_ms, 150},
    {"kill_gets", "longest GET, a server killed", Harm::kKill, &HarmRow::gets_ms, 150},
    {"stop_puts", "longest PUT, a server stopped", Harm::kStop, &HarmRow::puts_ms, 500},
    {"stop_gets", "longest GET, a server stopped", Harm::kStop, &HarmRow::gets_ms, 500},
    {"cut_puts", "longest PUT, a server cut off", Harm::kCut, &HarmRow::puts_ms, 500},
    {"cut_gets", "longest GET, a server cut off", Harm::kCut, &HarmRow::gets_ms, 500},
    {"move_puts", "longest PUT, a shard moved", Harm::kMove, &HarmRow::puts_ms, 20},
    {"move_gets", "longest GET, a shard moved", Harm::kMove, &HarmRow::gets_ms, 5},
});

// Of a server alone.
struct CostGoal {
  std::string_view name;
  Way way;
  double least;
};
constexpr auto kCostGoals = std::to_array<CostGoal>({{"get", Way::kGet, 0.95},
                                                     {"get_many", Way::kGetMany, 0.99},
                                                     {"put", Way::kPut, 0.45},
                                                     {"put_many", Way::kPutMany, 0.7}});

GoalRow RowOf(const AwayGoal& goal, const ClusterStudy& study) {
  GoalRow row({.name = goal.name,
               .what = goal.what,
               .peer = kRedisCluster,
               .bound = Bound::kAtMost,
               .target = goal.most_ms,
               .unit = " ms",
               .digits = 1});
  const HarmRow* ours = study.Find(goal.harm, kPlovCluster);
  row.measured = ours->*goal.figure;
  row.own_value = SpreadOf(row.measured, Readable);
  const HarmRow* theirs = study.Find(goal.harm, kRedisCluster);
  if (theirs == nullptr) return row;
  const Sample& away = theirs->*goal.figure;
  row.peer_value = fmt::format("{} ({})", Readable(away.median()), SpreadOf(away, Readable));
  return row;
}

GoalRow LostRow(const ClusterStudy& study) {
  GoalRow row({.name = "lost",
               .what = "acknowledged PUTs lost",
               .peer = kRedisCluster,
               .bound = Bound::kAtMost,
               .target = 0,
               .digits = 0});
  uint64_t acknowledged = 0, lost = 0, theirs = 0;
  for (const HarmRow& harm : study.harms) {
    if (harm.who == kRedisCluster) theirs += harm.lost;
    if (harm.who != kPlovCluster) continue;
    acknowledged += harm.acknowledged;
    lost += harm.lost;
  }
  row.own_value = fmt::format("of {}", acknowledged);
  row.peer_value = study.skipped.empty() ? std::to_string(theirs) : "";
  row.measured.Add(static_cast<double>(lost));
  return row;
}

GoalRow RowOf(const CostGoal& goal, const ClusterStudy& study) {
  GoalRow row({.name = goal.name,
               .what = NameOf(goal.way),
               .peer = "a server alone",
               .bound = Bound::kAtLeast,
               .target = goal.least,
               .unit = "x",
               .digits = 2});
  const auto cost = std::ranges::find(study.costs, goal.way, &CostRow::way);
  row.own_value = Spread(cost->replicated);
  row.peer_value = Spread(cost->alone);
  row.measured = RatiosOf(cost->replicated, cost->alone);
  return row;
}

Headline HeadlineOf(const ClusterStudy& study) {
  const auto goals = GoalsOf(study);
  const auto reached = std::ranges::count_if(
      goals, [](const GoalRow& goal) { return VerdictOf(goal) == "reached"; });
  Headline headline{.text = fmt::format("{} of {} goals reached", reached, goals.size())};
  for (const Harm harm : {Harm::kKill, Harm::kStop}) {
    const HarmRow* row = study.Find(harm, kPlovCluster);
    headline.figures.push_back({fmt::format("longest PUT, a server {}", NameOf(harm)),
                                fmt::format("{:.0f} ms", row->puts_ms.median())});
  }
  return headline;
}

Outcome FillSettings(const Given& given, ClusterSettings* settings) {
  for (const char* name : {"servers", "clients"}) {
    if (given.Has(name)) return given.Invalid(fmt::format("--{} is of --simulate", name));
  }
  if (given.On("quick")) {
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(20);
  }
  return AllOf({FillFolder(given, "log", &settings->log), FillStudy(given, settings)});
}

Outcome FillSimulation(const Given& given, SimulationSettings* settings) {
  return AllOf({given.Fill("servers", 1, UINT32_MAX, &settings->servers),
                given.Fill("clients", 1, UINT32_MAX, &settings->clients),
                FillOutput(given, settings)});
}

Outcome Run(const Given& given, program::Output* output) {
  if (given.On("simulate")) return MeasureAndShow<FillSimulation, Simulate>(given, output);
  return MeasureAndShow<FillSettings, StudyCluster>(given, output);
}

program::Json JsonOf(const HarmRow& row) {
  return {{"server", NameOf(row.harm)},
          {"who", row.who},
          {"puts_ms", row.puts_ms},
          {"gets_ms", row.gets_ms},
          {"acknowledged", row.acknowledged},
          {"lost", row.lost},
          {"failed", row.failed}};
}

}  // namespace

std::vector<GoalRow> GoalsOf(const ClusterStudy& study) {
  std::vector<GoalRow> goals;
  for (const AwayGoal& goal : kAwayGoals) goals.push_back(RowOf(goal, study));
  goals.push_back(LostRow(study));
  for (const CostGoal& goal : kCostGoals) goals.push_back(RowOf(goal, study));
  return goals;
}

Page PageOf(const ClusterStudy& study) {
  const program::Json figures = JsonOf(study);
  std::string head = fmt::format(
      "three servers of plov, two replicas of each shard, and three ZooKeepers; six servers of "
      "Redis, three of them replicas, with a node timeout of 1 s; {} keys, one PUT and one GET at "
      "a "
      "time\n{}, in turn",
      kSubjectKeys, RoundsOf(study.settings.rounds, study.settings.duration));
  if (!study.settings.log.empty()) head += "\nplov's servers log to " + study.settings.log;
  if (!study.skipped.empty()) head += "\nRedis Cluster is skipped: " + study.skipped;
  return {.title = "plov-bench cluster",
          .headline = HeadlineOf(study),
          .facts = FactsOfRun(),
          .parts = {Paragraph{head}, TableOf(GoalsOf(study)),
                    TableOf("", figures["harms"],
                            {{"a server is", "server", 0, Shown::kText},
                             {"of", "who", 0, Shown::kText},
                             {"longest PUT, ms", "puts_ms", 1, Shown::kBars},
                             {"from..to", "puts_ms", 0, Shown::kSpread},
                             {"longest GET, ms", "gets_ms", 1, Shown::kBars},
                             {"from..to", "gets_ms", 0, Shown::kSpread},
                             {"acknowledged", "acknowledged"},
                             {"lost", "lost"},
                             {"errors", "failed"}})}};
}

program::Json JsonOf(const ClusterStudy& study) {
  program::Json object = {{"rounds", study.settings.rounds},
                          {"duration_us", study.settings.duration.count()},
                          {"log", study.settings.log},
                          {"goals", GoalsOf(study)},
                          {"harms", program::Json::array()}};
  if (!study.skipped.empty()) object["skipped"] = study.skipped;
  for (const HarmRow& row : study.harms) object["harms"].push_back(JsonOf(row));
  return object;
}

const Command kClusterCommand = {
    "cluster",
    "how long a cluster is away when a server is harmed, beside Redis Cluster",
    OptionsOf<ClusterSettings>,
    {{"log", "DIR", "plov's servers keep a log, on this folder's disk"},
     {"simulate", "", "simulates a large cluster instead, and measures nothing"},
     {"servers", "N", "of that (1000)"},
     {"clients", "N", "of that (10000)"}},
    Run};

}  // namespace plov::bench
