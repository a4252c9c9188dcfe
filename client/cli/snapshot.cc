// snapshot: asks every shard for one, then asks for its counters until it is over.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "program/format.h"
#include "program/progress.h"

namespace plov::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at the counters: a small snapshot takes milliseconds.
constexpr std::chrono::milliseconds kLookAfterMin{10};
constexpr std::chrono::milliseconds kLookAfterMax{250};
// No counter has moved for so long, or for --timeout where that is more: a disk may take seconds for
// one sync.
constexpr std::chrono::minutes kStalledAfter{1};

// Of one shard.
struct Counters {
  uint64_t snapshots = 0;
  uint64_t failures = 0;
  uint64_t running = 0;
  uint64_t written_bytes = 0;
  uint64_t items = 0;
  uint64_t bytes = 0;

  uint64_t over() const { return snapshots + failures; }
  bool operator==(const Counters&) const = default;
};
using Shards = std::vector<Counters>;

std::expected<Shards, Error> Look(Client* client) {
  const auto texts = client->ServerStats();
  if (!texts) return std::unexpected(texts.error());
  Shards shards;
  for (const std::string& text : *texts) {
    const program::Json stats = ShardStats(text);
    const auto number = [&stats](const char* name) { return stats.value(name, uint64_t{0}); };
    shards.push_back({.snapshots = number("snapshots"),
                      .failures = number("snapshot_failures"),
                      .running = number("snapshot_running"),
                      .written_bytes = number("snapshot_written_bytes"),
                      .items = number("snapshot_items"),
                      .bytes = number("snapshot_bytes")});
  }
  return shards;
}

bool IsOver(const Shards& shards, const std::vector<uint64_t>& awaited) {
  return std::ranges::equal(shards, awaited, [](const Counters& shard, uint64_t number) {
    return shard.over() >= number;
  });
}

// What was written between two looks, also when the count began anew.
uint64_t WrittenBytes(const Shards& before, const Shards& now) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    const uint64_t former = before[i].written_bytes;
    bytes += now[i].written_bytes - (now[i].written_bytes < former ? 0 : former);
  }
  return bytes;
}

struct Goal {
  std::vector<uint64_t> awaited;  // by shard, as Client::Snapshot has it
  Clock::duration stalled_after;
};

// The counters once every shard's snapshot is over.
std::expected<Shards, Error> Await(Client* client, Shards last, const Goal& goal,
                                   program::Progress* progress) {
  uint64_t written_bytes = 0;
  auto moved_at = Clock::now();
  for (auto pause = kLookAfterMin;; pause = std::min(2 * pause, kLookAfterMax)) {
    auto now = Look(client);
    if (!now) return now;
    if (client->stats().reconnects > 0 || now->size() != goal.awaited.size()) {
      return Fail(Code::kUnavailable,
                  "the server went away for a while: plov stats says which snapshots it has");
    }
    if (IsOver(*now, goal.awaited)) return now;
    if (*now != last) moved_at = Clock::now();
    if (Clock::now() >= moved_at + goal.stalled_after) {
      return Fail(Code::kTimeout, "the snapshot does not move on");
    }
    written_bytes += WrittenBytes(last, *now);
    progress->Show(written_bytes);
    last = std::move(*now);
    std::this_thread::sleep_for(pause);
  }
}

// Empty where there is only an error to tell.
std::string Summary(const Options& options, const Shards& shards, uint64_t failed, double seconds) {
  uint64_t items = 0;
  uint64_t bytes = 0;
  for (const Counters& shard : shards) {
    items += shard.items;
    bytes += shard.bytes;
  }
  if (!options.json) {
    if (failed > 0) return "";
    return fmt::format("snapshot of {}, {}, in {:.3f} s\n", program::CountOf(items, "item"),
                       program::Bytes(bytes), seconds);
  }
  program::Json object = program::Json::object();
  object["server"] = options.server;
  object["items"] = items;
  object["bytes"] = bytes;
  object["seconds"] = seconds;
  object["failed"] = failed;
  return program::LineOf(object);
}

}  // namespace

Outcome Snapshot(const Options& options, program::Output* output) {
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  program::Progress progress;
  auto before = Look(&*client);
  if (!before) return std::unexpected(before.error());
  auto awaited = client->Snapshot();
  if (!awaited) return NoUsageError(std::move(awaited.error()));
  if (options.no_wait) {
    program::Json object = program::Json::object();
    object["server"] = options.server;
    object["awaited"] = *awaited;
    if (options.json) output->Write(program::LineOf(object));
    return {};
  }
  const Goal goal{std::move(*awaited), std::max<Clock::duration>(options.timeout, kStalledAfter)};
  const auto after = Await(&*client, *before, goal, &progress);
  progress.Clear();
  if (!after) return std::unexpected(after.error());
  uint64_t failed = 0;
  for (size_t i = 0; i < after->size(); ++i) {
    failed += (*after)[i].failures > (*before)[i].failures ? 1 : 0;
  }
  output->Write(Summary(options, *after, failed, progress.seconds()));
  if (failed == 0) return {};
  return Fail(Code::kSystem,
              fmt::format("{} of {} shards could not take a snapshot: plovd's log says why", failed,
                          after->size()));
}

}  // namespace plov::cli
