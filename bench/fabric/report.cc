// A study of a fabric as a page and JSON, and the command itself.

#include <fmt/core.h>

#include <algorithm>

#include "bench/fabric/study.h"
#include "bench/load/items.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

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
  program::Json object = {{"name", row.name},
                          {"value_bytes", row.value_bytes},
                          {"record_bytes", row.record_bytes},
                          {"per_second", row.per_second},
                          {"reads_per_get", row.bucket_reads.median() + row.record_reads.median()},
                          {"single_us", row.single_us},
                          {"single_p99_us", row.single_p99_us},
                          {"single_reads_per_get", row.single_reads.median()}};
  if (!row.part.empty()) object["part"] = row.part;
  if (!row.single_part.empty()) object["single_part"] = row.single_part;
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
  const FabricSettings& settings = study.settings;
  program::Json object = {{"uri", study.uri},
                          {"device", study.device},
                          {"items", settings.items},
                          {"window", settings.window},
                          {"rounds", settings.rounds},
                          {"duration_us", settings.duration.count()},
                          {"gets", program::Json::array()},
                          {"perftest", program::Json::array()}};
  for (const GetRow& row : study.gets) object["gets"].push_back(JsonOf(row));
  for (const RawReads& raw : study.raw) {
    object["perftest"].push_back({{"bytes", raw.bytes},
                                  {"per_second", raw.per_second},
                                  {"typical_us", raw.typical_us},
                                  {"p99_us", raw.p99_us}});
  }
  if (!study.raw.empty()) {
    object["goal"] = kGoal;
    object["reached"] = study.reached();
  }
  return object;
}

const Command kFabricCommand = {
    "fabric",
    "GETs beside perftest's READs over the same fabric, in one run",
    OptionsOf<FabricSettings>,
    {{"fabric", "rdma|shm", "what bytes move over (rdma)"},
     {"device", "NAME", "the RDMA device (the first with an active port)"},
     {"address", "ADDRESS", "the device whose netdev has this address"},
     {"items", "N", "items to get, of each kind (10000)"},
     {"value-bytes", "N", "size of values that lie in records, 64 to 64K (64)"},
     {"window", "N", "GETs in flight, 1 to 64 (32)"}},
    MeasureAndShow<FillSettings, StudyFabric>};

}  // namespace plov::bench
