// What scaling costs as a page and JSON.

#include <fmt/core.h>

#include <algorithm>

#include "bench/page/number.h"
#include "bench/scale/study.h"
#include "bench/shared/command.h"
#include "program/format.h"
#include "program/machine.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kMemoryMin = uint64_t{128} << 20;
constexpr uint64_t kMemoryMax = uint64_t{1} << 46;

// Seven tenths: the rest is for what the estimate leaves out.
uint64_t FreeMemory() {
  const auto kib = program::Machine().ReadField("/proc/meminfo", "MemAvailable");
  return std::max(kMemoryMin, kib.value_or(0) * 1024 / 10 * 7);
}

Outcome FillAxes(const Given& given, ScaleSettings* settings) {
  constexpr auto kAll = std::to_array<ScaleAxis>(
      {ScaleAxis::kItems, ScaleAxis::kValues, ScaleAxis::kClients, ScaleAxis::kShards});
  if (!given.Has("axis")) {
    settings->axes.assign(kAll.begin(), kAll.end());
    return {};
  }
  for (const std::string& name : SplitList(given.Text("axis"))) {
    const auto found = std::ranges::find(kScaleAxisNames, name);
    if (found == kScaleAxisNames.end()) {
      return given.Invalid(
          fmt::format("--axis: there is no '{}', but items, values, clients and shards", name));
    }
    settings->axes.push_back(kAll[static_cast<size_t>(found - kScaleAxisNames.begin())]);
  }
  return {};
}

std::expected<ScaleSettings, Error> SettingsOf(const Given& given) {
  ScaleSettings settings;
  settings.memory_bytes = FreeMemory();
  if (given.On("quick")) {
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(30);
  }
  for (auto filled :
       {FillAxes(given, &settings),
        given.Fill("memory", kMemoryMin, kMemoryMax, &settings.memory_bytes),
        FillFile(given, "markdown", &settings.markdown), FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

constexpr size_t kGet = 0;
constexpr size_t kKnown = 2;
constexpr size_t kPut = 4;

std::string LabelOf(ScaleAxis axis) {
  return axis == ScaleAxis::kValues ? "value bytes" : std::string(NameOf(axis));
}

std::vector<std::string> BeginOf(ScaleAxis axis, const ScaleRow& row) {
  std::vector<std::string> cells = {program::Grouped(row.point.On(axis))};
  if (axis == ScaleAxis::kValues) cells.push_back(program::Grouped(row.point.items));
  return cells;
}

Table TableFor(ScaleAxis axis, std::string title) {
  Table table{.title = std::move(title), .columns = {LabelOf(axis)}};
  if (axis == ScaleAxis::kValues) table.columns.emplace_back("items");
  return table;
}

// The first that was measured; nullptr where all were skipped.
const ScaleRow* FirstOf(const ScaleStudy& study, ScaleAxis axis) {
  for (const ScaleRow* row : study.RowsOf(axis)) {
    if (row->skipped.empty()) return row;
  }
  return nullptr;
}

Table RatesOf(const ScaleStudy& study, ScaleAxis axis) {
  Table table =
      TableFor(axis, fmt::format("By {}: operations a second on this machine", LabelOf(axis)));
  for (const Pace& pace : kPaces) table.columns.emplace_back(pace.name);
  for (const ScaleRow* row : study.RowsOf(axis)) {
    std::vector<std::string> cells = BeginOf(axis, *row);
    if (!row->skipped.empty()) cells.emplace_back("skipped");
    for (const PaceResult& pace : row->paces) {
      if (row->skipped.empty()) cells.push_back(Whole(pace.per_second.median()));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table RatiosOf(const ScaleStudy& study, ScaleAxis axis) {
  Table table = TableFor(axis, fmt::format("By {}: the same, to the first point's", LabelOf(axis)));
  for (const Pace& pace : kPaces) table.columns.emplace_back(pace.name);
  const ScaleRow* first = FirstOf(study, axis);
  for (const ScaleRow* row : study.RowsOf(axis)) {
    if (!row->skipped.empty()) continue;
    std::vector<std::string> cells = BeginOf(axis, *row);
    for (size_t i = 0; i < kPaces.size(); ++i) {
      const double base = first->paces[i].per_second.median();
      cells.push_back(base > 0 ? Fixed(row->paces[i].per_second.median() / base, 2) : "-");
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void AddRow(std::vector<std::string> cells, std::initializer_list<std::string> more, Table* table) {
  cells.insert(cells.end(), more);
  table->rows.push_back(std::move(cells));
}

Table LatenciesOf(const ScaleStudy& study, ScaleAxis axis) {
  Table table =
      TableFor(axis, fmt::format("By {}: us on this machine, one at a time; READs", LabelOf(axis)));
  for (const char* name : {"GET p50", "GET p99", "GET, known p50", "GET, known p99", "PUT p50",
                           "PUT p99", "READs/GET", "READs/GET, known"}) {
    table.columns.emplace_back(name);
  }
  for (const ScaleRow* row : study.RowsOf(axis)) {
    if (!row->skipped.empty()) continue;
    const PaceResult& get = row->paces[kGet];
    const PaceResult& known = row->paces[kKnown];
    const PaceResult& put = row->paces[kPut];
    AddRow(BeginOf(axis, *row),
           {Fixed(get.p50_us.median(), 2), Fixed(get.p99_us.median(), 2),
            Fixed(known.p50_us.median(), 2), Fixed(known.p99_us.median(), 2),
            Fixed(put.p50_us.median(), 2), Fixed(put.p99_us.median(), 2),
            Fixed(get.reads.median(), 2), Fixed(known.reads.median(), 2)},
           &table);
  }
  return table;
}

Table ServerCostsOf(const ScaleStudy& study, ScaleAxis axis) {
  Table table = TableFor(axis, fmt::format("By {}: the server on this machine; CPU in seconds for "
                                           "a million, one at a time",
                                           LabelOf(axis)));
  for (const char* name :
       {"CPU, GETs", "CPU, PUTs", "bytes/item", "beyond payload", "seconds to store"}) {
    table.columns.emplace_back(name);
  }
  for (const ScaleRow* row : study.RowsOf(axis)) {
    if (!row->skipped.empty()) continue;
    const double payload = ScalePoint::kKeyBytes + static_cast<double>(row->point.value_bytes);
    AddRow(BeginOf(axis, *row),
           {Fixed(row->paces[kGet].server_cpu_us.median(), 3),
            Fixed(row->paces[kPut].server_cpu_us.median(), 2), Whole(row->memory_per_item),
            Whole(row->memory_per_item - payload), Fixed(row->load_seconds, 1)},
           &table);
  }
  return table;
}

Axis AxisOf(ScaleAxis axis) {
  if (axis == ScaleAxis::kValues) {
    return {.label = LabelOf(axis), .scale = Scale::kLog, .unit = Unit::kBytes};
  }
  const bool is_log = axis == ScaleAxis::kItems;
  return {.label = LabelOf(axis), .scale = is_log ? Scale::kLog : Scale::kLinear};
}

Plot RatesPlotOf(const ScaleStudy& study, ScaleAxis axis) {
  Plot plot{.title = fmt::format("Operations a second by {}", LabelOf(axis)),
            .x = AxisOf(axis),
            .y = {.label = "a second", .scale = Scale::kLog}};
  for (size_t i = 0; i < kPaces.size(); ++i) {
    Curve curve{.name = std::string(kPaces[i].name)};
    for (const ScaleRow* row : study.RowsOf(axis)) {
      if (row->skipped.empty()) {
        curve.points.push_back(
            {static_cast<double>(row->point.On(axis)), row->paces[i].per_second.median()});
      }
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

Plot LatencyPlotOf(const ScaleStudy& study, ScaleAxis axis) {
  Plot plot{.title = fmt::format("Latency by {}, one at a time", LabelOf(axis)),
            .x = AxisOf(axis),
            .y = {.label = "us", .scale = Scale::kLog}};
  for (const size_t i : {kGet, kKnown, kPut}) {
    Curve p50{.name = fmt::format("{}, p50", kPaces[i].name)};
    Curve p99{.name = fmt::format("{}, p99", kPaces[i].name)};
    for (const ScaleRow* row : study.RowsOf(axis)) {
      if (!row->skipped.empty()) continue;
      const auto x = static_cast<double>(row->point.On(axis));
      p50.points.push_back({x, row->paces[i].p50_us.median()});
      p99.points.push_back({x, row->paces[i].p99_us.median()});
    }
    plot.curves.push_back(std::move(p50));
    plot.curves.push_back(std::move(p99));
  }
  return plot;
}

// From the first point of the first axis to its last.
Headline HeadlineOf(const ScaleStudy& study) {
  for (const ScaleAxis axis : study.settings.axes) {
    std::vector<const ScaleRow*> rows = study.RowsOf(axis);
    std::erase_if(rows, [](const ScaleRow* row) { return !row->skipped.empty(); });
    if (rows.empty()) continue;
    const auto rate = [](const ScaleRow* row) {
      return Compact(row->paces[kGet].per_second.median());
    };
    const std::string label = LabelOf(axis);
    return {.text = fmt::format("{} GETs a second at {} {}, {} at {}", rate(rows.front()),
                                Compact(static_cast<double>(rows.front()->point.On(axis))), label,
                                rate(rows.back()),
                                Compact(static_cast<double>(rows.back()->point.On(axis)))),
            .figures = {{fmt::format("us, GET p99 at the most {}", label),
                         Fixed(rows.back()->paces[kGet].p99_us.median(), 2)},
                        {fmt::format("PUTs a second at the most {}", label),
                         Compact(rows.back()->paces[kPut].per_second.median())},
                        {"bytes of the server's memory an item, there",
                         Whole(rows.back()->memory_per_item)}}};
  }
  return {.text = "every point was skipped"};
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
    if (FirstOf(study, axis) == nullptr) continue;
    page.parts.push_back(RatesPlotOf(study, axis));
    page.parts.push_back(LatencyPlotOf(study, axis));
    page.parts.push_back(RatesOf(study, axis));
    page.parts.push_back(RatiosOf(study, axis));
    page.parts.push_back(LatenciesOf(study, axis));
    page.parts.push_back(ServerCostsOf(study, axis));
  }
  return page;
}

program::Json JsonOf(const ScaleStudy& study) {
  program::Json object = program::Json::object();
  object["run"] = JsonOf(FactsOfRun());
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["memory_bytes"] = study.settings.memory_bytes;
  object["points"] = program::Json::array();
  for (const ScaleRow& row : study.rows) object["points"].push_back(JsonOf(row));
  return object;
}

po::options_description ScaleOptions() {
  po::options_description options = StudyOptions("scale", ScaleSettings());
  // clang-format off
  options.add_options()
      ("axis", Text("LIST"), "of items, values, clients, shards (all)")
      ("memory", Text("SIZE"), "for server and clients; points that need more are skipped (seven tenths of what is free)")
      ("markdown", Text("FILE"), "write tables there, too, as a section of a README");
  // clang-format on
  return options;
}

Outcome RunScale(const Given& given, program::Output* output) {
  const auto settings = SettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyScale(*settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  auto shown = Show(*settings, page, JsonOf(*study), output);
  if (!shown || settings->markdown.empty()) return shown;
  return Save(settings->markdown, MarkdownOf(page));
}

}  // namespace plov::bench
