// log list, export and salvage: what a log holds.

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/log.h"
#include "client/cli/report.h"
#include "client/cli/time.h"
#include "log/offline/check.h"
#include "log/offline/index.h"
#include "log/offline/salvage.h"

namespace plov::cli {

namespace {

using log::offline::Index;
using log::offline::Place;
using log::offline::Shard;

const char* NameOf(verify::Logged::Kind kind) {
  switch (kind) {
    case verify::Logged::Kind::kPut:
      return "put";
    case verify::Logged::Kind::kDelete:
      return "delete";
    case verify::Logged::Kind::kSuperseded:
      return "superseded";
    case verify::Logged::Kind::kHeld:
      return "held";
  }
  return "?";
}

void AppendOperation(const verify::Logged& operation, const Place& place, std::string* line) {
  const std::string where = place.kind == verify::LogFile::kSnapshot
                                ? fmt::format("snapshot:{}", place.number)
                                : fmt::format("{}", place.batch);
  *line += fmt::format("{}\t{}\t{}\t{}\t", place.shard, where, operation.version,
                       NameOf(operation.kind));
  AppendEscaped(operation.key, line);
  *line += fmt::format("\t{}\t{}\t{}\t{}\n", operation.value.size(), operation.flags,
                       operation.expiry, place.time_us == 0 ? "-" : UtcText(place.time_us));
}

program::Json OperationJson(const verify::Logged& operation, const Place& place) {
  program::Json object = program::Json::object();
  object["shard"] = place.shard;
  if (place.kind == verify::LogFile::kSnapshot) {
    object["snapshot"] = place.number;
  } else {
    object["batch"] = place.batch;
  }
  object["version"] = operation.version;
  object["operation"] = NameOf(operation.kind);
  AddBytes("key", operation.key, &object);
  object["value_bytes"] = operation.value.size();
  object["flags"] = operation.flags;
  object["expiry"] = operation.expiry;
  if (place.time_us != 0) object["time"] = UtcText(place.time_us);
  return object;
}

// Damage that keeps a server from starting, or the reader from going on.
Outcome FailDamagedAt(const Options& options, const log::Damage& damage) {
  return FailDamaged(options.words[1], damage.Line());
}

class Lister {
 public:
  Lister(const Options& options, log::Disk* disk, program::Output* output)
      : options_(options), disk_(disk), output_(output) {}

  Outcome List(const Shard& shard) {
    if (shard.foreign) return FailDamagedAt(options_, *shard.foreign);
    const auto visit = [this](const verify::Logged& operation, const Place& place) {
      return Write(operation, place);
    };
    for (const log::offline::Snapshot& snapshot : shard.snapshots) {
      if (!options_.log_snapshot) break;
      if (snapshot.damage) return FailDamagedAt(options_, *snapshot.damage);
      const auto read = log::offline::ReadSnapshot(disk_, shard.number, snapshot.number, visit);
      if (!read) return std::unexpected(AboutFiles(read.error()));
    }
    const auto walked = log::offline::WalkLog(disk_, shard.files, shard.FromOldest(), visit);
    if (!walked) return std::unexpected(AboutFiles(walked.error()));
    if (walked->damage) return FailDamagedAt(options_, *walked->damage);
    return {};
  }

 private:
  bool Write(const verify::Logged& operation, const Place& place) {
    line_.clear();
    if (options_.json) {
      line_ = program::LineOf(OperationJson(operation, place));
    } else {
      AppendOperation(operation, place, &line_);
    }
    output_->Write(line_);
    return output_->good();
  }

  const Options& options_;
  log::Disk* disk_;
  program::Output* output_;
  std::string line_;
};

// As dump writes them.
Outcome WriteItems(const Options& options, log::Disk* disk, const Index& index,
                   program::Output* output) {
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  std::string line;
  const auto done = index.ForEach(disk, now, [&](const Index::Item& item) {
    if (options.json) {
      const Item as_read{
          .value = item.value, .version = item.version, .flags = item.flags, .expiry = item.expiry};
      line = program::LineOf(JsonOf(item.key, as_read));
    } else {
      line.clear();
      AppendLine(item.key, item.value, &line);
    }
    output->Write(line);
    return output->good();
  });
  if (!done) return std::unexpected(AboutFiles(done.error()));
  return {};
}

// What a server would restore of a shard.
Outcome IndexShard(const Options& options, log::Disk* disk, const Shard& shard,
                   const log::offline::Visit& visit) {
  if (shard.foreign) return FailDamagedAt(options, *shard.foreign);
  if (const log::offline::Snapshot* base = shard.base()) {
    const auto read = log::offline::ReadSnapshot(disk, shard.number, base->number, visit);
    if (!read) return std::unexpected(AboutFiles(read.error()));
    if (read->damage) return FailDamagedAt(options, *read->damage);
  }
  const auto walked = log::offline::WalkLog(disk, shard.files, shard.AsAServer(), visit);
  if (!walked) return std::unexpected(AboutFiles(walked.error()));
  if (walked->damage) return FailDamagedAt(options, *walked->damage);
  return {};
}

}  // namespace

Outcome LogList(const Options& options, program::Output* output) {
  const auto disk = OpenLog(options.words[1]);
  if (!disk) return std::unexpected(disk.error());
  const auto shards = log::offline::Look(disk->get());
  if (!shards) return std::unexpected(AboutFiles(shards.error()));
  const auto& wanted = options.log_shard;
  if (wanted && !std::ranges::any_of(shards->present,
                                     [&](const Shard& shard) { return shard.number == *wanted; })) {
    return Fail(Code::kSystem,
                fmt::format("{} has no files of shard {}", options.words[1], *wanted));
  }
  Lister lister(options, disk->get(), output);
  for (const Shard& shard : shards->present) {
    if (wanted && shard.number != *wanted) continue;
    if (auto listed = lister.List(shard); !listed) return listed;
    if (!output->good()) return {};  // Finish tells it
  }
  return {};
}

// Nothing is written before all shards were read and found whole.
Outcome LogExport(const Options& options, program::Output* output) {
  const auto disk = OpenLog(options.words[1]);
  if (!disk) return std::unexpected(disk.error());
  ReadProgress progress;
  const auto shards = log::offline::LookForOperations(
      disk->get(), [&](const verify::Logged& operation, const Place&) {
        progress.Add(operation);
        return true;
      });
  progress.Clear();
  if (!shards) return std::unexpected(AboutFiles(shards.error()));
  Index index(Index::Deletes::kForget);
  bool holds_any = false;
  const auto visit = [&](const verify::Logged& operation, const Place& place) {
    progress.Add(operation);
    index.Apply(operation, place);
    holds_any = true;
    return true;
  };
  for (const Shard& shard : shards->present) {
    const auto indexed = IndexShard(options, disk->get(), shard, visit);
    progress.Clear();
    if (!indexed) return indexed;
  }
  if (holds_any && !shards->missing.empty()) {
    return FailDamagedAt(options, log::offline::AllMissing(disk->get(), shards->missing.front()));
  }
  return WriteItems(options, disk->get(), index, output);
}

Outcome LogSalvage(const Options& options, program::Output* output) {
  const auto disk = OpenLog(options.words[1]);
  if (!disk) return std::unexpected(disk.error());
  Index index(Index::Deletes::kRemember);
  ReadProgress progress;
  const auto skipped =
      log::offline::Salvage(disk->get(), [&](const verify::Logged& operation, const Place& place) {
        progress.Add(operation);
        index.Apply(operation, place);
        return true;
      });
  progress.Clear();
  if (!skipped) return std::unexpected(AboutFiles(skipped.error()));
  for (const std::string& line : *skipped) {
    fmt::print(stderr, "plov: log: skipped: {}\n", Printable(line));
  }
  if (auto written = WriteItems(options, disk->get(), index, output); !written) return written;
  if (skipped->empty()) return {};
  // The exit status of what is not all there, 1.
  return Fail(Code::kNotFound,
              fmt::format("{} skipped: items may be missing or old, and deleted ones back",
                          skipped->size() == 1 ? "1 thing was"
                                               : fmt::format("{} things were", skipped->size())));
}

}  // namespace plov::cli
