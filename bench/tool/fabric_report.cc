// A study of a fabric as a page and JSON, and the command itself.

#include <fmt/core.h>

#include "bench/page/number.h"
#include "bench/tool/fabric_study.h"
#include "bench/tool/sample_text.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

std::string Hundredths(double value) { return Fixed(value, 2); }

Table RatesOf(const FabricStudy& study) {
  Table table{
      .title = "",
      .columns = {{"many in flight", Align::kLeft}, {"a second"}, {"from..to"}, {"READs/GET"}},
      .rows = {}};
  if (!study.raw.empty()) table.columns.insert(table.columns.end(), {{"of READs"}, {"from..to"}});
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
  Table table{
      .title = "",
      .columns = {{"one at a time", Align::kLeft}, {"median us"}, {"p99 us"}, {"READs/GET"}},
      .rows = {}};
  if (!study.raw.empty()) table.columns.push_back({"of READs"});
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
  Chart chart{.title = fmt::format("Many in flight, window {}", study.settings.window),
              .category = "",
              .categories = {},
              .unit = "a second",
              .series = {{"a second", {}}}};
  for (const RawReads& raw : study.raw) {
    chart.categories.push_back(fmt::format("ib_read_bw, {} bytes", raw.bytes));
    chart.series[0].values.push_back(raw.per_second.median());
  }
  for (const GetRow& row : study.gets) {
    chart.categories.push_back("GET, " + row.name);
    chart.series[0].values.push_back(row.per_second.median());
  }
  return chart;
}

cli::Json JsonOf(const GetRow& row) {
  cli::Json object = cli::Json::object();
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

}  // namespace

Page PageOf(const FabricStudy& study) {
  const FabricSettings& settings = study.settings;
  Page page{.title = "plov-bench fabric", .facts = FactsOfRun(), .parts = {}};
  page.parts.push_back(Paragraph{fmt::format(
      "{}{}: {} items of each kind, keys of {} bytes, values of {} and {}, window {}\n"
      "medians of {} round{} of {} ms, with the least and the most",
      study.uri, study.device.empty() ? "" : " on " + study.device,
      Whole(static_cast<double>(settings.items)), GetLoad::kKeyBytes,
      study.gets.front().value_bytes, settings.value_bytes, settings.window, settings.rounds,
      settings.rounds == 1 ? "" : "s", static_cast<double>(settings.duration.count()) / 1000)});
  page.parts.push_back(RatesOf(study));
  page.parts.push_back(LatenciesOf(study));
  if (!study.raw.empty()) {
    page.parts.push_back(Paragraph{
        fmt::format("of READs: the GETs' part of what perftest's READs of these sizes allow\n"
                    "goal: at least {:.2f} with many in flight: {}",
                    kGoal, study.reached() ? "reached" : "MISSED")});
  }
  page.parts.push_back(RatesChartOf(study));
  return page;
}

std::string JsonOf(const FabricStudy& study) {
  cli::Json object = cli::Json::object();
  object["uri"] = study.uri;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["window"] = study.settings.window;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["gets"] = cli::Json::array();
  for (const GetRow& row : study.gets) object["gets"].push_back(JsonOf(row));
  object["perftest"] = cli::Json::array();
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
  return cli::LineOf(object);
}

Outcome RunFabric(const Given& given, cli::Output* output) {
  const auto settings = FabricSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyFabric(*settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  output->Write(settings->json ? JsonOf(*study) : TextOf(page));
  return settings->html.empty() ? Outcome() : Save(settings->html, HtmlOf(page));
}

}  // namespace plov::bench
