// log cut: a copy of a log that a server can go on from.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "client/cli/log.h"
#include "client/cli/report.h"
#include "log/offline/cut.h"
#include "program/json.h"

namespace plov::cli {

namespace {

using log::offline::Cutting;

std::string CuttingText(const Cutting& cutting) {
  if (cutting.damages.empty()) return fmt::format("shard {}: all of it\n", cutting.shard);
  const std::string damage = Printable(cutting.damages.back().Line());
  if (!cutting.next) {
    return fmt::format("shard {}: all that a server needs; left out: {}\n", cutting.shard, damage);
  }
  return fmt::format(
      "shard {}: up to batch {}, version {}; lost: {} whole operation{} behind, and what is not "
      "whole: {}\n",
      cutting.shard, cutting.last_batch, cutting.last_version, cutting.operations_lost,
      cutting.operations_lost == 1 ? "" : "s", damage);
}

program::Json CuttingJson(const Cutting& cutting) {
  program::Json object = program::Json::object();
  object["shard"] = cutting.shard;
  object["cut"] = cutting.next.has_value();
  object["last_batch"] = cutting.last_batch;
  object["last_version"] = cutting.last_version;
  object["operations_lost"] = cutting.operations_lost;
  if (!cutting.damages.empty()) object["damage"] = Printable(cutting.damages.back().Line());
  return object;
}

}  // namespace

Outcome CopyInto(const std::string& folder, log::Disk* from, const std::vector<Cutting>& cuttings) {
  const auto to = NewFolder::Open(folder);
  if (!to) return std::unexpected(to.error());
  program::Progress progress;
  const auto reports = log::offline::CopyCut(from, to->disk.get(), cuttings,
                                             [&](uint64_t bytes) { progress.Show(bytes); });
  progress.Clear();
  if (!reports) return std::unexpected(AboutFiles(reports.error()));
  return {};
}

Outcome LogCut(const Options& options, program::Output* output) {
  const auto from = OpenLog(options.words[1]);
  if (!from) return std::unexpected(from.error());
  const auto cuttings = log::offline::PlanCut(from->get());
  if (!cuttings) return std::unexpected(AboutFiles(cuttings.error()));
  auto copied = CopyInto(options.words[2], from->get(), *cuttings);
  if (!copied) return copied;
  for (const Cutting& cutting : *cuttings) {
    output->Write(options.json ? program::LineOf(CuttingJson(cutting)) : CuttingText(cutting));
  }
  return {};
}

}  // namespace plov::cli
