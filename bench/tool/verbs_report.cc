// A study of verbs as tables, JSON and charts.

#include <fmt/core.h>

#include <cmath>
#include <set>

#include "bench/tool/verbs_study.h"
#include "client/cli/format.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

std::string Whole(double value) {
  return cli::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string HeadOf(const VerbsStudy& study) {
  const VerbsSettings& settings = study.settings;
  return fmt::format(
      "{}: requests and replies of the same size; medians of {} round{} of {} ms\n"
      "latency at window 1; server CPU of one request at window {}, while it polls\n",
      study.device, settings.rounds, settings.rounds == 1 ? "" : "s",
      static_cast<double>(settings.duration.count()) / 1000, settings.windows.back());
}

// A row of the table for one size; why a combination cannot be is told below.
std::string LineOf(const VerbsStudy& study, const Combination* combination, uint32_t bytes) {
  std::string line = fmt::format("{:<16}", combination->name);
  const VerbsRow* single = study.Find(combination, bytes, 1);
  if (!single->unsupported.empty()) return line + "  not supported\n";
  for (const uint32_t window : study.settings.windows) {
    line += fmt::format(" {:>11}", Whole(study.Find(combination, bytes, window)->rate.median()));
  }
  const VerbsRow* widest = study.Find(combination, bytes, study.settings.windows.back());
  return line + fmt::format(" {:>9.2f} {:>9.2f} {:>9.3f}\n", single->median_us.median(),
                            single->p99_us.median(), widest->server_cpu_us.median());
}

std::string TableOf(const VerbsStudy& study, uint32_t bytes) {
  std::string text = fmt::format("\n{} bytes\n{:<16}", bytes, "requests/s");
  for (const uint32_t window : study.settings.windows) {
    text += fmt::format(" {:>11}", fmt::format("window {}", window));
  }
  text += fmt::format(" {:>9} {:>9} {:>9}\n", "median us", "p99 us", "CPU us");
  for (const Combination* one : study.settings.combinations) text += LineOf(study, one, bytes);
  return text;
}

cli::Json JsonOf(const VerbsRow& row) {
  cli::Json object = cli::Json::object();
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

}  // namespace

std::string TablesOf(const VerbsStudy& study) {
  std::string text = HeadOf(study);
  for (const uint32_t bytes : study.settings.bytes) text += TableOf(study, bytes);
  std::set<std::string> reasons;
  for (const VerbsRow& row : study.rows) {
    if (row.unsupported.empty()) continue;
    reasons.insert(fmt::format("not supported: {} of {} bytes: {}\n", row.combination->name,
                               row.bytes, row.unsupported));
  }
  if (!reasons.empty()) text += '\n';
  for (const std::string& reason : reasons) text += reason;
  text += '\n';
  for (const Combination* one : study.settings.combinations) {
    text += fmt::format("{:<16}  {}\n", one->name, one->meaning);
  }
  return text;
}

std::string JsonOf(const VerbsStudy& study) {
  cli::Json object = cli::Json::object();
  object["device"] = study.device;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["results"] = cli::Json::array();
  for (const VerbsRow& row : study.rows) object["results"].push_back(JsonOf(row));
  return cli::LineOf(object);
}

Chart ChartBySize(const VerbsStudy& study) {
  const uint32_t window = study.settings.windows.back();
  Chart chart{.title = fmt::format("Requests by size, window {}, {}", window, study.device),
              .category = "bytes",
              .categories = {},
              .unit = "requests/s",
              .series = {}};
  for (const uint32_t bytes : study.settings.bytes) {
    chart.categories.push_back(fmt::format("{}", bytes));
  }
  for (const Combination* one : study.settings.combinations) {
    Series series{std::string(one->name), {}};
    for (const uint32_t bytes : study.settings.bytes) {
      series.values.push_back(RateOf(study.Find(one, bytes, window)));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart ChartByWindow(const VerbsStudy& study) {
  const auto& sizes = study.settings.bytes;
  const uint32_t bytes = sizes[(sizes.size() - 1) / 2];
  Chart chart{.title = fmt::format("Requests by window, {} bytes, {}", bytes, study.device),
              .category = "in flight",
              .categories = {},
              .unit = "requests/s",
              .series = {}};
  for (const uint32_t window : study.settings.windows) {
    chart.categories.push_back(fmt::format("{}", window));
  }
  for (const Combination* one : study.settings.combinations) {
    Series series{std::string(one->name), {}};
    for (const uint32_t window : study.settings.windows) {
      series.values.push_back(RateOf(study.Find(one, bytes, window)));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace plov::bench
