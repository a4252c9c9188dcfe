// backup and restore: a copy of a log whose server may be running, and a folder that a server starts on.

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <vector>

#include "client/cli/log.h"
#include "client/cli/report.h"
#include "client/cli/time.h"
#include "fabric/file_lock.h"
#include "log/offline/backup.h"
#include "log/offline/restore.h"
#include "program/format.h"
#include "program/json.h"

namespace plov::cli {

namespace {

using log::offline::BackedUp;
using log::offline::Cutting;

// No link goes to another file system, and some file systems have none, or no more of this file.
bool NeedsCopy(int error_number) {
  return error_number == EXDEV || error_number == EPERM || error_number == EOPNOTSUPP ||
         error_number == EMLINK;
}

log::offline::Link LinkBetween(const log::Disk& from, const log::Disk& to) {
  return [&](const std::string& name, const std::string& as) -> std::expected<bool, Error> {
    const std::string path = from.PathOf(name);
    const std::string target = to.PathOf(as);
    if (::linkat(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), 0) == 0) return true;
    const int error_number = errno;
    if (NeedsCopy(error_number)) return false;
    return FailErrno(fmt::format("{}: cannot link as {}", path, target), error_number);
  };
}

std::string BackedUpText(const BackedUp& shard) {
  const auto& report = shard.report;
  const std::string items =
      shard.snapshot ? fmt::format("a snapshot of {}, ", program::CountOf(shard.items, "item"))
                     : "";
  const std::string operations =
      report.operations == 0
          ? "no operations"
          : fmt::format("{} in {}", program::CountOf(report.operations, "operation"),
                        RangeOf("batches", report.first_batch, report.last_batch));
  return fmt::format("shard {}: {}{}, {}, {}, up to version {}\n", report.shard, items,
                     program::CountOf(report.segments, "segment"), operations,
                     program::Bytes(shard.bytes), shard.last_version);
}

program::Json BackedUpJson(const BackedUp& shard) {
  program::Json object = program::Json::object();
  object["shard"] = shard.report.shard;
  if (shard.snapshot) object["snapshot"] = *shard.snapshot;
  object["items"] = shard.items;
  object["segments"] = shard.report.segments;
  object["first_batch"] = shard.report.first_batch;
  object["last_batch"] = shard.report.last_batch;
  object["operations"] = shard.report.operations;
  object["last_version"] = shard.last_version;
  object["bytes"] = shard.bytes;
  return object;
}

std::string RestoredText(const Cutting& cutting) {
  if (!cutting.next) {
    return fmt::format("shard {}: all of it, up to version {}\n", cutting.shard,
                       cutting.last_version);
  }
  return fmt::format("shard {}: up to batch {}, version {}; left out: {} behind\n", cutting.shard,
                     cutting.last_batch, cutting.last_version,
                     program::CountOf(cutting.operations_lost, "operation"));
}

program::Json RestoredJson(const Cutting& cutting) {
  program::Json object = program::Json::object();
  object["shard"] = cutting.shard;
  object["last_batch"] = cutting.last_batch;
  object["last_version"] = cutting.last_version;
  object["operations_left_out"] = cutting.operations_lost;
  return object;
}

// SHARD:VERSION, and a time.
std::expected<log::offline::Until, Error> ParseUntil(const Options& options) {
  log::offline::Until until;
  if (options.until_time) {
    const auto time_us = ParseTime(*options.until_time);
    if (!time_us) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("--until-time '{}' is not a time: 2026-11-25T20:15:30, with a Z for UTC, "
                      "or @SECONDS since 1970 (try plov restore --help)",
                      *options.until_time));
    }
    until.time_us = *time_us;
  }
  for (const std::string& text : options.until_versions) {
    uint32_t shard = 0;
    uint64_t version = 0;
    const char* end = text.data() + text.size();
    const auto [colon, no_shard] = std::from_chars(text.data(), end, shard);
    const bool has_colon = no_shard == std::errc() && colon != end && *colon == ':';
    const auto [rest, no_version] = std::from_chars(has_colon ? colon + 1 : end, end, version);
    if (!has_colon || no_version != std::errc() || rest != end) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("--until-version '{}' is not SHARD:VERSION, two numbers (try plov "
                              "restore --help)",
                              text));
    }
    if (!until.versions.emplace(shard, version).second) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("--until-version: shard {} has two (try plov restore --help)", shard));
    }
  }
  return until;
}

// What is damaged is a file of the server's.
std::unexpected<Error> FailBackup(Error error, const std::string& folder) {
  if (error.code == Code::kCorrupt) {
    error.message += fmt::format(
        "; nothing was kept: see what plov log check {} says when the "
        "server is stopped, or try again behind the server's next snapshot",
        folder);
  }
  return std::unexpected(AboutFiles(std::move(error)));
}

}  // namespace

Outcome Backup(const Options& options, program::Output* output) {
  const std::string& folder = options.words[0];
  const auto from = log::PosixDisk::OpenForReading(folder);
  if (!from) return std::unexpected(AboutFiles(from.error()));
  const auto found = log::Folder::List(from->get());
  if (!found) return std::unexpected(AboutFiles(found.error()));
  if (found->shards.empty()) {
    return std::unexpected(AboutFiles(log::offline::NoLog(from->get()).error()));
  }
  const auto to = NewFolder::Open(options.words[1]);
  if (!to) return std::unexpected(to.error());
  program::Progress progress;
  const auto shards =
      log::offline::Backup(from->get(), to->disk.get(), LinkBetween(**from, *to->disk),
                           [&](uint64_t bytes) { progress.Show(bytes); });
  progress.Clear();
  if (!shards) return FailBackup(shards.error(), folder);
  for (const BackedUp& shard : *shards) {
    output->Write(options.json ? program::LineOf(BackedUpJson(shard)) : BackedUpText(shard));
  }
  return {};
}

Outcome Restore(const Options& options, program::Output* output) {
  const auto until = ParseUntil(options);
  if (!until) return std::unexpected(until.error());
  const std::string& folder = options.words[0];
  const auto from = OpenLog(folder);
  if (!from) return std::unexpected(from.error());
  const auto cuttings = log::offline::PlanRestore(from->get(), *until);
  if (!cuttings) return std::unexpected(AboutFiles(cuttings.error()));
  auto copied = CopyInto(options.words[1], from->get(), *cuttings);
  if (!copied) return copied;
  for (const Cutting& cutting : *cuttings) {
    output->Write(options.json ? program::LineOf(RestoredJson(cutting)) : RestoredText(cutting));
  }
  return {};
}

}  // namespace plov::cli
