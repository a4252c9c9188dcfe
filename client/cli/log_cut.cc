// log cut: a copy of a log that a server can go on from.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "client/cli/log.h"
#include "client/cli/report.h"
#include "fabric/file_lock.h"
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

// A folder that is empty, or is made.
std::expected<std::unique_ptr<log::PosixDisk>, Error> OpenNewFolder(const std::string& folder) {
  auto disk = log::PosixDisk::Open(folder);
  if (!disk) return std::unexpected(AboutFiles(disk.error()));
  const auto names = (*disk)->List();
  if (!names) return std::unexpected(AboutFiles(names.error()));
  if (names->empty()) return disk;
  return Fail(Code::kSystem,
              fmt::format("{} is not empty: name a folder that is not there", folder));
}

}  // namespace

Outcome LogCut(const Options& options, program::Output* output) {
  const auto from = OpenLog(options);
  if (!from) return std::unexpected(from.error());
  const auto cuttings = log::offline::PlanCut(from->get());
  if (!cuttings) return std::unexpected(AboutFiles(cuttings.error()));
  const std::string& folder = options.words[2];
  const auto to = OpenNewFolder(folder);
  if (!to) return std::unexpected(to.error());
  // No server begins there before all of it is there.
  const auto lock =
      fabric::FileLock::Take(folder + "/log", fmt::format("a plovd serves {}", folder));
  if (!lock) return std::unexpected(AboutFiles(lock.error()));
  program::Progress progress;
  const auto reports = log::offline::CopyCut(from->get(), to->get(), *cuttings,
                                             [&](uint64_t bytes) { progress.Show(bytes); });
  progress.Clear();
  if (!reports) return std::unexpected(AboutFiles(reports.error()));
  for (const Cutting& cutting : *cuttings) {
    output->Write(options.json ? program::LineOf(CuttingJson(cutting)) : CuttingText(cutting));
  }
  return {};
}

}  // namespace plov::cli
