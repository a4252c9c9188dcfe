// A study of the table as text, JSON and charts, the claims it is held against, and the command.

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "bench/tool/chart.h"
#include "bench/tool/table_study.h"
#include "client/cli/format.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

std::string Spread(const Sample& sample, int digits) {
  return fmt::format("{:.{}f}..{:.{}f}", sample.least(), digits, sample.most(), digits);
}

double TableBytesPerItem(const TableRow& row) {
  return row.bucket_bytes * 100.0 / row.fill_percent;
}
double BytesPerHit(const TableRow& row) { return row.bucket_bytes * row.hit_reads.median(); }

// The least fill of any seed limits the rows that all seeds reached.
bool IsReached(const TableStudy& study, const TableRow& row) {
  return row.hit_reads.size() == study.settings.seeds;
}

std::string LineOf(const TableStudy& study, const TableRow& row) {
  std::string line = fmt::format("{:>4} %", row.fill_percent);
  if (!IsReached(study, row)) {
    return line + fmt::format("  full before, {} of {} tables\n",
                              study.settings.seeds - row.hit_reads.size(), study.settings.seeds);
  }
  line += fmt::format(" {:>7.1f} {:>7.3f} {:>13} {:>7.1f} {:>7.3f}", TableBytesPerItem(row),
                      row.hit_reads.median(), Spread(row.hit_reads, 3), BytesPerHit(row),
                      row.miss_reads.median());
  return line + fmt::format(" {:>7.2f} {:>7.3f} {:>7.3f} {:>4.0f} {:>4.0f}\n",
                            row.displaced_percent.median(), row.overflow_percent.median(),
                            row.path_mean.median(), row.path_p99.median(), row.path_most.most());
}

std::string TableOf(const TableStudy& study, const FullTable& full) {
  std::string text = fmt::format(
      "\nbuckets of {} bytes\n{:>6} {:>7} {:>7} {:>13} {:>7} {:>7} {:>7} {:>7} {:>17}\n"
      "{:>6} {:>7} {:>7} {:>13} {:>7} {:>7} {:>7} {:>7} {:>7} {:>4} {:>4}\n",
      full.bucket_bytes, "", "bytes", "READs", "", "bytes", "READs", "% away", "% over-",
      "displaced by PUT", "fill", "/ item", "/ hit", "", "/ hit", "/ miss", "of home", "flowed",
      "mean", "p99", "max");
  for (const TableRow& row : study.rows) {
    if (row.bucket_bytes == full.bucket_bytes) text += LineOf(study, row);
  }
  return text + fmt::format(
                    "the first PUT that would need growth: at {:.2f} % ({}); until there a PUT "
                    "displaced\n{:.3f} items, at most {:.0f}\n",
                    full.fill_percent.median(), Spread(full.fill_percent, 2),
                    full.path_mean.median(), full.path_most.most());
}

std::string TextOf(const std::vector<TableClaim>& claims) {
  size_t columns = 0;
  for (const TableClaim& claim : claims) columns = std::max(columns, claim.what.size());
  std::string text = fmt::format("\n{:<{}} {:>14} {:>9} {:>15}\n", "what the design claims",
                                 columns, "", "measured", "");
  for (const TableClaim& claim : claims) {
    const char* bound = claim.bound == TableClaim::Bound::kAtMost ? "at most" : "at least";
    text += fmt::format("{:<{}} {:>14} {:>9.3f} {:>15}  {}\n", claim.what, columns,
                        fmt::format("{} {:g}", bound, claim.claimed), claim.measured.median(),
                        Spread(claim.measured, 3), claim.holds() ? "holds" : "DOES NOT HOLD");
  }
  return text;
}

cli::Json JsonOf(const Sample& sample) {
  return {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

cli::Json JsonOf(const TableStudy& study, const TableRow& row) {
  cli::Json object = cli::Json::object();
  object["bucket_bytes"] = row.bucket_bytes;
  object["fill_percent"] = row.fill_percent;
  object["reached"] = IsReached(study, row);
  if (!IsReached(study, row)) return object;
  object["table_bytes_per_item"] = TableBytesPerItem(row);
  object["reads_per_hit"] = JsonOf(row.hit_reads);
  object["bytes_per_hit"] = BytesPerHit(row);
  object["reads_per_miss"] = JsonOf(row.miss_reads);
  object["displaced_percent"] = JsonOf(row.displaced_percent);
  object["overflow_percent"] = JsonOf(row.overflow_percent);
  object["path_mean"] = JsonOf(row.path_mean);
  object["path_p99"] = JsonOf(row.path_p99);
  object["path_most"] = JsonOf(row.path_most);
  return object;
}

template <typename ValueOf>
void AddSeries(const TableStudy& study, std::string name, ValueOf&& value_of, Chart* chart) {
  const uint32_t bucket_bytes = study.full.front().bucket_bytes;
  Series series{std::move(name), {}};
  for (const TableRow& row : study.rows) {
    if (row.bucket_bytes != bucket_bytes) continue;
    if (chart->series.empty()) chart->categories.push_back(std::to_string(row.fill_percent));
    series.values.push_back(IsReached(study, row) ? std::optional<double>(value_of(row))
                                                  : std::nullopt);
  }
  chart->series.push_back(std::move(series));
}

// Of the first size of buckets: a key's places do not depend on it.
std::vector<Chart> ChartsOf(const TableStudy& study) {
  Chart reads{"Bucket READs of a lookup", "% full", {}, "READs", {}};
  AddSeries(
      study, "hit", [](const TableRow& row) { return row.hit_reads.median(); }, &reads);
  AddSeries(
      study, "miss", [](const TableRow& row) { return row.miss_reads.median(); }, &reads);
  Chart paths{"Items displaced by a PUT", "% full", {}, "items", {}};
  AddSeries(
      study, "mean", [](const TableRow& row) { return row.path_mean.median(); }, &paths);
  AddSeries(
      study, "99 %", [](const TableRow& row) { return row.path_p99.median(); }, &paths);
  AddSeries(
      study, "most", [](const TableRow& row) { return row.path_most.most(); }, &paths);
  return {reads, paths};
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

std::string TextOf(const TableStudy& study) {
  const TableSettings& settings = study.settings;
  std::string text = fmt::format(
      "tables of {} buckets; medians over {} seed{}, with the least and the most\n"
      "bytes / item: of the table. Displaced by PUT: by those of the last hundredth; max of all "
      "seeds.\nA key's places do not depend on the size of buckets.\n",
      cli::Grouped(settings.items), settings.seeds, settings.seeds == 1 ? "" : "s");
  for (const FullTable& full : study.full) text += TableOf(study, full);
  return text + TextOf(ClaimsOf(study));
}

std::string JsonOf(const TableStudy& study) {
  cli::Json object = cli::Json::object();
  object["items"] = study.settings.items;
  object["seeds"] = study.settings.seeds;
  object["rows"] = cli::Json::array();
  for (const TableRow& row : study.rows) object["rows"].push_back(JsonOf(study, row));
  object["full"] = cli::Json::array();
  for (const FullTable& full : study.full) {
    object["full"].push_back({{"bucket_bytes", full.bucket_bytes},
                              {"fill_percent", JsonOf(full.fill_percent)},
                              {"path_mean", JsonOf(full.path_mean)},
                              {"path_most", JsonOf(full.path_most)}});
  }
  object["claims"] = cli::Json::array();
  for (const TableClaim& claim : ClaimsOf(study)) {
    const bool is_most = claim.bound == TableClaim::Bound::kAtMost;
    object["claims"].push_back({{"what", claim.what},
                                {is_most ? "at_most" : "at_least", claim.claimed},
                                {"measured", JsonOf(claim.measured)},
                                {"holds", claim.holds()}});
  }
  return cli::LineOf(object);
}

Outcome RunTable(const Given& given, cli::Output* output) {
  const auto settings = TableSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyTable(*settings);
  if (!study) return std::unexpected(study.error());
  output->Write(settings->json ? JsonOf(*study) : TextOf(*study));
  if (settings->html.empty()) return {};
  std::ofstream file(settings->html);
  file << HtmlOf("plov-bench table", ChartsOf(*study), TextOf(*study)) << std::flush;
  return file ? Outcome() : FailErrno("cannot write " + settings->html, errno);
}

}  // namespace plov::bench
