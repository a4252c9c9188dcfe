// A study of designs as a page, and the command itself.

#include <fmt/core.h>

#include "bench/designs/side.h"
#include "bench/designs/study.h"
#include "bench/load/items.h"
#include "bench/page/number.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 256;  // else all of them are under way at once
constexpr uint64_t kItemsMax = 10'000'000;
constexpr uint32_t kValueBytesMin = 8;
constexpr uint32_t kValueBytesMax = 16 << 10;  // of which a message takes one
constexpr uint32_t kClientsOfDesignMax = 64;
constexpr uint32_t kServersOfDesignMax = 16;

Paragraph HeadOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  return {fmt::format(
      "{}{}: {} items, keys of {} bytes; medians of {}, with the least and the most\nof a GET: "
      "READs (HERD: messages), bytes READ or sent, CPU time of the server; latency "
      "one at a time",
      study.fabric, study.device.empty() ? "" : " on " + study.device,
      Whole(static_cast<double>(settings.items)), ItemShape().key_bytes,
      RoundsOf(settings.rounds, settings.duration))};
}

Table TableOf(const DesignsStudy& study, uint32_t value_bytes) {
  const uint32_t window = study.settings.window;
  Table table{.title = fmt::format("values of {} bytes, window {}", value_bytes, window),
              .columns = {"<design", "GETs/s", "from..to", "READs", "bytes", "CPU us", "median us",
                          "p99 us"}};
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
      .columns = {"<window"}};
  const auto windows = WindowsUpTo(study.settings.window);
  for (const uint32_t window : windows) {
    table.columns.push_back(std::to_string(window));
    table.columns.emplace_back("us");
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

Owner OwnerOf(size_t design) { return design < kColdDesign ? Owner::kPeer : Owner::kPlov; }

Chart ChartBySize(const DesignsStudy& study) {
  const uint32_t window = study.settings.window;
  Chart chart{.title = fmt::format("GETs by size of values, window {}", window), .unit = "GETs/s"};
  for (const uint32_t bytes : study.settings.value_bytes) {
    BarGroup group{.name = fmt::format("{} bytes", bytes)};
    for (size_t design = 0; design < kDesignNames.size(); ++design) {
      group.bars.push_back({std::string(kDesignNames[design]),
                            study.Find(design, bytes, window)->per_second.median(),
                            OwnerOf(design)});
    }
    chart.groups.push_back(std::move(group));
  }
  return chart;
}

// Of the first size of values, too.
Table ClientsOf(const DesignsStudy& study) {
  const DesignsSettings& settings = study.settings;
  Table table{.title = fmt::format("GETs/s by clients, values of {} bytes, window {} of each; and "
                                   "CPU us of the server for a GET",
                                   settings.value_bytes.front(), settings.window),
              .columns = {"<clients"}};
  for (const uint32_t count : settings.clients) {
    table.columns.push_back(std::to_string(count));
    table.columns.emplace_back("CPU us");
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
              .columns = {"<servers"}};
  for (const uint32_t servers : settings.servers) {
    table.columns.push_back(std::to_string(servers));
    table.columns.emplace_back("cores");
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

// A curve for each design, with the points that `fill` adds.
template <typename Fill>
std::vector<Curve> CurvesOf(const Fill& fill) {
  std::vector<Curve> curves;
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    curves.push_back({.name = std::string(kDesignNames[design]), .owner = OwnerOf(design)});
    fill(design, &curves.back());
  }
  return curves;
}

// A point for each window.
Plot PlotByLoad(const DesignsStudy& study) {
  const uint32_t bytes = study.settings.value_bytes.front();
  return {.title = fmt::format("Latency by load, values of {} bytes", bytes),
          .x = {.label = "GETs/s achieved"},
          .y = {.label = "mean us", .scale = Scale::kLog},
          .curves = CurvesOf([&](size_t design, Curve* curve) {
            for (const uint32_t window : WindowsUpTo(study.settings.window)) {
              const DesignRow& row = *study.Find(design, bytes, window);
              AddAchieved({row.per_second.median(), row.mean_us()}, curve);
            }
          })};
}

Plot PlotByClients(const DesignsStudy& study) {
  return {.title = fmt::format("GETs by clients, values of {} bytes, window {} of each",
                               study.settings.value_bytes.front(), study.settings.window),
          .x = {.label = "clients"},
          .y = {.label = "GETs/s"},
          .curves = CurvesOf([&](size_t design, Curve* curve) {
            for (const uint32_t count : study.settings.clients) {
              const DesignClientsRow& row = *study.FindClients({.design = design}, count);
              curve->points.push_back({static_cast<double>(count), row.per_second.median()});
            }
          })};
}

// GETs that need no server are a level line.
Plot PlotByServers(const DesignsStudy& study) {
  const uint32_t clients = study.settings.clients.back();
  return {.title = fmt::format("GETs by server processes; clients: {}, values of {} bytes", clients,
                               study.settings.value_bytes.front()),
          .x = {.label = "server processes"},
          .y = {.label = "GETs/s"},
          .curves = CurvesOf([&](size_t design, Curve* curve) {
            for (const uint32_t servers : study.settings.servers) {
              const DesignWork work{.design = design,
                                    .servers = design == kHerdDesign ? servers : 1};
              curve->points.push_back({static_cast<double>(servers),
                                       study.FindClients(work, clients)->per_second.median()});
            }
          })};
}

// The rates at the window, of the first size of values.
Headline HeadlineOf(const DesignsStudy& study) {
  const auto rate = [&study](size_t design) {
    const DesignsSettings& settings = study.settings;
    return study.Find(design, settings.value_bytes.front(), settings.window)->per_second.median();
  };
  size_t best = 0;
  for (size_t design = 1; design < kColdDesign; ++design) {
    if (rate(design) > rate(best)) best = design;
  }
  Headline headline{.text = fmt::format(
                        "plov gets {:.2g} times what {}, the fastest emulated design, gets; {:.2g} "
                        "times where it knows the locations",
                        rate(kColdDesign) / rate(best), kDesignNames[best],
                        rate(kKnownDesign) / rate(best))};
  for (const size_t design : {kKnownDesign, kColdDesign, best}) {
    headline.figures.push_back(
        {fmt::format("GETs a second, {}", kDesignNames[design]), Compact(rate(design))});
  }
  return headline;
}

}  // namespace

Page PageOf(const DesignsStudy& study) {
  Page page{.title = "plov-bench designs",
            .headline = HeadlineOf(study),
            .facts = FactsOfRun(),
            .parts = {HeadOf(study), PlotByLoad(study), PlotByClients(study), PlotByServers(study),
                      ChartBySize(study)}};
  for (const uint32_t bytes : study.settings.value_bytes) {
    page.parts.push_back(TableOf(study, bytes));
  }
  page.parts.push_back(LoadOf(study));
  page.parts.push_back(ClientsOf(study));
  page.parts.push_back(CoresOf(study));
  return page;
}

program::Json JsonOf(const DesignsStudy& study) {
  program::Json object = program::Json::object();
  object["fabric"] = study.fabric;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["results"] = program::Json::array();
  for (const DesignRow& row : study.rows) {
    program::Json result = {{"design", kDesignNames[row.design]},
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
  object["clients"] = program::Json::array();
  for (const DesignClientsRow& row : study.clients) {
    object["clients"].push_back({{"design", kDesignNames[row.work.design]},
                                 {"operation", row.work.puts ? "put" : "get"},
                                 {"servers", row.work.servers},
                                 {"value_bytes", study.settings.value_bytes.front()},
                                 {"window", study.settings.window},
                                 {"clients", row.clients},
                                 {"per_second", JsonOf(row.per_second)},
                                 {"server_cpu_us", row.server_cpu_us.median()},
                                 {"server_cores", row.cores()}});
  }
  return object;
}

po::options_description DesignsOptions() {
  po::options_description options = StudyOptions("designs", DesignsSettings());
  // clang-format off
  options.add_options()("fabric", Text("NAME"), "shm or rdma (shm)");
  AddDeviceOptions(&options);
  options.add_options()
      ("items", Text("N"), "items to get (100000)")
      ("value-bytes", Text("LIST"), "sizes of values, 8 to 16K (16,64,256,1K)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)")
      ("clients", Text("LIST"), "processes that get at the same time, 1 to 64 (1,2,4,8)")
      ("servers", Text("LIST"), "HERD's server processes, and plovd's shards, 1 to 16 (1,2,4)");
  // clang-format on
  return options;
}

std::expected<DesignsSettings, Error> DesignsSettingsOf(const Given& given) {
  DesignsSettings settings;
  if (given.On("quick")) {
    settings.items = 1000;
    settings.value_bytes = {64};
    settings.clients = {1, 2};
    settings.servers = {1, 2};
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(20);
  }
  for (auto filled :
       {FillFabric(given, &settings),
        FillNumbers(given, "value-bytes", kValueBytesMin, kValueBytesMax, &settings.value_bytes),
        FillNumbers(given, "clients", 1, kClientsOfDesignMax, &settings.clients),
        FillNumbers(given, "servers", 1, kServersOfDesignMax, &settings.servers),
        given.Fill("items", kItemsMin, kItemsMax, &settings.items),
        given.Fill("window", 1, kSideWindowMax, &settings.window), FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

Outcome RunDesigns(const Given& given, program::Output* output) {
  return MeasureAndShow(DesignsSettingsOf(given), StudyDesigns, output);
}

}  // namespace plov::bench
