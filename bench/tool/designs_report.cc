// A study of designs as text, JSON and charts, and the command itself.

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "bench/load/items.h"
#include "bench/tool/chart.h"
#include "bench/tool/designs_study.h"
#include "client/cli/format.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

std::string Whole(double value) {
  return cli::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string TableOf(const DesignsStudy& study, uint32_t value_bytes) {
  const uint32_t window = study.settings.window;
  std::string text = fmt::format(
      "\nvalues of {} bytes, window {}\n{:<18} {:>10} {:>23} {:>7} {:>9} {:>9} {:>9} {:>9}\n",
      value_bytes, window, "", "GETs/s", "", "READs", "bytes", "CPU us", "median us", "p99 us");
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    const DesignRow& many = *study.Find(design, value_bytes, window);
    const DesignRow& single = *study.Find(design, value_bytes, 1);
    text += fmt::format(
        "{:<18} {:>10} {:>23} {:>7.2f} {:>9.1f} {:>9.3f} {:>9.2f} {:>9.2f}\n", kDesignNames[design],
        Whole(many.per_second.median()),
        fmt::format("{}..{}", Whole(many.per_second.least()), Whole(many.per_second.most())),
        many.reads.median(), many.bytes.median(), many.server_cpu_us.median(),
        single.median_us.median(), single.p99_us.median());
  }
  return text;
}

// The first size of values has all windows.
std::string LoadOf(const DesignsStudy& study) {
  const auto windows = WindowsUpTo(study.settings.window);
  const uint32_t value_bytes = study.settings.value_bytes.front();
  std::string text =
      fmt::format("\nlatency by load, values of {} bytes: GETs/s, and the mean us of a GET\n{:<18}",
                  value_bytes, "window");
  for (const uint32_t window : windows) text += fmt::format(" {:>20}", window);
  text += '\n';
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    text += fmt::format("{:<18}", kDesignNames[design]);
    for (const uint32_t window : windows) {
      const DesignRow& row = *study.Find(design, value_bytes, window);
      text += fmt::format(" {:>11} {:>8.2f}", Whole(row.per_second.median()), row.mean_us());
    }
    text += '\n';
  }
  return text;
}

Chart ChartBySize(const DesignsStudy& study) {
  Chart chart{fmt::format("GETs by size of values, window {}", study.settings.window),
              "bytes",
              {},
              "GETs/s",
              {}};
  for (const uint32_t bytes : study.settings.value_bytes) {
    chart.categories.push_back(std::to_string(bytes));
  }
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    Series series{std::string(kDesignNames[design]), {}};
    for (const uint32_t bytes : study.settings.value_bytes) {
      series.values.push_back(
          study.Find(design, bytes, study.settings.window)->per_second.median());
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

template <typename ValueOf>
Chart ChartByWindow(const DesignsStudy& study, std::string title, std::string unit,
                    ValueOf&& value_of) {
  const uint32_t bytes = study.settings.value_bytes.front();
  const auto windows = WindowsUpTo(study.settings.window);
  Chart chart{fmt::format("{}, values of {} bytes", title, bytes), "in flight", {}, unit, {}};
  for (const uint32_t window : windows) chart.categories.push_back(std::to_string(window));
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    Series series{std::string(kDesignNames[design]), {}};
    for (const uint32_t window : windows) {
      series.values.push_back(value_of(*study.Find(design, bytes, window)));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::vector<Chart> ChartsOf(const DesignsStudy& study) {
  const auto rate = [](const DesignRow& row) { return row.per_second.median(); };
  const auto latency = [](const DesignRow& row) { return row.mean_us(); };
  return {ChartBySize(study), ChartByWindow(study, "GETs by load", "GETs/s", rate),
          ChartByWindow(study, "Mean latency by load", "us", latency)};
}

cli::Json JsonOf(const Sample& sample) {
  return {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

Outcome Save(const DesignsStudy& study) {
  const std::string& path = study.settings.html;
  if (path.empty()) return {};
  std::ofstream file(path);
  file << HtmlOf("plov-bench designs", ChartsOf(study), TextOf(study)) << std::flush;
  return file ? Outcome() : FailErrno("cannot write " + path, errno);
}

}  // namespace

std::string TextOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  std::string text = fmt::format(
      "{}{}: {} items, keys of {} bytes; medians of {} round{} of {} ms, with the least and the "
      "most\nof a GET: READs (HERD: messages), bytes READ or sent, CPU time of the server; latency "
      "one at a time\n",
      study.fabric, study.device.empty() ? "" : " on " + study.device, cli::Grouped(settings.items),
      ItemShape().key_bytes, settings.rounds, settings.rounds == 1 ? "" : "s",
      static_cast<double>(settings.duration.count()) / 1000);
  for (const uint32_t bytes : settings.value_bytes) text += TableOf(study, bytes);
  return text + LoadOf(study);
}

std::string JsonOf(const DesignsStudy& study) {
  cli::Json object = cli::Json::object();
  object["fabric"] = study.fabric;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["results"] = cli::Json::array();
  for (const DesignRow& row : study.rows) {
    cli::Json result = {{"design", kDesignNames[row.design]},
                        {"value_bytes", row.value_bytes},
                        {"window", row.window},
                        {"per_second", JsonOf(row.per_second)},
                        {"reads_per_get", row.reads.median()},
                        {"bytes_per_get", row.bytes.median()},
                        {"server_cpu_us_per_get", row.server_cpu_us.median()},
                        {"mean_us", row.mean_us()}};
    if (row.window == 1) {
      result["median_us"] = JsonOf(row.median_us);
      result["p99_us"] = JsonOf(row.p99_us);
    }
    object["results"].push_back(std::move(result));
  }
  return cli::LineOf(object);
}

Outcome RunDesigns(const Given& given, cli::Output* output) {
  const auto settings = DesignsSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyDesigns(*settings);
  if (!study) return std::unexpected(study.error());
  if (settings->json) {
    output->Write(JsonOf(*study));
  } else {
    output->Write(TextOf(*study) + "\n" + TextOf(ChartBySize(*study)));
  }
  return Save(*study);
}

}  // namespace plov::bench
