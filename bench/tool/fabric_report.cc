// A study of a fabric as text and JSON, and the command itself.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bench/tool/fabric_study.h"
#include "client/cli/format.h"
#include "client/cli/json.h"

namespace plov::bench {

namespace {

std::string Whole(double value) {
  return cli::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string Spread(const Sample& sample) {
  return fmt::format("{:>9} {:>19}", Whole(sample.median()),
                     fmt::format("{}..{}", Whole(sample.least()), Whole(sample.most())));
}

std::string RatesOf(const FabricStudy& study) {
  std::string text = fmt::format("\n{:<26} {:>9} {:>19} {:>9} {:>8} {:>12}\n", "many in flight",
                                 "a second", "", "READs/GET", "of READs", "");
  for (const RawReads& raw : study.raw) {
    text += fmt::format("{:<26} {}\n", fmt::format("ib_read_bw, {} bytes", raw.bytes),
                        Spread(raw.per_second));
  }
  for (const GetRow& row : study.gets) {
    text += fmt::format("{:<26} {} {:>9.2f}", "GET, " + row.name, Spread(row.per_second),
                        row.bucket_reads.median() + row.record_reads.median());
    if (!row.part.empty()) {
      text += fmt::format(" {:>8.2f} {:>12}", row.part.median(),
                          fmt::format("{:.2f}..{:.2f}", row.part.least(), row.part.most()));
    }
    text += '\n';
  }
  return text;
}

std::string LatenciesOf(const FabricStudy& study) {
  std::string text = fmt::format("\n{:<26} {:>9} {:>9} {:>9} {:>8}\n", "one at a time", "median us",
                                 "p99 us", "READs/GET", "of READs");
  for (const RawReads& raw : study.raw) {
    text +=
        fmt::format("{:<26} {:>9.2f} {:>9.2f}\n", fmt::format("ib_read_lat, {} bytes", raw.bytes),
                    raw.typical_us.median(), raw.p99_us.median());
  }
  for (const GetRow& row : study.gets) {
    text +=
        fmt::format("{:<26} {:>9.2f} {:>9.2f} {:>9.2f}", "GET, " + row.name, row.single_us.median(),
                    row.single_p99_us.median(), row.single_reads.median());
    if (!row.single_part.empty()) text += fmt::format(" {:>8.2f}", row.single_part.median());
    text += '\n';
  }
  return text;
}

cli::Json JsonOf(const Sample& sample) {
  return {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

cli::Json JsonOf(const GetRow& row) {
  cli::Json object = cli::Json::object();
  object["name"] = row.name;
  object["value_bytes"] = row.value_bytes;
  object["record_bytes"] = row.record_bytes;
  object["per_second"] = JsonOf(row.per_second);
  object["reads_per_get"] = row.bucket_reads.median() + row.record_reads.median();
  object["single_us"] = JsonOf(row.single_us);
  object["single_p99_us"] = JsonOf(row.single_p99_us);
  object["single_reads_per_get"] = row.single_reads.median();
  if (!row.part.empty()) object["part"] = JsonOf(row.part);
  if (!row.single_part.empty()) object["single_part"] = JsonOf(row.single_part);
  return object;
}

}  // namespace

std::string TextOf(const FabricStudy& study) {
  const FabricSettings& settings = study.settings;
  std::string text = fmt::format(
      "{}{}: {} items of each kind, keys of {} bytes, values of {} and {}, window {}\n"
      "medians of {} round{} of {} ms, with the least and the most\n",
      study.uri, study.device.empty() ? "" : " on " + study.device, cli::Grouped(settings.items),
      GetLoad::kKeyBytes, study.gets.front().value_bytes, settings.value_bytes, settings.window,
      settings.rounds, settings.rounds == 1 ? "" : "s",
      static_cast<double>(settings.duration.count()) / 1000);
  text += RatesOf(study) + LatenciesOf(study);
  if (study.raw.empty()) return text;
  return text + fmt::format(
                    "\nof READs: the GETs' part of what perftest's READs of these sizes allow\n"
                    "goal: at least {:.2f} with many in flight: {}\n",
                    kGoal, study.reached() ? "reached" : "MISSED");
}

std::string JsonOf(const FabricStudy& study) {
  cli::Json object = cli::Json::object();
  object["uri"] = study.uri;
  object["device"] = study.device;
  object["items"] = study.settings.items;
  object["window"] = study.settings.window;
  object["rounds"] = study.settings.rounds;
  object["duration_us"] = study.settings.duration.count();
  object["gets"] = cli::Json::array();
  for (const GetRow& row : study.gets) object["gets"].push_back(JsonOf(row));
  object["perftest"] = cli::Json::array();
  for (const RawReads& raw : study.raw) {
    object["perftest"].push_back({{"bytes", raw.bytes},
                                  {"per_second", JsonOf(raw.per_second)},
                                  {"typical_us", JsonOf(raw.typical_us)},
                                  {"p99_us", JsonOf(raw.p99_us)}});
  }
  if (!study.raw.empty()) {
    object["goal"] = kGoal;
    object["reached"] = study.reached();
  }
  return cli::LineOf(object);
}

Outcome RunFabric(const Given& given, cli::Output* output) {
  const auto settings = FabricSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyFabric(*settings);
  if (!study) return std::unexpected(study.error());
  output->Write(settings->json ? JsonOf(*study) : TextOf(*study));
  return {};
}

}  // namespace plov::bench
