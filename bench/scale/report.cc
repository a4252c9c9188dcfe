// What scaling costs as a page and JSON.

#include <fmt/core.h>

#include <algorithm>

#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/scale/study.h"
#include "bench/shared/command.h"
#include "program/format.h"
#include "program/machine.h"

namespace plov::bench {

namespace {

constexpr uint64_t kMemoryMin = uint64_t{128} << 20;
constexpr uint64_t kMemoryMax = uint64_t{1} << 46;

// Seven tenths: the rest is for what the estimate leaves out.
uint64_t FreeMemory() {
  const auto kib = program::Machine().ReadField("/proc/meminfo", "MemAvailable");
  return std::max(kMemoryMin, kib.value_or(0) * 1024 / 10 * 7);
}

Outcome FillAxes(const Given& given, ScaleSettings* settings) {
  const char* const all = "items,values,clients,shards";
  for (const std::string& name : SplitList(given.Has("axis") ? given.Text("axis") : all)) {
    const auto found = std::ranges::find(kScaleAxisNames, name);
    if (found == kScaleAxisNames.end()) {
      return given.Invalid(
          fmt::format("--axis: there is no '{}', but items, values, clients and shards", name));
    }
    settings->axes.push_back(static_cast<ScaleAxis>(found - kScaleAxisNames.begin()));
  }
  return {};
}

Outcome FillSettings(const Given& given, ScaleSettings* settings) {
  settings->memory_bytes = FreeMemory();
  if (given.On("quick")) {
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(30);
  }
  return AllOf({FillAxes(given, settings),
                given.Fill("memory", kMemoryMin, kMemoryMax, &settings->memory_bytes),
                FillFile(given, "markdown", &settings->markdown), FillStudy(given, settings)});
}

constexpr size_t kGet = 0;
constexpr size_t kKnown = 2;
constexpr size_t kPut = 4;

std::string LabelOf(ScaleAxis axis) {
  return axis == ScaleAxis::kValues ? "value bytes" : std::string(NameOf(axis));
}

// The member of a point that an axis changes.
const char* KeyOf(ScaleAxis axis) {
  return axis == ScaleAxis::kValues ? "value_bytes"
                                    : kScaleAxisNames[static_cast<size_t>(axis)].data();
}

program::Json JsonOf(const ScaleRow& row) {
  program::Json object = {{"items", row.point.items},
                          {"value_bytes", row.point.value_bytes},
                          {"clients", row.point.clients},
                          {"shards", row.point.shards}};
  if (!row.skipped.empty()) {
    object["skipped"] = row.skipped;
    return object;
  }
  object["load_seconds"] = row.load_seconds;
  object["memory_per_item"] = row.memory_per_item;
  object["memory_beyond_payload"] =
      row.memory_per_item - ScalePoint::kKeyBytes - static_cast<double>(row.point.value_bytes);
  object["paces"] = program::Json::array();
  for (size_t i = 0; i < kPaces.size(); ++i) {
    const PaceResult& pace = row.paces[i];
    program::Json one = {{"name", kPaces[i].name},
                         {"per_second", pace.per_second.median()},
                         {"per_second_least", pace.per_second.least()},
                         {"per_second_most", pace.per_second.most()},
                         {"p50_us", pace.p50_us.median()},
                         {"p99_us", pace.p99_us.median()}};
    if (!pace.reads.empty()) one["reads_per_get"] = pace.reads.median();
    if (!pace.server_cpu_us.empty()) one["server_cpu_us"] = pace.server_cpu_us.median();
    object["paces"].push_back(std::move(one));
  }
  return object;
}

// The measured points of an axis, in order, with ratios of their rates to the first one's.
program::Json RowsOf(const ScaleStudy& study, ScaleAxis axis) {
  program::Json rows = program::Json::array();
  for (const ScaleRow* row : study.RowsOf(axis)) {
    if (!row->skipped.empty()) continue;
    program::Json one = JsonOf(*row);
    const program::Json& first = rows.empty() ? one : rows.front();
    for (size_t i = 0; i < kPaces.size(); ++i) {
      const double base = first["paces"][i]["per_second"];
      if (base > 0) one["paces"][i]["ratio"] = one["paces"][i]["per_second"].get<double>() / base;
    }
    rows.push_back(std::move(one));
  }
  return rows;
}

std::string PaceKey(size_t pace, const char* member) {
  return fmt::format("paces/{}/{}", pace, member);
}

// The point on its axis, then `columns`.
Table AxisTableOf(const program::Json& rows, ScaleAxis axis, std::string_view title,
                  std::vector<Column> columns) {
  columns.insert(columns.begin(), {LabelOf(axis), KeyOf(axis)});
  if (axis == ScaleAxis::kValues) columns.insert(columns.begin() + 1, {"items", "items"});
  return TableOf(fmt::format("By {}: {}", LabelOf(axis), title), rows, columns);
}

// A column for each pace.
std::vector<Column> PaceColumns(const char* member, int digits) {
  std::vector<Column> columns;
  for (size_t i = 0; i < kPaces.size(); ++i) {
    columns.push_back({std::string(kPaces[i].name), PaceKey(i, member), digits});
  }
  return columns;
}

Plot PlotOf(ScaleAxis axis, std::string title, const char* unit) {
  const bool is_log = axis == ScaleAxis::kItems || axis == ScaleAxis::kValues;
  return {.title = std::move(title),
          .x = {.label = LabelOf(axis),
                .scale = is_log ? Scale::kLog : Scale::kLinear,
                .unit = axis == ScaleAxis::kValues ? Unit::kBytes : Unit::kNumber},
          .y = {.label = unit, .scale = Scale::kLog}};
}

void AddPlots(const program::Json& rows, ScaleAxis axis, Page* page) {
  Plot rates = PlotOf(axis, fmt::format("Operations a second by {}", LabelOf(axis)), "a second");
  for (size_t i = 0; i < kPaces.size(); ++i) {
    rates.curves.push_back(
        CurveOf(std::string(kPaces[i].name), rows, KeyOf(axis), PaceKey(i, "per_second")));
  }
  Plot latencies = PlotOf(axis, fmt::format("Latency by {}, one at a time", LabelOf(axis)), "us");
  for (const size_t i : {kGet, kKnown, kPut}) {
    for (const char* part : {"p50", "p99"}) {
      latencies.curves.push_back(CurveOf(fmt::format("{}, {}", kPaces[i].name, part), rows,
                                         KeyOf(axis), PaceKey(i, part) + "_us"));
    }
  }
  page->parts.push_back(std::move(rates));
  page->parts.push_back(std::move(latencies));
}

void AddTables(const program::Json& rows, ScaleAxis axis, Page* page) {
  page->parts.push_back(
      AxisTableOf(rows, axis, "operations a second on this machine", PaceColumns("per_second", 0)));
  page->parts.push_back(
      AxisTableOf(rows, axis, "the same, to the first point's", PaceColumns("ratio", 2)));
  page->parts.push_back(AxisTableOf(rows, axis, "us on this machine, one at a time; READs",
                                    {{"GET p50", PaceKey(kGet, "p50_us"), 2},
                                     {"GET p99", PaceKey(kGet, "p99_us"), 2},
                                     {"GET, known p50", PaceKey(kKnown, "p50_us"), 2},
                                     {"GET, known p99", PaceKey(kKnown, "p99_us"), 2},
                                     {"PUT p50", PaceKey(kPut, "p50_us"), 2},
                                     {"PUT p99", PaceKey(kPut, "p99_us"), 2},
                                     {"READs/GET", PaceKey(kGet, "reads_per_get"), 2},
                                     {"READs/GET, known", PaceKey(kKnown, "reads_per_get"), 2}}));
  page->parts.push_back(AxisTableOf(
      rows, axis, "the server on this machine; CPU in seconds for a million, one at a time",
      {{"CPU, GETs", PaceKey(kGet, "server_cpu_us"), 3},
       {"CPU, PUTs", PaceKey(kPut, "server_cpu_us"), 2},
       {"bytes/item", "memory_per_item"},
       {"beyond payload", "memory_beyond_payload"},
       {"seconds to store", "load_seconds", 1}}));
}

// From the first point of the first axis to its last.
Headline HeadlineOf(const ScaleStudy& study) {
  for (const ScaleAxis axis : study.settings.axes) {
    const program::Json rows = RowsOf(study, axis);
    if (rows.empty()) continue;
    const auto number = [](const program::Json& row, const std::string& key) {
      return Compact(NumberAt(row, key).value_or(0));
    };
    const program::Json& last = rows.back();
    const std::string label = LabelOf(axis);
    const std::string rate = PaceKey(kGet, "per_second");
    return {.text = fmt::format("{} GETs a second at {} {}, {} at {}", number(rows.front(), rate),
                                number(rows.front(), KeyOf(axis)), label, number(last, rate),
                                number(last, KeyOf(axis))),
            .figures = {
                {fmt::format("us, GET p99 at the most {}", label),
                 number(last, PaceKey(kGet, "p99_us"))},
                {fmt::format("PUTs a second at the most {}", label),
                 number(last, PaceKey(kPut, "per_second"))},
                {"bytes of the server's memory an item, there", number(last, "memory_per_item")}}};
  }
  return {.text = "every point was skipped"};
}

Outcome RunScale(const Given& given, program::Output* output) {
  ScaleSettings settings;
  if (auto filled = FillSettings(given, &settings); !filled) return filled;
  const auto study = StudyScale(settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  auto shown = Show(settings, page, JsonOf(*study), output);
  if (!shown || settings.markdown.empty()) return shown;
  return Save(settings.markdown, MarkdownOf(page));
}

}  // namespace

Page PageOf(const ScaleStudy& study) {
  const ScaleSettings& settings = study.settings;
  Page page{.title = "How cost grows", .headline = HeadlineOf(study), .facts = FactsOfRun()};
  page.parts.push_back(Paragraph{fmt::format(
      "shm: keys of {} bytes, chosen uniformly; medians of {}. Each axis on its "
      "own; the others are {} items, values of {} bytes, 1 client, 1 shard. known: the client "
      "remembers where items are.",
      ScalePoint::kKeyBytes, RoundsOf(settings.rounds, settings.duration),
      settings.quick ? "1,000" : program::Grouped(ScalePoint().items), ScalePoint().value_bytes)});
  for (const ScaleRow& row : study.rows) {
    if (row.skipped.empty()) continue;
    page.parts.push_back(
        Paragraph{fmt::format("skipped: {} items, values of {} bytes, clients {}, shards {}: {}",
                              program::Grouped(row.point.items), row.point.value_bytes,
                              row.point.clients, row.point.shards, row.skipped)});
  }
  for (const ScaleAxis axis : settings.axes) {
    const program::Json rows = RowsOf(study, axis);
    if (rows.empty()) continue;
    AddPlots(rows, axis, &page);
    AddTables(rows, axis, &page);
  }
  return page;
}

program::Json JsonOf(const ScaleStudy& study) {
  program::Json object = {{"run", JsonOf(FactsOfRun())},
                          {"rounds", study.settings.rounds},
                          {"duration_us", study.settings.duration.count()},
                          {"memory_bytes", study.settings.memory_bytes},
                          {"points", program::Json::array()}};
  for (const ScaleRow& row : study.rows) object["points"].push_back(JsonOf(row));
  return object;
}

const Command kScaleCommand = {
    "scale",
    "how cost grows with items, sizes of values, clients and shards",
    OptionsOf<ScaleSettings>,
    {{"axis", "LIST", "of items, values, clients, shards (all)"},
     {"memory", "SIZE",
      "for server and clients; points that need more are skipped (seven tenths of what is free)"},
     {"markdown", "FILE", "write tables there, too, as a section of a README"}},
    RunScale};

}  // namespace plov::bench
