// log: which of its commands, and check.

#include "client/cli/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "client/cli/report.h"
#include "fabric/file_lock.h"
#include "log/offline/check.h"
#include "program/format.h"
#include "program/json.h"
#include "program/nearest.h"

namespace plov::cli {

namespace {

using log::offline::Report;

struct LogCommand {
  std::string_view name;
  std::string_view words;
  size_t folders;
  bool lists;  // takes the options of list
  Outcome (*run)(const Options& options, program::Output* output);
};

constexpr auto kLogCommands = std::to_array<LogCommand>({
    {"check", "DIR", 1, false, LogCheck},
    {"list", "DIR", 1, true, LogList},
    {"export", "DIR", 1, false, LogExport},
    {"cut", "DIR NEWDIR", 2, false, LogCut},
    {"salvage", "DIR", 1, false, LogSalvage},
});

std::unexpected<Error> NoSuchCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const LogCommand& command : kLogCommands) names.emplace_back(command.name);
  return Fail(Code::kInvalidArgument, fmt::format("no command 'log {}'{} (try plov log --help)",
                                                  word, program::DidYouMean(word, names)));
}

// How a shard's log ends, in words.
std::string EndText(const Report& report) {
  if (report.damages.empty() && report.torn) {
    return fmt::format("torn tail of {} at offset {} of {}, which the next start cuts",
                       program::CountOf(report.torn->bytes, "byte"), report.torn->offset,
                       Printable(report.torn->file));
  }
  if (report.damages.empty()) return "whole";
  std::string text;
  for (const log::Damage& damage : report.damages) {
    text += fmt::format("{}DAMAGE: {}", text.empty() ? "" : "; ", Printable(damage.Line()));
  }
  if (report.starts) text += "; a server goes on all the same from what lies behind";
  return text;
}

std::string ReportText(const Report& report) {
  return fmt::format(
      "shard {}: {}, {}, {}, {}, {}: {}\n", report.shard,
      program::CountOf(report.segments, "segment"), program::CountOf(report.snapshots, "snapshot"),
      RangeOf("batches", report.first_batch, report.last_batch),
      program::CountOf(report.operations, "operation"),
      RangeOf("versions", report.first_version, report.last_version), EndText(report));
}

program::Json ReportJson(const Report& report) {
  program::Json object = program::Json::object();
  object["shard"] = report.shard;
  object["verdict"] = !report.damages.empty() ? "damaged" : report.torn ? "torn" : "whole";
  object["segments"] = report.segments;
  object["snapshots"] = report.snapshots;
  object["first_batch"] = report.first_batch;
  object["last_batch"] = report.last_batch;
  object["operations"] = report.operations;
  object["first_version"] = report.first_version;
  object["last_version"] = report.last_version;
  object["starts"] = report.starts;
  if (report.torn) {
    object["torn"] = {{"file", Printable(report.torn->file)},
                      {"offset", report.torn->offset},
                      {"bytes", report.torn->bytes}};
  }
  if (report.damages.empty()) return object;
  program::Json damages = program::Json::array();
  for (const log::Damage& damage : report.damages) {
    damages.push_back({{"file", Printable(damage.file)},
                       {"offset", damage.offset},
                       {"batch", damage.batch},
                       {"operations_behind", damage.operations_behind},
                       {"what", Printable(damage.what)}});
  }
  object["damages"] = std::move(damages);
  return object;
}

}  // namespace

std::string RangeOf(std::string_view what, uint64_t first, uint64_t last) {
  if (last < first || last == 0) return fmt::format("no {}", what);
  return fmt::format("{} {} to {}", what, first, last);
}

Error AboutFiles(Error error) {
  error.code = Code::kSystem;
  return error;
}

std::unexpected<Error> FailDamaged(const std::string& folder, std::string_view what) {
  return Fail(Code::kSystem,
              fmt::format("{}; nothing was changed: bring the files back from a copy, or go on "
                          "with what plov log cut {} NEWDIR leaves, or plov log salvage {} finds",
                          what, folder, folder));
}

std::expected<std::unique_ptr<log::PosixDisk>, Error> OpenLog(const std::string& folder) {
  auto disk = log::PosixDisk::OpenForReading(folder);
  if (!disk) return std::unexpected(AboutFiles(disk.error()));
  const auto is_taken = fabric::FileLock::IsTaken(folder + "/log");
  if (!is_taken) return std::unexpected(AboutFiles(is_taken.error()));
  if (*is_taken) {
    return Fail(Code::kSystem,
                fmt::format("a plovd serves {}: stop it first, or copy the folder", folder));
  }
  return disk;
}

std::expected<NewFolder, Error> NewFolder::Open(const std::string& folder) {
  const std::string taken = fmt::format("a plovd serves {}", folder);
  auto disk = log::PosixDisk::Open(folder);
  if (!disk) return std::unexpected(AboutFiles(disk.error()));
  const auto is_taken = fabric::FileLock::IsTaken(folder + "/log");
  if (!is_taken) return std::unexpected(AboutFiles(is_taken.error()));
  if (*is_taken) return Fail(Code::kSystem, taken + ": name a folder that is not there");
  const auto names = (*disk)->List();
  if (!names) return std::unexpected(AboutFiles(names.error()));
  if (!names->empty()) {
    return Fail(Code::kSystem,
                fmt::format("{} is not empty: name a folder that is not there", folder));
  }
  auto lock = fabric::FileLock::Take(folder + "/log", taken);
  if (!lock) return std::unexpected(AboutFiles(lock.error()));
  return NewFolder{*std::move(disk), *std::move(lock)};
}

Outcome LogCheck(const Options& options, program::Output* output) {
  const auto disk = OpenLog(options.words[1]);
  if (!disk) return std::unexpected(disk.error());
  ReadProgress progress;
  const auto reports =
      log::offline::Check(disk->get(), [&](const verify::Logged& operation, const auto&) {
        progress.Add(operation);
        return true;
      });
  progress.Clear();
  if (!reports) return std::unexpected(AboutFiles(reports.error()));
  for (const Report& report : *reports) {
    output->Write(options.json ? program::LineOf(ReportJson(report)) : ReportText(report));
  }
  const auto damaged =
      std::ranges::count_if(*reports, [](const Report& report) { return !report.damages.empty(); });
  if (damaged > 0) {
    return FailDamaged(options.words[1], fmt::format("{} of {} damaged", damaged,
                                                     program::CountOf(reports->size(), "shard")));
  }
  const auto torn =
      std::ranges::count_if(*reports, [](const Report& report) { return report.torn.has_value(); });
  if (torn == 0) return {};
  // The exit status of what is not all there, 1.
  return Fail(Code::kNotFound, fmt::format("the tail of {} is torn: nobody was promised it, and "
                                           "the next start of plovd cuts it",
                                           program::CountOf(static_cast<uint64_t>(torn), "shard")));
}

Outcome Log(const Options& options, program::Output* output) {
  const std::string& word = options.words[0];
  const auto command = std::ranges::find(kLogCommands, word, &LogCommand::name);
  if (command == kLogCommands.end()) return NoSuchCommand(word);
  if (options.words.size() != 1 + command->folders) {
    return Fail(Code::kInvalidArgument,
                fmt::format("usage: plov log {} {} (try plov log --help)", word, command->words));
  }
  if (!command->lists && (options.log_shard || options.log_snapshot)) {
    return Fail(Code::kInvalidArgument,
                "--shard and --snapshot are options of log list (try plov log --help)");
  }
  return command->run(options, output);
}

}  // namespace plov::cli
