// A study of designs as a page, and the command itself.

#include <fmt/core.h>

#include "bench/designs/side.h"
#include "bench/designs/study.h"
#include "bench/load/items.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

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

// Of one size of values: the window, and one at a time.
Table RatesOf(const program::Json& rows, uint32_t value_bytes, uint32_t window) {
  const program::Json many = {{"window", window}};
  const program::Json single = {{"window", 1}};
  return TableOf(fmt::format("values of {} bytes, window {}", value_bytes, window),
                 RowsWith(rows, {{"value_bytes", value_bytes}}), {"design", "design"},
                 {{many, {"GETs/s", "per_second", 0, Shown::kBars}},
                  {many, {"from..to", "per_second", 0, Shown::kSpread}},
                  {many, {"READs", "reads_per_get", 2}},
                  {many, {"bytes", "bytes_per_get", 1}},
                  {many, {"CPU us", "server_cpu_us_per_get", 3}},
                  {single, {"median us", "median_us", 2}},
                  {single, {"p99 us", "p99_us", 2}}});
}

// The operations a second at each number of something, and another figure beside.
std::vector<ColumnOfRow> ByNumber(const char* what, const std::vector<uint32_t>& numbers,
                                  const Column& beside) {
  std::vector<ColumnOfRow> columns;
  for (const uint32_t number : numbers) {
    columns.push_back({{{what, number}}, {std::to_string(number), "per_second"}});
    columns.push_back({{{what, number}}, beside});
  }
  return columns;
}

// What several clients get, of the first size of values.
void AddClients(const DesignsSettings& settings, const program::Json& rows, Page* page) {
  const std::string load = fmt::format("values of {} bytes, window {} of each",
                                       settings.value_bytes.front(), settings.window);
  const program::Json by_clients = RowsWith(rows, {{"operation", "get"}, {"servers", 1}});
  const uint32_t clients = settings.clients.back();
  const program::Json by_servers = RowsWith(rows, {{"clients", clients}});
  page->parts.push_back(Plot{.title = "GETs by clients, " + load,
                             .x = {.label = "clients"},
                             .y = {.label = "GETs/s"},
                             .curves = CurvesOf(by_clients, "design", "clients", "per_second")});
  page->parts.push_back(
      Plot{.title = fmt::format("Operations by server processes; clients: {}, {}", clients, load),
           .x = {.label = "server processes"},
           .y = {.label = "operations/s"},
           .curves = CurvesOf(by_servers, "work", "servers", "per_second")});
  page->parts.push_back(
      TableOf(fmt::format("GETs/s by clients, {}; and CPU us of the server for a GET", load),
              by_clients, {"clients", "design"},
              ByNumber("clients", settings.clients, {"CPU us", "server_cpu_us", 3})));
  page->parts.push_back(
      TableOf(fmt::format("operations/s by server processes (plovd: shards), and the cores that "
                          "they used; clients: {}, {}",
                          clients, load),
              by_servers, {"servers", "work"},
              ByNumber("servers", settings.servers, {"cores", "server_cores", 2})));
}

// Latency by load, of the first size of values, which has all windows.
void AddLoad(const DesignsSettings& settings, const program::Json& results, Page* page) {
  const uint32_t bytes = settings.value_bytes.front();
  const program::Json rows = RowsWith(results, {{"value_bytes", bytes}});
  std::vector<Curve> curves = CurvesOf(rows, "design", "per_second", "mean_us");
  for (Curve& curve : curves) curve = OverAchieved(std::move(curve));
  page->parts.push_back(Plot{.title = fmt::format("Latency by load, values of {} bytes", bytes),
                             .x = {.label = "GETs/s achieved"},
                             .y = {.label = "mean us", .scale = Scale::kLog},
                             .curves = std::move(curves)});
  page->parts.push_back(TableOf(
      fmt::format("latency by load, values of {} bytes: GETs/s, and the mean us of a GET", bytes),
      rows, {"window", "design"},
      ByNumber("window", WindowsUpTo(settings.window), {"us", "mean_us", 2})));
}

// The rates at the window, of the first size of values.
Headline HeadlineOf(const DesignsSettings& settings, const program::Json& results) {
  const program::Json rows = RowsWith(
      results, {{"value_bytes", settings.value_bytes.front()}, {"window", settings.window}});
  const auto rate = [&rows](size_t design) {
    return NumberAt(rows.at(design), "per_second").value_or(0);  // as kDesignNames
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

Outcome FillSettings(const Given& given, DesignsSettings* settings) {
  if (given.On("quick")) {
    settings->items = 1000;
    settings->value_bytes = {64};
    settings->clients = {1, 2};
    settings->servers = {1, 2};
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(20);
  }
  return AllOf(
      {FillFabric(given, settings),
       FillNumbers(given, "value-bytes", kValueBytesMin, kValueBytesMax, &settings->value_bytes),
       FillNumbers(given, "clients", 1, kClientsOfDesignMax, &settings->clients),
       FillNumbers(given, "servers", 1, kServersOfDesignMax, &settings->servers),
       given.Fill("items", kItemsMin, kItemsMax, &settings->items),
       given.Fill("window", 1, kSideWindowMax, &settings->window), FillStudy(given, settings)});
}

}  // namespace

Page PageOf(const DesignsStudy& study) {
  const program::Json figures = JsonOf(study);
  Page page{.title = "plov-bench designs",
            .headline = HeadlineOf(study.settings, figures["results"]),
            .facts = FactsOfRun(),
            .parts = {HeadOf(study)}};
  for (const uint32_t bytes : study.settings.value_bytes) {
    page.parts.push_back(RatesOf(figures["results"], bytes, study.settings.window));
  }
  AddLoad(study.settings, figures["results"], &page);
  AddClients(study.settings, figures["clients"], &page);
  return page;
}

program::Json JsonOf(const DesignsStudy& study) {
  program::Json object = {{"fabric", study.fabric},
                          {"device", study.device},
                          {"items", study.settings.items},
                          {"rounds", study.settings.rounds},
                          {"duration_us", study.settings.duration.count()},
                          {"results", program::Json::array()},
                          {"clients", program::Json::array()}};
  for (const DesignRow& row : study.rows) {
    program::Json result = {{"design", kDesignNames[row.work.design]},
                            {"value_bytes", row.value_bytes},
                            {"window", row.window},
                            {"per_second", row.per_second},
                            {"reads_per_get", row.reads.median()},
                            {"bytes_per_get", row.bytes.median()},
                            {"server_cpu_us_per_get", row.server_cpu_us.median()},
                            {"mean_us", row.mean_us()}};
    if (row.window == 1) {
      result["median_us"] = row.median_us;
      result["p99_us"] = row.p99_us;
    }
    object["results"].push_back(std::move(result));
  }
  for (const DesignRow& row : study.clients) {
    const std::string gets = fmt::format("{}: GETs", kDesignNames[row.work.design]);
    object["clients"].push_back({{"design", kDesignNames[row.work.design]},
                                 {"operation", row.work.puts ? "put" : "get"},
                                 {"work", row.work.puts ? "plov: PUTs" : gets},
                                 {"servers", row.work.servers},
                                 {"value_bytes", row.value_bytes},
                                 {"window", row.window},
                                 {"clients", row.clients},
                                 {"per_second", row.per_second},
                                 {"server_cpu_us", row.server_cpu_us.median()},
                                 {"server_cores", row.cores()}});
  }
  return object;
}

const Command kDesignsCommand = {
    "designs",
    "GETs of the designs that plov comes from, and of plov, over the same fabric",
    OptionsOf<DesignsSettings>,
    {{"fabric", "shm|rdma", "what bytes move over (shm)"},
     {"device", "NAME", "the RDMA device (the first with an active port)"},
     {"address", "ADDRESS", "the device whose netdev has this address"},
     {"items", "N", "items to get (100000)"},
     {"value-bytes", "LIST", "sizes of values, 8 to 16K (16,64,256,1K)"},
     {"window", "N", "GETs in flight, 1 to 64 (32)"},
     {"clients", "LIST", "processes that get at the same time, 1 to 64 (1,2,4,8)"},
     {"servers", "LIST", "HERD's server processes, and plovd's shards, 1 to 16 (1,2,4)"}},
    MeasureAndShow<FillSettings, StudyDesigns>};

}  // namespace plov::bench
