// A study of verbs as a page and JSON.

#include <fmt/core.h>

#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/verbs/study.h"

namespace plov::bench {

namespace {

std::string HeadOf(const VerbsStudy& study) {
  const VerbsSettings& settings = study.settings;
  return fmt::format(
      "{}: requests and replies of the same size; medians of {}\n"
      "latency at window 1; server CPU of one request at window {}, while it polls",
      study.device, RoundsOf(settings.rounds, settings.duration), settings.windows.back());
}

// Of one size.
Table RatesOf(const VerbsSettings& settings, const program::Json& results, uint32_t bytes) {
  std::vector<ColumnOfRow> columns;
  for (const uint32_t window : settings.windows) {
    columns.push_back({{{"window", window}}, {fmt::format("window {}", window), "per_second"}});
  }
  const program::Json single = {{"window", 1}};
  const program::Json widest = {{"window", settings.windows.back()}};
  columns.push_back({single, {"median us", "median_us", 2}});
  columns.push_back({single, {"p99 us", "p99_us", 2}});
  columns.push_back({widest, {"CPU us", "server_cpu_us", 3}});
  columns.push_back({single, {"not supported", "unsupported"}});
  columns[settings.windows.size() - 1].column.shown = Shown::kBars;
  return TableOf(fmt::format("{} bytes", bytes), RowsWith(results, {{"bytes", bytes}}),
                 {"requests/s", "combination"}, columns);
}

Table MeaningsOf(const VerbsSettings& settings) {
  program::Json rows = program::Json::array();
  for (const Combination* one : settings.combinations) {
    rows.push_back({{"name", one->name}, {"meaning", one->meaning}});
  }
  return TableOf("", rows, {{"combination", "name"}, {"meaning", "meaning"}});
}

program::Json JsonOf(const VerbsRow& row) {
  program::Json object = {
      {"combination", row.combination->name}, {"bytes", row.bytes}, {"window", row.window}};
  if (!row.unsupported.empty()) {
    object["unsupported"] = row.unsupported;
    return object;
  }
  object["per_second"] = row.rate.median();
  object["per_second_least"] = row.rate.least();
  object["per_second_most"] = row.rate.most();
  if (row.window == 1) {
    object["median_us"] = row.median_us.median();
    object["p99_us"] = row.p99_us.median();
  }
  object["server_cpu_us"] = row.server_cpu_us.median();
  object["reads"] = row.reads.median();
  return object;
}

// At the middle size by window.
Plot PlotByWindow(const VerbsStudy& study, const program::Json& results) {
  const auto& sizes = study.settings.bytes;
  const uint32_t bytes = sizes[(sizes.size() - 1) / 2];
  return {.title = fmt::format("Requests by window, {} bytes, {}", bytes, study.device),
          .x = {.label = "in flight"},
          .y = {.label = "requests/s"},
          .curves = CurvesOf(RowsWith(results, {{"bytes", bytes}}), "combination", "window",
                             "per_second")};
}

// The combination that carries most at the largest window, of the first size.
Headline HeadlineOf(const VerbsSettings& settings, const program::Json& results) {
  const uint32_t window = settings.windows.back();
  const uint32_t bytes = settings.bytes.front();
  Headline headline;
  double most = 0;
  for (const program::Json& row : RowsWith(results, {{"window", window}, {"bytes", bytes}})) {
    const double rate = NumberAt(row, "per_second").value_or(0);
    const std::string name = row["combination"];
    // Those that plov itself uses, for GETs and for PUTs.
    if (rate > 0 && (name == "READ" || name == "SEND/SEND")) {
      headline.figures.push_back({"requests a second, " + name, Compact(rate)});
    }
    if (rate <= most) continue;
    most = rate;
    headline.text = fmt::format("{} carries most: {} requests a second of {} bytes, {} in flight",
                                name, Compact(rate), bytes, window);
  }
  return headline;
}

}  // namespace

Page PageOf(const VerbsStudy& study) {
  const VerbsSettings& settings = study.settings;
  const program::Json results = JsonOf(study)["results"];
  Page page{.title = "plov-bench verbs",
            .headline = HeadlineOf(settings, results),
            .facts = FactsOfRun(),
            .parts = {Paragraph{HeadOf(study)}, PlotByWindow(study, results)}};
  for (const uint32_t bytes : settings.bytes) {
    page.parts.push_back(RatesOf(settings, results, bytes));
  }
  page.parts.push_back(MeaningsOf(settings));
  return page;
}

program::Json JsonOf(const VerbsStudy& study) {
  program::Json object = {{"device", study.device},
                          {"rounds", study.settings.rounds},
                          {"duration_us", study.settings.duration.count()},
                          {"results", program::Json::array()}};
  for (const VerbsRow& row : study.rows) object["results"].push_back(JsonOf(row));
  return object;
}

}  // namespace plov::bench
