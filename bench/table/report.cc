// A study of the table as a page and JSON, the claims it is held against, and the command.

#include <fmt/core.h>

#include <algorithm>

#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/shared/command.h"
#include "bench/table/study.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

constexpr uint64_t kItemsMin = 10'000;  // fewer say nothing of a percentile
constexpr uint64_t kItemsMax = 100'000'000;
constexpr uint32_t kSeedsMax = 1000;
constexpr uint64_t kQuickItems = 20'000;
constexpr uint32_t kQuickSeeds = 2;

std::string Hundredths(double value) { return Fixed(value, 2); }
std::string Thousandths(double value) { return Fixed(value, 3); }

Paragraph GrowthOf(const FullTable& full) {
  return {
      fmt::format("the first PUT that would need growth: at {:.2f} % ({}); until there a PUT "
                  "displaced\n{:.3f} items, at most {:.0f}",
                  full.fill_percent.median(), SpreadOf(full.fill_percent, Hundredths),
                  full.path_mean.median(), full.path_most.most())};
}

program::Json JsonOf(const TableStudy& study, const TableRow& row) {
  // The least fill of any seed limits the rows that all seeds reached.
  const size_t full_before = study.settings.seeds - row.hit_reads.size();
  program::Json object = {{"bucket_bytes", row.bucket_bytes},
                          {"fill_percent", row.fill_percent},
                          {"reached", full_before == 0}};
  object.update(
      full_before > 0
          ? program::Json{{"full_before", full_before}}
          : program::Json{{"table_bytes_per_item", row.bucket_bytes * 100.0 / row.fill_percent},
                          {"reads_per_hit", row.hit_reads},
                          {"bytes_per_hit", row.bucket_bytes * row.hit_reads.median()},
                          {"reads_per_miss", row.miss_reads},
                          {"displaced_percent", row.displaced_percent},
                          {"overflow_percent", row.overflow_percent},
                          {"path_mean", row.path_mean},
                          {"path_p99", row.path_p99},
                          {"path_most", row.path_most}});
  return object;
}

void AddTables(const program::Json& rows, uint32_t bucket_bytes, Page* page) {
  const program::Json own = RowsWith(rows, {{"bucket_bytes", bucket_bytes}});
  page->parts.push_back(TableOf(fmt::format("buckets of {} bytes: lookups", bucket_bytes), own,
                                {{"% full", "fill_percent"},
                                 {"bytes/item", "table_bytes_per_item", 1},
                                 {"READs/hit", "reads_per_hit", 3},
                                 {"from..to", "reads_per_hit", 3, Shown::kSpread},
                                 {"bytes/hit", "bytes_per_hit", 1},
                                 {"READs/miss", "reads_per_miss", 3},
                                 {"full before", "full_before"}}));
  page->parts.push_back(TableOf(fmt::format("buckets of {} bytes: places", bucket_bytes), own,
                                {{"% full", "fill_percent"},
                                 {"% away of home", "displaced_percent", 2},
                                 {"% overflowed", "overflow_percent", 3},
                                 {"displaced by PUT: mean", "path_mean", 3},
                                 {"p99", "path_p99"},
                                 {"max", "path_most/most"},
                                 {"full before", "full_before"}}));
}

// Of the first size of buckets: a key's places do not depend on it.
void AddPlots(const program::Json& all_rows, uint32_t bucket_bytes, Page* page) {
  const program::Json rows = RowsWith(all_rows, {{"bucket_bytes", bucket_bytes}});
  const auto curve = [&rows](const char* name, const char* key) {
    return CurveOf(name, rows, "fill_percent", key);
  };
  page->parts.push_back(
      Plot{.title = "Bucket READs of a lookup, by fill",
           .x = {.label = "% full"},
           .y = {.label = "READs"},
           .curves = {curve("hit", "reads_per_hit"), curve("miss", "reads_per_miss")}});
  page->parts.push_back(Plot{.title = "Items displaced by a PUT, by fill",
                             .x = {.label = "% full"},
                             .y = {.label = "items"},
                             .curves = {curve("mean", "path_mean"), curve("99 %", "path_p99"),
                                        curve("most", "path_most/most")}});
}

Headline HeadlineOf(const TableStudy& study) {
  const std::vector<TableClaim> claims = ClaimsOf(study);
  const auto held = std::ranges::count_if(claims, &TableClaim::holds);
  const FullTable& full = study.full.front();
  const TableRow& row = *study.Find(full.bucket_bytes, kClaimedFill);
  return {.text = fmt::format("{} of the design's {} claims hold", held, claims.size()),
          .figures = {{"full when a PUT first needs growth",
                       fmt::format("{:.1f} %", full.fill_percent.median())},
                      {"bucket READs a hit, 75 % full", Thousandths(row.hit_reads.median())},
                      {"bucket READs a miss, 75 % full", Thousandths(row.miss_reads.median())}}};
}

Outcome FillSettings(const Given& given, TableSettings* settings) {
  if (given.On("quick")) {
    settings->items = kQuickItems;
    settings->seeds = kQuickSeeds;
  }
  const auto filled = AllOf({given.Fill("items", kItemsMin, kItemsMax, &settings->items),
                             given.Fill("seeds", 1, kSeedsMax, &settings->seeds),
                             FillNumbers(given, "bucket-bytes", verify::kBucketBytesMin,
                                         verify::kBucketBytesMax, &settings->bucket_bytes),
                             FillOutput(given, settings)});
  const bool are_sizes = std::ranges::all_of(settings->bucket_bytes, [](uint32_t size) {
    return size == verify::kBucketBytesMin || size == verify::kBucketBytesMax;
  });
  if (!filled || are_sizes) return filled;
  return given.Invalid("--bucket-bytes: a bucket has 64 bytes or 128");
}

}  // namespace

// Of the first size of buckets, likewise.
std::vector<TableClaim> ClaimsOf(const TableStudy& study) {
  using Bound = TableClaim::Bound;
  const FullTable& full = study.full.front();
  const TableRow& at_75 = *study.Find(full.bucket_bytes, kClaimedFill);
  const TableRow& at_90 = *study.Find(full.bucket_bytes, 90);
  const ReadsPerGet& reads = study.reads;
  return {
      {"bucket READs per hit, 75 % full", Bound::kAtMost, 1.39, at_75.hit_reads},
      {"READs per miss, 75 % full", Bound::kAtMost, 1.02, at_75.miss_reads},
      {"% of homes that overflow, 75 % full", Bound::kAtMost, 0.14, at_75.overflow_percent},
      {"% of homes that overflow, 90 % full", Bound::kAtMost, 0.39, at_90.overflow_percent},
      {"% full before a PUT needs growth", Bound::kAtLeast, 90, full.fill_percent},
      {"READs per GET, in the bucket, cold", Bound::kAtMost, 1.4, reads.inline_cold},
      {"READs per GET, in the bucket, known", Bound::kAtMost, 1, reads.inline_known},
      {"READs per GET, in a record, cold", Bound::kAtMost, 2.4, reads.record_cold},
      {"READs per GET, in a record, known", Bound::kAtMost, 1, reads.record_known},
  };
}

Page PageOf(const TableStudy& study) {
  const TableSettings& settings = study.settings;
  Page page{.title = "plov-bench table", .headline = HeadlineOf(study), .facts = FactsOfRun()};
  page.parts.push_back(Paragraph{fmt::format(
      "tables of {} buckets; medians over {} seed{}, with the least and the most\n"
      "bytes/item: of the table. Displaced by PUT: by those of the last hundredth; max of all "
      "seeds.\nA key's places do not depend on the size of buckets.",
      Whole(static_cast<double>(settings.items)), settings.seeds, settings.seeds == 1 ? "" : "s")});
  const program::Json figures = JsonOf(study);
  AddPlots(figures["rows"], study.full.front().bucket_bytes, &page);
  for (const FullTable& full : study.full) {
    AddTables(figures["rows"], full.bucket_bytes, &page);
    page.parts.push_back(GrowthOf(full));
  }
  page.parts.push_back(TableOf("", figures["claims"],
                               {{"what the design claims", "what"},
                                {"at most", "at_most", kAsItIs},
                                {"at least", "at_least", kAsItIs},
                                {"measured", "measured", 3},
                                {"from..to", "measured", 3, Shown::kSpread},
                                {"holds", "holds"}}));
  return page;
}

program::Json JsonOf(const TableStudy& study) {
  program::Json object = {{"items", study.settings.items},
                          {"seeds", study.settings.seeds},
                          {"rows", program::Json::array()},
                          {"full", program::Json::array()},
                          {"claims", program::Json::array()}};
  for (const TableRow& row : study.rows) object["rows"].push_back(JsonOf(study, row));
  for (const FullTable& full : study.full) {
    object["full"].push_back({{"bucket_bytes", full.bucket_bytes},
                              {"fill_percent", full.fill_percent},
                              {"path_mean", full.path_mean},
                              {"path_most", full.path_most}});
  }
  for (const TableClaim& claim : ClaimsOf(study)) {
    const bool is_most = claim.bound == TableClaim::Bound::kAtMost;
    object["claims"].push_back({{"what", claim.what},
                                {is_most ? "at_most" : "at_least", claim.claimed},
                                {"measured", claim.measured},
                                {"holds", claim.holds()}});
  }
  return object;
}

const Command kTableCommand = {
    "table",
    "how full the cuckoo table becomes, and what lookups and PUTs cost in it",
    OptionsOf<TableSettings>,
    {{"items", "N", "buckets of a table, which hold an item each (1000000)"},
     {"seeds", "N", "tables, each under another seed, whose medians are shown (5)"},
     {"bucket-bytes", "LIST", "sizes of buckets, 64 or 128 (64,128)"}},
    MeasureAndShow<FillSettings, StudyTable>};

}  // namespace plov::bench
