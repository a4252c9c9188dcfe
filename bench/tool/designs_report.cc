// A study of designs as a page, and the command itself.

#include <fmt/core.h>

#include "bench/load/items.h"
#include "bench/page/number.h"
#include "bench/tool/designs_study.h"
#include "bench/tool/sample_text.h"

namespace plov::bench {

namespace {

Paragraph HeadOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  return {fmt::format(
      "{}{}: {} items, keys of {} bytes; medians of {} round{} of {} ms, with the least and the "
      "most\nof a GET: READs (HERD: messages), bytes READ or sent, CPU time of the server; latency "
      "one at a time",
      study.fabric, study.device.empty() ? "" : " on " + study.device,
      Whole(static_cast<double>(settings.items)), ItemShape().key_bytes, settings.rounds,
      settings.rounds == 1 ? "" : "s", static_cast<double>(settings.duration.count()) / 1000)};
}

Table TableOf(const DesignsStudy& study, uint32_t value_bytes) {
  const uint32_t window = study.settings.window;
  Table table{.title = fmt::format("values of {} bytes, window {}", value_bytes, window),
              .columns = {{"design", Align::kLeft},
                          {"GETs/s"},
                          {"from..to"},
                          {"READs"},
                          {"bytes"},
                          {"CPU us"},
                          {"median us"},
                          {"p99 us"}},
              .rows = {}};
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    const DesignRow& many = *study.Find(design, value_bytes, window);
    const DesignRow& single = *study.Find(design, value_bytes, 1);
    table.rows.push_back({std::string(kDesignNames[design]), Whole(many.per_second.median()),
                          SpreadOf(many.per_second, Whole), Fixed(many.reads.median(), 2),
                          Fixed(many.bytes.median(), 1), Fixed(many.server_cpu_us.median(), 3),
                          Fixed(single.median_us.median(), 2), Fixed(single.p99_us.median(), 2)});
  }
  return table;
}

// The first size of values has all windows.
Table LoadOf(const DesignsStudy& study) {
  const uint32_t value_bytes = study.settings.value_bytes.front();
  Table table{
      .title = fmt::format("latency by load, values of {} bytes: GETs/s, and the mean us of a GET",
                           value_bytes),
      .columns = {{"window", Align::kLeft}},
      .rows = {}};
  const auto windows = WindowsUpTo(study.settings.window);
  for (const uint32_t window : windows) {
    table.columns.push_back({fmt::format("{}", window)});
    table.columns.push_back({"us"});
  }
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    table.rows.push_back({std::string(kDesignNames[design])});
    for (const uint32_t window : windows) {
      const DesignRow& row = *study.Find(design, value_bytes, window);
      table.rows.back().push_back(Whole(row.per_second.median()));
      table.rows.back().push_back(Fixed(row.mean_us(), 2));
    }
  }
  return table;
}

Chart ChartBySize(const DesignsStudy& study) {
  Chart chart{.title = fmt::format("GETs by size of values, window {}", study.settings.window),
              .category = "bytes",
              .categories = {},
              .unit = "GETs/s",
              .series = {}};
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

// Of the first size of values, too.
Table ClientsOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  Table table{.title = fmt::format("GETs/s by clients, values of {} bytes, window {} of each; and "
                                   "CPU us of the server for a GET",
                                   settings.value_bytes.front(), settings.window),
              .columns = {{"clients", Align::kLeft}},
              .rows = {}};
  for (const uint32_t count : settings.clients) {
    table.columns.push_back({fmt::format("{}", count)});
    table.columns.push_back({"CPU us"});
  }
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    table.rows.push_back({std::string(kDesignNames[design])});
    for (const uint32_t count : settings.clients) {
      const DesignClientsRow& row = *study.FindClients({.design = design}, count);
      table.rows.back().push_back(Whole(row.per_second.median()));
      table.rows.back().push_back(Fixed(row.server_cpu_us.median(), 3));
    }
  }
  return table;
}

// What the servers' CPU does; and that GETs by READs do without, at the same number of clients.
Table CoresOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  const uint32_t clients = settings.clients.back();
  Table table{.title = fmt::format(
                  "operations/s by server processes (plovd: shards), and the cores that they used; "
                  "clients: {}, values of {} bytes, window {} of each",
                  clients, settings.value_bytes.front(), settings.window),
              .columns = {{"servers", Align::kLeft}},
              .rows = {}};
  for (const uint32_t servers : settings.servers) {
    table.columns.push_back({fmt::format("{}", servers)});
    table.columns.push_back({"cores"});
  }
  // No row where nothing was measured: of one server, when that is not in the list.
  const auto add = [&](std::string name, const DesignWork& work) {
    std::vector<std::string> cells = {std::move(name)};
    bool any = false;
    for (const uint32_t servers : settings.servers) {
      DesignWork one = work;
      one.servers = servers;
      const DesignClientsRow* row = study.FindClients(one, clients);
      any = any || row != nullptr;
      cells.push_back(row == nullptr ? "" : Whole(row->per_second.median()));
      cells.push_back(row == nullptr ? "" : Fixed(row->cores(), 2));
    }
    if (any) table.rows.push_back(std::move(cells));
  };
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    add(fmt::format("{}: GETs", kDesignNames[design]), {.design = design});
  }
  add("plov: PUTs", {.design = kColdDesign, .puts = true});
  return table;
}

// A point for each window.
Plot PlotByLoad(const DesignsStudy& study) {
  const uint32_t bytes = study.settings.value_bytes.front();
  Plot plot{.title = fmt::format("Latency by load, values of {} bytes", bytes),
            .x = {.label = "GETs/s"},
            .y = {.label = "mean us", .scale = Scale::kLog},
            .curves = {}};
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    Curve curve{std::string(kDesignNames[design]), {}};
    for (const uint32_t window : WindowsUpTo(study.settings.window)) {
      const DesignRow& row = *study.Find(design, bytes, window);
      curve.points.push_back({row.per_second.median(), row.mean_us()});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

Plot PlotByClients(const DesignsStudy& study) {
  Plot plot{.title = fmt::format("GETs by clients, values of {} bytes, window {} of each",
                                 study.settings.value_bytes.front(), study.settings.window),
            .x = {.label = "clients"},
            .y = {.label = "GETs/s"},
            .curves = {}};
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    Curve curve{std::string(kDesignNames[design]), {}};
    for (const uint32_t count : study.settings.clients) {
      curve.points.push_back({static_cast<double>(count),
                              study.FindClients({.design = design}, count)->per_second.median()});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

// GETs that need no server are a level line.
Plot PlotByServers(const DesignsStudy& study) {
  const uint32_t clients = study.settings.clients.back();
  Plot plot{.title = fmt::format("GETs by server processes; clients: {}, values of {} bytes",
                                 clients, study.settings.value_bytes.front()),
            .x = {.label = "server processes"},
            .y = {.label = "GETs/s"},
            .curves = {}};
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    Curve curve{std::string(kDesignNames[design]), {}};
    for (const uint32_t servers : study.settings.servers) {
      const DesignWork work{.design = design, .servers = design == kHerdDesign ? servers : 1};
      curve.points.push_back(
          {static_cast<double>(servers), study.FindClients(work, clients)->per_second.median()});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

}  // namespace

Page PageOf(const DesignsStudy& study) {
  Page page{.title = "plov-bench designs", .facts = FactsOfRun(), .parts = {HeadOf(study)}};
  for (const uint32_t bytes : study.settings.value_bytes) {
    page.parts.push_back(TableOf(study, bytes));
  }
  page.parts.push_back(LoadOf(study));
  page.parts.push_back(ClientsOf(study));
  page.parts.push_back(CoresOf(study));
  page.parts.push_back(ChartBySize(study));
  page.parts.push_back(PlotByLoad(study));
  page.parts.push_back(PlotByClients(study));
  page.parts.push_back(PlotByServers(study));
  return page;
}

Outcome RunDesigns(const Given& given, cli::Output* output) {
  const auto settings = DesignsSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyDesigns(*settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  output->Write(settings->json ? JsonOf(*study) : TextOf(page));
  return settings->html.empty() ? Outcome() : Save(settings->html, HtmlOf(page));
}

}  // namespace plov::bench
