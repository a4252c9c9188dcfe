// A study of a fabric as a page and JSON, and the command itself.

#include <fmt/core.h>

#include <algorithm>

#include "bench/fabric/study.h"
#include "bench/load/items.h"
#include "bench/page/number.h"
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

std::string Hundredths(double value) { return Fixed(value, 2); }

Table RatesOf(const FabricStudy& study) {
  Table table{.columns = {"<many in flight", "a second", "from..to", "READs/GET"}};
  if (!study.raw.empty()) table.columns.insert(table.columns.end(), {"of READs", "from..to"});
  for (const RawReads& raw : study.raw) {
    table.rows.push_back({fmt::format("ib_read_bw, {} bytes", raw.bytes),
                          Whole(raw.per_second.median()), SpreadOf(raw.per_second, Whole)});
  }
  for (const GetRow& row : study.gets) {
    table.rows.push_back({"GET, " + row.name, Whole(row.per_second.median()),
                          SpreadOf(row.per_second, Whole),
                          Hundredths(row.bucket_reads.median() + row.record_reads.median())});
    if (row.part.empty()) continue;
    table.rows.back().push_back(Hundredths(row.part.median()));
    table.rows.back().push_back(SpreadOf(row.part, Hundredths));
  }
  return table;
}

Table LatenciesOf(const FabricStudy& study) {
  Table table{.columns = {"<one at a time", "median us", "p99 us", "READs/GET"}};
  if (!study.raw.empty()) table.columns.emplace_back("of READs");
  for (const RawReads& raw : study.raw) {
    table.rows.push_back({fmt::format("ib_read_lat, {} bytes", raw.bytes),
                          Hundredths(raw.typical_us.median()), Hundredths(raw.p99_us.median())});
  }
  for (const GetRow& row : study.gets) {
    table.rows.push_back({"GET, " + row.name, Hundredths(row.single_us.median()),
                          Hundredths(row.single_p99_us.median()),
                          Hundredths(row.single_reads.median())});
    if (!row.single_part.empty()) {
      table.rows.back().push_back(Hundredths(row.single_part.median()));
    }
  }
  return table;
}

Chart RatesChartOf(const FabricStudy& study) {
  BarGroup group;
  for (const RawReads& raw : study.raw) {
    group.bars.push_back({fmt::format("ib_read_bw, {} bytes", raw.bytes), raw.per_second.median()});
  }
  for (const GetRow& row : study.gets) {
    group.bars.push_back({"GET, " + row.name, row.per_second.median(), Owner::kPlov});
  }
  return {.title = fmt::format("Many in flight, window {}", study.settings.window),
          .unit = "a second",
          .groups = {std::move(group)}};
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

std::expected<FabricSettings, Error> FabricSettingsOf(const Given& given) {
  FabricSettings settings;
  if (given.On("quick")) {
    settings.items = 1000;
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(50);
  }
  for (auto filled :
       {FillFabric(given, &settings), given.Fill("items", kItemsMin, kItemsMax, &settings.items),
        given.Fill("value-bytes", kValueBytesMin, kValueBytesMax, &settings.value_bytes),
        given.Fill("window", 1, kWindowMaxOfClient, &settings.window),
        FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
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
  page.parts.push_back(RatesChartOf(study));
  page.parts.push_back(RatesOf(study));
  page.parts.push_back(LatenciesOf(study));
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
  options.add_options()("fabric", Text("NAME"), "rdma or shm (rdma)");
  AddDeviceOptions(&options);
  options.add_options()
      ("items", Text("N"), "items to get, of each kind (10000)")
      ("value-bytes", Text("N"), "size of values that lie in records, 64 to 64K (64)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)");
  // clang-format on
  return options;
}

Outcome RunFabric(const Given& given, program::Output* output) {
  return MeasureAndShow(FabricSettingsOf(given), StudyFabric, output);
}

}  // namespace plov::bench
