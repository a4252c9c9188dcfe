// A study of a fabric as a page and JSON, and the command itself.

#include <fmt/core.h>

#include <algorithm>

#include "bench/fabric/study.h"
#include "bench/load/items.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 256;  // else all of them are under way at once
constexpr uint64_t kItemsMax = 100'000'000;
// Smaller ones lie in the bucket, which is the other workload.
constexpr uint32_t kValueBytesMin = 64;
constexpr uint32_t kValueBytesMax = 64 << 10;
constexpr uint32_t kWindowMaxOfClient = 64;

// perftest's READs and the GETs beside each other, under the members of the GETs.
program::Json RowsOf(const program::Json& figures, const char* perftest) {
  program::Json rows = program::Json::array();
  for (const program::Json& raw : figures["perftest"]) {
    rows.push_back({{"what", fmt::format("{}, {} bytes", perftest, raw["bytes"].get<uint32_t>())},
                    {"per_second", raw["per_second"]},
                    {"single_us", raw["typical_us"]},
                    {"single_p99_us", raw["p99_us"]}});
  }
  for (program::Json get : figures["gets"]) {
    get["what"] = "GET, " + get["name"].get<std::string>();
    rows.push_back(std::move(get));
  }
  return rows;
}

Headline HeadlineOf(const FabricStudy& study) {
  double part = study.raw.empty() ? 0 : study.gets.front().part.median();
  for (const GetRow& row : study.gets) part = std::min(part, row.part.median());
  Headline headline{.text = fmt::format("{} GETs a second over {}",
                                        Compact(study.gets.front().per_second.median()),
                                        study.device.empty() ? "shared memory" : study.device)};
  if (!study.raw.empty()) {
    headline.text = fmt::format("GETs reach {:.0f} % of what perftest's READs allow: goal {}",
                                100 * part, study.reached() ? "reached" : "missed");
  }
  for (const GetRow& row : study.gets) {
    headline.figures.push_back({"a second, " + row.name, Compact(row.per_second.median())});
  }
  return headline;
}

program::Json JsonOf(const GetRow& row) {
  program::Json object = program::Json::object();
  object["name"] = row.name;
  object["value_bytes"] = row.value_bytes;
  object["record_bytes"] = row.record_bytes;
  object["per_second"] = JsonOf(row.per_second);
  object["reads_per_get"] = row.bucket_reads.median() + row.record_reads.median();
  object["single_us"] = JsonOf(row.single_us);
  object["single_p99_us"] = JsonOf(row.single_p99_us);
  object["single_reads_per_get"] = row.single_reads.median();
  if (!row.part.empty()) object["part"] = JsonOf(row.part);
  if (!row.single_part.empty()) object["single_part"] = JsonOf(row.single_part);
  return object;
}

Outcome FillSettings(const Given& given, FabricSettings* settings) {
  if (given.On("quick")) {
    settings->items = 1000;
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(50);
  }
  return AllOf(
      {FillFabric(given, settings), given.Fill("items", kItemsMin, kItemsMax, &settings->items),
       given.Fill("value-bytes", kValueBytesMin, kValueBytesMax, &settings->value_bytes),
       given.Fill("window", 1, kWindowMaxOfClient, &settings->window), FillStudy(given, settings)});
}

}  // namespace

Page PageOf(const FabricStudy& study) {
  const FabricSettings& settings = study.settings;
  Page page{.title = "plov-bench fabric", .headline = HeadlineOf(study), .facts = FactsOfRun()};
  page.parts.push_back(Paragraph{
      fmt::format("{}{}: {} items of each kind, keys of {} bytes, values of {} and {}, window {}\n"
                  "medians of {}, with the least and the most",
                  study.uri, study.device.empty() ? "" : " on " + study.device,
                  Whole(static_cast<double>(settings.items)), ItemShape().key_bytes,
                  study.gets.front().value_bytes, settings.value_bytes, settings.window,
                  RoundsOf(settings.rounds, settings.duration))});
  const program::Json figures = JsonOf(study);
  page.parts.push_back(TableOf("", RowsOf(figures, "ib_read_bw"),
                               {{"many in flight", "what"},
                                {"a second", "per_second", 0, Shown::kBars},
                                {"from..to", "per_second", 0, Shown::kSpread},
                                {"READs/GET", "reads_per_get", 2},
                                {"of READs", "part", 2},
                                {"from..to", "part", 2, Shown::kSpread}}));
  page.parts.push_back(TableOf("", RowsOf(figures, "ib_read_lat"),
                               {{"one at a time", "what"},
                                {"median us", "single_us", 2},
                                {"p99 us", "single_p99_us", 2},
                                {"READs/GET", "single_reads_per_get", 2},
                                {"of READs", "single_part", 2}}));
  if (!study.raw.empty()) {
    page.parts.push_back(Paragraph{
        fmt::format("of READs: the GETs' part of what perftest's READs of these sizes allow\n"
                    "goal: at least {:.2f} with many in flight: {}",
                    kGoal, study.reached() ? "reached" : "MISSED")});
  }
  return page;
}

program::Json JsonOf(const FabricStudy& study) {
  program::Json object = program::Json::object();
  object["uri"] = study.uri;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["window"] = study.settings.window;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["gets"] = program::Json::array();
  for (const GetRow& row : study.gets) object["gets"].push_back(JsonOf(row));
  object["perftest"] = program::Json::array();
  for (const RawReads& raw : study.raw) {
    object["perftest"].push_back({{"bytes", raw.bytes},
                                  {"per_second", JsonOf(raw.per_second)},
                                  {"typical_us", JsonOf(raw.typical_us)},
                                  {"p99_us", JsonOf(raw.p99_us)}});
  }
  if (!study.raw.empty()) {
    object["goal"] = kGoal;
    object["reached"] = study.reached();
  }
  return object;
}

po::options_description FabricOptions() {
  po::options_description options = StudyOptions("fabric", FabricSettings());
  // clang-format off
  options.add_options()("fabric", Text("rdma|shm"), "what bytes move over (rdma)");
  AddDeviceOptions(&options);
  options.add_options()
      ("items", Text("N"), "items to get, of each kind (10000)")
      ("value-bytes", Text("N"), "size of values that lie in records, 64 to 64K (64)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)");
  // clang-format on
  return options;
}

Outcome RunFabric(const Given& given, program::Output* output) {
  return MeasureAndShow(given, FillSettings, StudyFabric, output);
}

}  // namespace plov::bench
