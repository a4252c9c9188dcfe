// A busy study as a page and JSON, the goals it is held against, and the command.

#include <fmt/core.h>

#include "bench/page/number.h"
#include "bench/tool/busy_study.h"
#include "bench/tool/sample_text.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

Table RatesOf(const BusyStudy& study, Way way) {
  Table table{.title = "",
              .columns = {{std::string(NameOf(way)), Align::kLeft},
                          {"plov, least"},
                          {"median"},
                          {"most"},
                          {"Redis, least"},
                          {"median"},
                          {"most"}},
              .rows = {}};
  for (const BusyRow& row : study.rows) {
    if (row.way != way) continue;
    std::vector<std::string> cells = {std::string(NameOf(row.busy))};
    for (const Sample* sample : {&row.plov, &row.redis}) {
      for (const double rate : {sample->least(), sample->median(), sample->most()}) {
        cells.push_back(sample->empty() ? "-" : Whole(rate));
      }
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table TableOf(const std::vector<BusyGoal>& goals) {
  Table table{
      .title = "",
      .columns = {{"goal", Align::kLeft}, {"measured"}, {"target"}, {"verdict", Align::kLeft}},
      .rows = {}};
  for (const BusyGoal& goal : goals) {
    table.rows.push_back({goal.what, Fixed(goal.measured, 2), fmt::format(">= {:g}", goal.least),
                          goal.reached() ? "reached" : "missed"});
  }
  return table;
}

std::expected<BusySettings, Error> BusySettingsOf(const Given& given) {
  BusySettings settings;
  settings.json = given.On("json");
  if (given.On("quick")) {
    settings.rounds = 2;
    settings.duration = std::chrono::milliseconds(20);
  }
  for (auto filled : {given.Fill("rounds", 1, kRoundsMax, &settings.rounds),
                      given.FillDuration("duration", kDurationMax, &settings.duration)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  auto plovd = PlovdOf(given);
  if (!plovd) return std::unexpected(plovd.error());
  settings.plovd = std::move(*plovd);
  return settings;
}

}  // namespace

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
  Page page{.title = "plov-bench busy", .facts = FactsOfRun(), .parts = {}};
  std::string head = fmt::format(
      "PUTs a second of keys of 16 bytes and values of 64, over shared memory, {} processors; {} "
      "rounds\nof {} ms, in turn",
      study.processors, study.settings.rounds,
      static_cast<double>(study.settings.duration.count()) / 1000);
  if (!study.skipped.empty()) head += "\nRedis is skipped: " + study.skipped;
  page.parts.push_back(Paragraph{head});
  for (const Way way : {Way::kPut, Way::kPutMany}) page.parts.push_back(RatesOf(study, way));
  page.parts.push_back(TableOf(GoalsOf(study)));
  return page;
}

std::string JsonOf(const BusyStudy& study) {
  cli::Json object = cli::Json::object();
  object["processors"] = study.processors;
  object["rounds"] = study.settings.rounds;
  if (!study.skipped.empty()) object["skipped"] = study.skipped;
  object["rows"] = cli::Json::array();
  for (const BusyRow& row : study.rows) {
    cli::Json one = {{"condition", NameOf(row.busy)}, {"way", NameOf(row.way)}};
    one["plov"] = JsonOf(row.plov);
    if (!row.redis.empty()) one["redis"] = JsonOf(row.redis);
    object["rows"].push_back(std::move(one));
  }
  object["goals"] = cli::Json::array();
  for (const BusyGoal& goal : GoalsOf(study)) {
    object["goals"].push_back({{"what", goal.what},
                               {"at_least", goal.least},
                               {"measured", goal.measured},
                               {"reached", goal.reached()}});
  }
  return cli::LineOf(object);
}

po::options_description BusyOptions() {
  po::options_description options("Options of busy", 100);
  // clang-format off
  options.add_options()
      ("plovd", Text("PATH"), "the server's program (found beside this one, else in PATH)")
      ("rounds", Text("N"), "rounds, whose least, median and most are shown (8)")
      ("duration", Text("DURATION"), "of each measurement in each round (300ms)")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "short rounds, to see that it works");
  // clang-format on
  return options;
}

Outcome RunBusy(const Given& given, cli::Output* output) {
  const auto settings = BusySettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyBusy(*settings);
  if (!study) return std::unexpected(study.error());
  output->Write(settings->json ? JsonOf(*study) : TextOf(PageOf(*study)));
  return {};
}

}  // namespace plov::bench
