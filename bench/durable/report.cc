// A durable study as a page and JSON, the goals it is held against, and the command.

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "bench/compare/study.h"
#include "bench/durable/study.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"
#include "program/format.h"

namespace plov::bench {

namespace {

constexpr uint64_t kItemsMin = 1000;
constexpr uint64_t kItemsMax = 100'000'000;

// A figure of one load as a multiple of that of another one.
struct RatioGoal {
  std::string_view name;  // in JSON
  std::string_view what;
  LoadKey ours;
  LoadKey theirs;
  Sample LoadRow::*figure;
  Bound bound;
  double target;
};

// Source: the table of targets in the design of the log.
// clang-format off
constexpr auto kRatioGoals = std::to_array<RatioGoal>({
    {"put_disk", "strict PUT: p50",
     {kOnePut, kStrict}, {kDiskWrite, kWrite4K}, &LoadRow::p50_us, Bound::kAtMost, 1.4},
    {"put_redis", "strict PUT: p50",
     {kOnePut, kStrict}, {kOnePut, kRedisAlways}, &LoadRow::p50_us, Bound::kAtMost, 1},
    {"strict_255", "strict PUTs, 255 in flight",
     {kPuts255, kStrict}, {kPuts255, kNoLog}, &LoadRow::per_second, Bound::kAtLeast, 0.45},
    {"strict_1020", "strict PUTs, 1,020 in flight",
     {kPuts1020, kStrict}, {kPuts1020, kNoLog}, &LoadRow::per_second, Bound::kAtLeast, 0.7},
    {"strict_redis", "strict PUTs, 1,020 in flight",
     {kPuts1020, kStrict}, {kPuts1600, kRedisAlways}, &LoadRow::per_second, Bound::kAtLeast, 3},
    {"strict_hot", "strict PUTs of hot keys, 1,020",
     {kHotPuts1020, kStrict}, {kPuts1020, kStrict}, &LoadRow::per_second, Bound::kAtLeast, 0.8},
    {"async_255", "async PUTs, 255 in flight",
     {kPuts255, kAsync}, {kPuts255, kNoLog}, &LoadRow::per_second, Bound::kAtLeast, 0.85},
    {"async_1020", "async PUTs, 1,020 in flight",
     {kPuts1020, kAsync}, {kPuts1020, kNoLog}, &LoadRow::per_second, Bound::kAtLeast, 0.85},
    {"gets", "GETs beside PUTs, snapshots",
     {kOneGet, kBesideAll}, {kOneGet, kAlone}, &LoadRow::per_second, Bound::kAtLeast, 0.95},
    {"gets_p99", "GETs beside them: p99",
     {kOneGet, kBesideAll}, {kOneGet, kAlone}, &LoadRow::p99_us, Bound::kAtMost, 1.1},
    {"put_snapshots", "strict PUT, snapshots: p99",
     {kOnePut, kStrictSnapshots}, {kOnePut, kStrict}, &LoadRow::p99_us, Bound::kAtMost, 2.5},
});
// clang-format on

// Of starts: how much a second.
constexpr double kMillionItems = 1.3;  // values of 64 bytes
constexpr double kMegabytes = 500;     // of 1 KB, as the log has them
constexpr double kMillion = 1e6;
constexpr uint32_t kSmallValueBytes = 64;

// With the least and the most.
std::string TextOf(const Sample& sample, bool is_rate) {
  if (is_rate) return Spread(sample);
  return fmt::format("{} us ({})", Readable(sample.median()), SpreadOf(sample, Readable));
}

GoalRow RowOf(const RatioGoal& goal, const DurableStudy& study) {
  GoalRow row({.name = goal.name,
               .what = goal.what,
               .peer = goal.theirs.who,
               .bound = goal.bound,
               .target = goal.target,
               .unit = "x"});
  const LoadRow* ours = study.Find(goal.ours);
  const LoadRow* theirs = study.Find(goal.theirs);
  const bool is_rate = goal.figure == &LoadRow::per_second;
  row.own_value = TextOf(ours->*goal.figure, is_rate);
  if (theirs == nullptr) {
    row.skipped = study.skipped;
    return row;
  }
  row.peer_value = TextOf(theirs->*goal.figure, is_rate);
  row.measured = RatiosOf(ours->*goal.figure, theirs->*goal.figure);
  return row;
}

GoalRow SnapshotRow(const DurableStudy& study) {
  GoalRow row({.name = "snapshot_memory",
               .what = "a snapshot's extra memory",
               .bound = Bound::kAtMost,
               .target = std::round(study.snapshot_target_mib * 10) / 10,
               .unit = " MiB"});
  row.own_value = fmt::format("{} snapshots", study.snapshots);
  row.measured.Add(study.snapshot_extra_mib);
  return row;
}

GoalRow RowOf(const StartRow& start) {
  GoalRow row({.bound = Bound::kAtLeast});
  const bool small = start.value_bytes == kSmallValueBytes;
  row.name = start.from_snapshot ? (small ? "start_snapshot_64" : "start_snapshot_1k")
                                 : (small ? "start_log_64" : "start_log_1k");
  row.what = start.from_snapshot ? (small ? "start, snapshot, 64 bytes" : "start, snapshot, 1 KB")
                                 : (small ? "start, replay, 64 bytes" : "start, replay, 1 KB");
  row.peer = "a second";
  row.target = small ? kMillionItems : kMegabytes;
  row.unit = small ? " M items" : " MB";
  row.own_value =
      fmt::format("{} items in {} s", program::Grouped(start.items), Spread(start.seconds));
  row.measured = start.Rate(static_cast<double>(small ? start.items : start.bytes()) / kMillion);
  return row;
}

std::string HeadOf(const DurableStudy& study) {
  const DurableSettings& settings = study.settings;
  std::string text = fmt::format(
      "{} items, keys of 16 bytes, values of 64, over shared memory; logs in {}\n"
      "medians of {}, with the least and the most; one shard",
      program::Grouped(settings.items), study.log_folder,
      RoundsOf(settings.rounds, settings.duration));
  if (study.is_on_tmpfs)
    text += "\nthat folder is in memory, not on a disk: name one on a disk with --dir";
  text += "\n" + study.background.Text();
  if (!study.skipped.empty()) text += "\nRedis is skipped: " + study.skipped;
  if (settings.quick) text += "\nquick: the goals are for 1,000,000 items";
  return text;
}

Headline HeadlineOf(const DurableStudy& study, const std::vector<GoalRow>& goals) {
  Headline headline{.text = ReachedOf(goals)};
  headline.figures = {
      {"strict PUT, p50 us", Compact(study.Find({kOnePut, kStrict})->p50_us.median())},
      {"strict PUTs a second, 1,020 in flight",
       Compact(study.Find({kPuts1020, kStrict})->per_second.median())},
      {"items restored a second",
       Compact(study.starts[0].Rate(static_cast<double>(study.starts[0].items)).median())}};
  return headline;
}

program::Json JsonOf(const DurableStudy& study, const LoadRow& row) {
  program::Json object = {
      {"what", row.key.what}, {"who", row.key.who}, {"per_second", row.per_second}};
  if (!row.p50_us.empty()) {
    object["p50_us"] = row.p50_us;
    object["p99_us"] = row.p99_us;
  }
  const LoadRow* plain = study.Find({row.key.what, kNoLog});
  if (plain == nullptr || plain == &row) return object;
  object["rate_of_no_log"] = RatiosOf(row.per_second, plain->per_second);
  object["p50_of_no_log"] = RatiosOf(row.p50_us, plain->p50_us);
  return object;
}

program::Json JsonOf(const StartRow& row) {
  return {{"from", row.from_snapshot ? "snapshot" : "replay"},
          {"value_bytes", row.value_bytes},
          {"items", row.items},
          {"seconds", row.seconds},
          {"items_per_second", row.Rate(static_cast<double>(row.items))},
          {"bytes_per_second", row.Rate(static_cast<double>(row.bytes()))}};
}

Table LoadTable(const program::Json& loads, std::string_view what) {
  return TableOf("", RowsWith(loads, {{"what", what}}),
                 {{std::string(what), "who", 0, Shown::kText},
                  {"a second", "per_second", 0, Shown::kBars},
                  {"from..to", "per_second", kAsItIs, Shown::kSpread},
                  {"of no log", "rate_of_no_log", 2},
                  {"p50 us", "p50_us", kAsItIs},
                  {"p99 us", "p99_us", kAsItIs},
                  {"p50 of no log", "p50_of_no_log", 2}});
}

Outcome FillSettings(const Given& given, DurableSettings* settings) {
  if (given.On("quick")) {
    settings->items = 20'000;
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(50);
  }
  return AllOf({FillFolder(given, "dir", &settings->dir),
                given.Fill("items", kItemsMin, kItemsMax, &settings->items),
                FillStudy(given, settings)});
}

}  // namespace

std::vector<GoalRow> GoalsOf(const DurableStudy& study) {
  std::vector<GoalRow> goals;
  for (const RatioGoal& goal : kRatioGoals) goals.push_back(RowOf(goal, study));
  goals.push_back(SnapshotRow(study));
  for (const StartRow& start : study.starts) goals.push_back(RowOf(start));
  goals.push_back(study.idle);
  goals.back().what = "idle server with a log";
  return goals;
}

Page PageOf(const DurableStudy& study) {
  const std::vector<GoalRow> goals = GoalsOf(study);
  Page page{.title = "plov-bench durable",
            .headline = HeadlineOf(study, goals),
            .facts = FactsOfRun(),
            .parts = {Paragraph{HeadOf(study)}, TableOf(goals)}};
  const program::Json figures = JsonOf(study);
  for (const std::string_view what :
       {kDiskWrite, kOnePut, kPuts255, kPuts1020, kHotPuts1020, kPuts1600, kOneGet}) {
    if (RowsWith(figures["loads"], {{"what", what}}).empty()) continue;
    page.parts.push_back(LoadTable(figures["loads"], what));
  }
  page.parts.push_back(TableOf("", figures["starts"],
                               {{"start, from", "from", 0, Shown::kText},
                                {"value bytes", "value_bytes"},
                                {"items", "items"},
                                {"seconds", "seconds", 2},
                                {"items a second", "items_per_second"},
                                {"bytes a second", "bytes_per_second"}}));
  return page;
}

program::Json JsonOf(const DurableStudy& study) {
  const DurableSettings& settings = study.settings;
  program::Json object = {{"items", settings.items},
                          {"rounds", settings.rounds},
                          {"duration_us", settings.duration.count()},
                          {"quick", settings.quick},
                          {"log_folder", study.log_folder},
                          {"tmpfs", study.is_on_tmpfs},
                          {"background_load", study.background},
                          {"snapshots", study.snapshots},
                          {"goals", GoalsOf(study)},
                          {"loads", program::Json::array()},
                          {"starts", program::Json::array()}};
  if (!study.skipped.empty()) object["skipped"] = study.skipped;
  for (const LoadRow& row : study.loads) object["loads"].push_back(JsonOf(study, row));
  for (const StartRow& row : study.starts) object["starts"].push_back(JsonOf(row));
  return object;
}

const Command kDurableCommand = {
    "durable",
    "what a log on disk costs, beside the disk itself and Redis, with a verdict",
    OptionsOf<DurableSettings>,
    {{"dir", "DIR", "a folder on the disk to measure (that of temporary files)"},
     {"items", "N", "items, with keys of 16 and values of 64 bytes (1000000)"}},
    MeasureAndShow<FillSettings, StudyDurable>};

}  // namespace plov::bench
