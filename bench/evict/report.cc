// An evict study as a page and JSON, and the command.

#include <fmt/core.h>

#include <algorithm>

#include "bench/evict/study.h"
#include "bench/load/presets.h"
#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMemoryMin = 16 * kMiB;
constexpr uint64_t kMemoryMax = kMiB * kMiB;
// Clusters of Twitter's that mostly read, and whose popular items alone do not make all hits.
constexpr auto kDefaultWorkloads =
    "zipfian-0.8,zipfian-0.99,zipfian-1.2,zipfian-roomy,scan,shift,"
    "twitter:4,twitter:7,twitter:25,twitter:34,twitter:52";

program::Json JsonOf(const EvictSide& side) {
  program::Json json = {{"hit_ratio", side.hit_ratio}, {"items", side.items}};
  if (side.refused > 0) json["refused"] = side.refused;
  return json;
}

std::string VerdictOf(const EvictRow& row) {
  if (row.is_as_good()) return "at least as good";
  return fmt::format("less by {}", Fixed(row.behind(), 4));
}

Headline HeadlineOf(const EvictStudy& study) {
  if (!study.skipped.empty()) return {.text = "memcached is skipped: " + study.skipped};
  const auto good = std::ranges::count_if(study.rows, &EvictRow::is_as_good);
  return {.text = fmt::format("at least as good as memcached in {} of {} workloads", good,
                              study.rows.size())};
}

Outcome FillSettings(const Given& given, EvictSettings* settings) {
  if (given.On("quick")) {
    settings->memory_bytes = kMemoryMin;
    settings->duration = std::chrono::milliseconds(100);
  }
  if (auto filled = AllOf({given.Fill("memory", kMemoryMin, kMemoryMax, &settings->memory_bytes),
                           FillStudy(given, settings)});
      !filled) {
    return filled;
  }
  settings->memory_bytes -= settings->memory_bytes % kMiB;
  const std::string names = given.Has("workload") ? given.Text("workload") : kDefaultWorkloads;
  for (const std::string& name : SplitList(names)) {
    auto workload = FindEvictWorkload(name, settings->memory_bytes);
    if (!workload) return given.Invalid("--workload: " + workload.error().message);
    settings->workloads.push_back(std::move(*workload));
  }
  return {};
}

}  // namespace

void to_json(program::Json& json, const EvictRow& row) {
  json = {{"workload", row.workload.name},
          {"items", row.workload.load.items},
          {"item_bytes", row.workload.load.item_bytes()},
          {"plov", JsonOf(row.plov)},
          {"lru", JsonOf(row.lru)}};
  if (!row.compares()) return;
  json["memcached"] = JsonOf(row.memcached);
  json["at_least_as_good"] = row.is_as_good();
  json["verdict"] = VerdictOf(row);
}

Page PageOf(const EvictStudy& study) {
  const Headline headline = HeadlineOf(study);
  const std::string head = fmt::format(
      "hit ratios of a look-aside cache in {} MiB; {}, after as long a time to warm up",
      study.settings.memory_bytes / kMiB, RoundsOf(study.settings.rounds, study.settings.duration));
  return {.title = "plov-bench evict",
          .headline = headline,
          .facts = FactsOfRun(),
          .parts = {Paragraph{head},
                    TableOf("", JsonOf(study)["rows"],
                            {{"workload", "workload"},
                             {"items", "items"},
                             {"bytes", "item_bytes"},
                             {"plov", "plov/hit_ratio", 3, Shown::kBars},
                             {"memcached", "memcached/hit_ratio", 3, Shown::kBars},
                             {"LRU", "lru/hit_ratio", 3},
                             {"plov holds", "plov/items"},
                             {"memcached holds", "memcached/items"},
                             {"plov refused", "plov/refused"},
                             {"memcached refused", "memcached/refused"},
                             {"plov is", "verdict"}}),
                    Paragraph{headline.text}}};
}

program::Json JsonOf(const EvictStudy& study) {
  program::Json object = {{"memory_bytes", study.settings.memory_bytes},
                          {"rounds", study.settings.rounds}};
  if (!study.skipped.empty()) object["skipped"] = study.skipped;
  object["rows"] = study.rows;
  return object;
}

const Command kEvictCommand = {
    "evict",
    "hit ratios of plov and memcached in little memory",
    OptionsOf<EvictSettings>,
    {{"memory", "SIZE", "of each server, 16M at least (16M)"},
     {"workload", "NAMES",
      fmt::format("{}, {} ({})", kEvictNames, kPresetNames, kDefaultWorkloads)}},
    MeasureAndShow<FillSettings, StudyEvict>};

}  // namespace plov::bench
