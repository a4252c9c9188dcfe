// A study of verbs as a page and JSON.

#include <fmt/core.h>

#include <set>

#include "bench/page/number.h"
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

// A row of the table for one size; why a combination cannot be is told below.
std::vector<std::string> RowOf(const VerbsStudy& study, const Combination* combination,
                               uint32_t bytes) {
  std::vector<std::string> row = {std::string(combination->name)};
  const VerbsRow* single = study.Find(combination, bytes, 1);
  if (!single->unsupported.empty()) {
    row.emplace_back("not supported");
    return row;
  }
  for (const uint32_t window : study.settings.windows) {
    row.push_back(Whole(study.Find(combination, bytes, window)->rate.median()));
  }
  const VerbsRow* widest = study.Find(combination, bytes, study.settings.windows.back());
  row.push_back(Fixed(single->median_us.median(), 2));
  row.push_back(Fixed(single->p99_us.median(), 2));
  row.push_back(Fixed(widest->server_cpu_us.median(), 3));
  return row;
}

Table TableOf(const VerbsStudy& study, uint32_t bytes) {
  Table table{.title = fmt::format("{} bytes", bytes), .columns = {"<requests/s"}};
  for (const uint32_t window : study.settings.windows) {
    table.columns.push_back(fmt::format("window {}", window));
  }
  for (const char* name : {"median us", "p99 us", "CPU us"}) table.columns.emplace_back(name);
  for (const Combination* one : study.settings.combinations) {
    table.rows.push_back(RowOf(study, one, bytes));
  }
  return table;
}

std::string ReasonsOf(const VerbsStudy& study) {
  std::set<std::string> reasons;
  for (const VerbsRow& row : study.rows) {
    if (row.unsupported.empty()) continue;
    reasons.insert(fmt::format("not supported: {} of {} bytes: {}", row.combination->name,
                               row.bytes, row.unsupported));
  }
  std::string text;
  for (const std::string& reason : reasons) text += text.empty() ? reason : "\n" + reason;
  return text;
}

Table MeaningsOf(const VerbsStudy& study) {
  Table table{.columns = {"<combination", "<meaning"}};
  for (const Combination* one : study.settings.combinations) {
    table.rows.push_back({std::string(one->name), std::string(one->meaning)});
  }
  return table;
}

program::Json JsonOf(const VerbsRow& row) {
  program::Json object = program::Json::object();
  object["combination"] = row.combination->name;
  object["bytes"] = row.bytes;
  object["window"] = row.window;
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

std::optional<double> RateOf(const VerbsRow* row) {
  if (row == nullptr || row->rate.empty()) return std::nullopt;
  return row->rate.median();
}

// Those that plov itself uses: GETs and PUTs.
Owner OwnerOf(const Combination* combination) {
  const bool is_plov = combination->name == "READ" || combination->name == "SEND/SEND";
  return is_plov ? Owner::kPlov : Owner::kPeer;
}

// Rates at the largest window by size.
Chart ChartBySize(const VerbsStudy& study) {
  const uint32_t window = study.settings.windows.back();
  Chart chart{.title = fmt::format("Requests by size, window {}, {}", window, study.device),
              .unit = "requests/s"};
  for (const uint32_t bytes : study.settings.bytes) {
    BarGroup group{.name = fmt::format("{} bytes", bytes)};
    for (const Combination* one : study.settings.combinations) {
      group.bars.push_back(
          {std::string(one->name), RateOf(study.Find(one, bytes, window)), OwnerOf(one)});
    }
    chart.groups.push_back(std::move(group));
  }
  return chart;
}

// At the middle size by window.
Plot PlotByWindow(const VerbsStudy& study) {
  const auto& sizes = study.settings.bytes;
  const uint32_t bytes = sizes[(sizes.size() - 1) / 2];
  Plot plot{.title = fmt::format("Requests by window, {} bytes, {}", bytes, study.device),
            .x = {.label = "in flight"},
            .y = {.label = "requests/s"}};
  for (const Combination* one : study.settings.combinations) {
    Curve curve{.name = std::string(one->name), .owner = OwnerOf(one)};
    for (const uint32_t window : study.settings.windows) {
      const auto rate = RateOf(study.Find(one, bytes, window));
      if (rate) curve.points.push_back({static_cast<double>(window), *rate});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

// The combination that carries most at the largest window, of the first size.
Headline HeadlineOf(const VerbsStudy& study) {
  const uint32_t window = study.settings.windows.back();
  const uint32_t bytes = study.settings.bytes.front();
  Headline headline;
  double most = 0;
  for (const Combination* one : study.settings.combinations) {
    const auto rate = RateOf(study.Find(one, bytes, window));
    if (!rate) continue;
    if (OwnerOf(one) == Owner::kPlov) {
      headline.figures.push_back({fmt::format("requests a second, {}", one->name), Compact(*rate)});
    }
    if (*rate <= most) continue;
    most = *rate;
    headline.text = fmt::format("{} carries most: {} requests a second of {} bytes, {} in flight",
                                one->name, Compact(*rate), bytes, window);
  }
  return headline;
}

}  // namespace

Page PageOf(const VerbsStudy& study) {
  Page page{.title = "plov-bench verbs",
            .headline = HeadlineOf(study),
            .facts = FactsOfRun(),
            .parts = {Paragraph{HeadOf(study)}, PlotByWindow(study), ChartBySize(study)}};
  for (const uint32_t bytes : study.settings.bytes) page.parts.push_back(TableOf(study, bytes));
  const std::string reasons = ReasonsOf(study);
  if (!reasons.empty()) page.parts.push_back(Paragraph{reasons});
  page.parts.push_back(MeaningsOf(study));
  return page;
}

program::Json JsonOf(const VerbsStudy& study) {
  program::Json object = program::Json::object();
  object["device"] = study.device;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["results"] = program::Json::array();
  for (const VerbsRow& row : study.rows) object["results"].push_back(JsonOf(row));
  return object;
}

}  // namespace plov::bench
