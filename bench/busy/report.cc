// A busy study as a page and JSON, the goals it is held against, and the command.

#include <fmt/core.h>

#include <algorithm>

#include "bench/busy/study.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace {

Table RatesOf(const program::Json& rows, Way way) {
  const std::string name(NameOf(way));
  return TableOf("", RowsWith(rows, {{"way", name}}),
                 {{name, "condition"},
                  {"plov, least", "plov/least"},
                  {"median", "plov", 0, Shown::kBars},
                  {"most", "plov/most"},
                  {"Redis, least", "redis/least"},
                  {"median", "redis", 0, Shown::kBars},
                  {"most", "redis/most"}});
}

Headline HeadlineOf(const BusyStudy& study) {
  const std::vector<BusyGoal> goals = GoalsOf(study);
  const auto reached = std::ranges::count_if(goals, &BusyGoal::reached);
  Headline headline{.text = fmt::format("{} of {} goals reached", reached, goals.size())};
  for (const Busy busy : {Busy::kQuiet, Busy::kLoops}) {
    headline.figures.push_back({fmt::format("PUTs a second, {}", NameOf(busy)),
                                Compact(study.Find(busy, Way::kPut).plov.median())});
  }
  return headline;
}

Outcome FillSettings(const Given& given, BusySettings* settings) {
  if (given.On("quick")) {
    settings->rounds = 2;
    settings->duration = std::chrono::milliseconds(20);
  }
  return FillStudy(given, settings);
}

}  // namespace

void to_json(program::Json& json, const BusyRow& row) {
  json = {{"condition", NameOf(row.busy)}, {"way", NameOf(row.way)}, {"plov", row.plov}};
  if (!row.redis.empty()) json["redis"] = row.redis;
}

void to_json(program::Json& json, const BusyGoal& goal) {
  json = {{"what", goal.what},
          {"at_least", goal.least},
          {"measured", goal.measured},
          {"reached", goal.reached()}};
}

std::vector<BusyGoal> GoalsOf(const BusyStudy& study) {
  std::vector<BusyGoal> goals;
  for (const BusyRow& row : study.rows) {
    if (row.redis.empty()) continue;
    const std::string what = fmt::format("{}, {}: ", NameOf(row.way), NameOf(row.busy));
    goals.push_back(
        {what + "worst of plov to worst of Redis", 1, row.plov.least() / row.redis.least()});
    if (row.busy == Busy::kQuiet) {
      goals.push_back(
          {what + "plov to Redis, in every round", 10, RatiosOf(row.plov, row.redis).least()});
    }
    if (row.busy == Busy::kClients) {
      goals.push_back({what + "plov to Redis, medians", 3, row.plov.median() / row.redis.median()});
    }
  }
  for (const Way way : {Way::kPut, Way::kPutMany}) {
    const double quiet = study.Find(Busy::kQuiet, way).plov.median();
    goals.push_back({fmt::format("{}: many shards to one, medians", NameOf(way)), 0.5,
                     study.Find(Busy::kShards, way).plov.median() / quiet});
    goals.push_back({fmt::format("{}: many clients to one, medians", NameOf(way)), 0.3,
                     study.Find(Busy::kClients, way).plov.median() / quiet});
  }
  return goals;
}

Page PageOf(const BusyStudy& study) {
  const program::Json figures = JsonOf(study);
  std::string head = fmt::format(
      "PUTs a second of keys of 16 bytes and values of 64, over shared memory, {} processors;\n{}, "
      "in turn",
      study.processors, RoundsOf(study.settings.rounds, study.settings.duration));
  if (!study.skipped.empty()) head += "\nRedis is skipped: " + study.skipped;
  return {.title = "plov-bench busy",
          .headline = HeadlineOf(study),
          .facts = FactsOfRun(),
          .parts = {Paragraph{head}, RatesOf(figures["rows"], Way::kPut),
                    RatesOf(figures["rows"], Way::kPutMany),
                    TableOf("", figures["goals"],
                            {{"goal", "what"},
                             {"measured", "measured", 2},
                             {"at least", "at_least", kAsItIs},
                             {"reached", "reached"}})}};
}

program::Json JsonOf(const BusyStudy& study) {
  program::Json object = {{"processors", study.processors}, {"rounds", study.settings.rounds}};
  if (!study.skipped.empty()) object["skipped"] = study.skipped;
  object["rows"] = study.rows;
  object["goals"] = GoalsOf(study);
  return object;
}

const Command kBusyCommand = {"busy",
                              "PUTs of plov and Redis while other programs want the processors",
                              OptionsOf<BusySettings>,
                              {},
                              MeasureAndShow<FillSettings, StudyBusy>};

}  // namespace plov::bench
