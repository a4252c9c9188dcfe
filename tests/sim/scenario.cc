#include "tests/sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "verify/superblock.h"

namespace plov::sim {

namespace {

constexpr size_t kKiB = 1024;
// Longer than anything takes while nothing goes wrong.
constexpr uint32_t kTimeoutWithRoomUs = 1'000'000;

// A table that holds hardly more than its keys: displacement, overflow, full.
void Crowd(Random* random, Scenario* scenario) {
  scenario->bucket_count = random->Between(8, 14);
  const auto buckets = static_cast<uint32_t>(scenario->bucket_count);
  scenario->keys = random->Between(2, 4);
  if (random->OneIn(2)) {
    scenario->homes = random->Between(1, 2);
    scenario->keys = random->Between(3, 6);
  }
  scenario->fillers = random->Between(buckets / 2, buckets) - (scenario->homes != 0 ? 2 : 0);
  scenario->memory_bytes = 128 * kKiB;
}

// Keys of one home, more than its directory lists, that displace each other.
void Overflow(Random* random, Scenario* scenario) {
  scenario->bucket_count = random->Between(8, 10);
  scenario->homes = 1;
  scenario->keys = random->Between(5, 7);
  scenario->fillers = random->Below(3);
  scenario->memory_bytes = 128 * kKiB;
  scenario->get_percent = random->Between(30, 60);
  scenario->operations = random->Between(4, 12);
}

// A table about to grow, or growing already.
void Grow(Random* random, Scenario* scenario) {
  scenario->grows = true;
  scenario->bucket_count = random->Between(32, 40);
  scenario->keys = random->Between(3, 8);
  const auto at = static_cast<uint32_t>(scenario->bucket_count * 80 / 100);
  scenario->fillers = at - random->Below(scenario->keys);
  scenario->memory_bytes = 256 * kKiB;
  scenario->get_percent = random->Between(30, 60);
  scenario->schedules = 4;
  if (random->OneIn(3)) {
    scenario->bucket_bytes = 0;
    scenario->value_bytes_max = random->Between(76, 84);
  }
  if (random->OneIn(4)) {
    scenario->expiry_percent = 50;
    scenario->leap_one_in = 100;
  }
}

// Records that fill their memory, so that it is used again and they are moved.
void Churn(Random* random, Scenario* scenario) {
  scenario->bucket_count = random->Between(16, 32);
  scenario->keys = random->Between(3, 6);
  scenario->fillers = random->Between(6, 14);
  scenario->memory_bytes = verify::kRegionHeadBytes + (8 + 4 * random->Between(3, 6)) * kKiB;
  scenario->value_bytes_max = random->Between(60, 800);
  scenario->get_percent = random->Between(20, 50);
  scenario->operations = random->Between(4, 12);
  scenario->schedules = 24;
}

// Values that travel by rendezvous, and back by a record that the server holds.
void Swell(Random* random, Scenario* scenario) {
  scenario->bucket_count = 16;
  scenario->keys = random->Between(2, 3);
  scenario->memory_bytes = 1024 * kKiB;
  scenario->value_bytes_max = random->Between(18, 60) * kKiB;
  scenario->gap = random->Between(500, 5000);
  scenario->schedules = 4;
  scenario->limits_differ = random->OneIn(2);
}

// Two servers that take over from each other, and know different things.
void FailOver(Random* random, Scenario* scenario) {
  scenario->servers = 2;
  scenario->switch_one_in = random->Between(1, 3);
  scenario->bucket_count = random->Between(16, 32);
  scenario->keys = random->Between(1, 4);
  scenario->fillers = random->Between(2, 8);
  scenario->memory_bytes = 128 * kKiB;
  scenario->grows = random->OneIn(4);
  scenario->filler_one_in = 2;
  scenario->in_flight = random->Between(1, 12);
  scenario->operations = random->Between(4, 24);
}

LogScenario DrawLog(Random* random) {
  LogScenario log;
  log.mode = static_cast<log::CommitMode>(random->Below(3));
  log.segment_bytes = (16 + 16 * random->Below(3)) * kKiB;
  if (random->OneIn(4)) log.buffer_bytes = random->Between(1, 4) * kKiB;
  log.snapshots_kept = random->Between(1, 2);
  log.power_percent = 25 * random->Between(1, 4);
  log.step_one_in = random->OneIn(3) ? random->Between(10, 60) : random->Between(2, 6);
  log.snapshot_percent = random->OneIn(3) ? random->Between(50, 90) : 25;
  log.interval_one_in = random->Between(2, 30);
  if (random->OneIn(2)) log.snapshot_one_in = random->Between(10, 100);
  if (random->OneIn(4)) log.fault_one_in = random->Between(20, 200);
  log.sync_one_in = random->OneIn(2) ? random->Between(5, 20) : 0;
  if (random->OneIn(3)) {
    log.begun_at_once = random->Between(2, 6);
    log.client_one_in = random->Between(2, 10);
  }
  return log;
}

std::string Describe(const LogScenario& log) {
  constexpr std::array kModes = {"strict", "acked", "async"};
  return fmt::format(
      "a log, {}, segments of {} KiB, buffer of {} KiB, {} % power cuts, one in: {} snapshots, {} "
      "faults, {} Syncs",
      kModes[static_cast<size_t>(log.mode)], log.segment_bytes >> 10, log.buffer_bytes >> 10,
      log.power_percent, log.snapshot_one_in, log.fault_one_in, log.sync_one_in);
}

// Calls that end before what they wait for comes.
void ShortDeadlines(Random* random, Scenario* scenario) {
  scenario->timeout_us = random->Between(20, 400);
  scenario->network.hold_one_in = random->Between(2, 20);
  scenario->network.hold_us_max = random->Between(1, 3) * scenario->timeout_us;
}

// Of one server's lives that lose nothing that was seen. Not in caches: these worlds are so small that the pages of stash
// and journal, which stay, can leave no room for records.
void DrawCommits(Random* random, Scenario* scenario) {
  const bool may_lose = scenario->log && scenario->log->mode != log::CommitMode::kStrict;
  if (may_lose || scenario->evicts || !random->OneIn(3)) return;
  scenario->commit_percent = static_cast<uint32_t>(random->Between(20, 70));
  scenario->blocking_percent = std::max(scenario->blocking_percent, scenario->commit_percent);
  scenario->in_flight = std::max<uint32_t>(scenario->in_flight, 2);
  scenario->stashes = true;  // or no Commit that stores a new key finds room
}

// As many, each of a server of one shard. Their keys are drawn for that one's homes.
void DrawShards(Random* random, Scenario* scenario) {
  if (!random->OneIn(4)) return;
  scenario->shards = random->Between(2, 3);
  scenario->keys *= scenario->shards;
  scenario->fillers *= scenario->shards;
}

void DrawFlushes(Random* random, Scenario* scenario) {
  const bool may_lose = scenario->log && scenario->log->mode == log::CommitMode::kAsync;
  if (scenario->servers > 1 || may_lose || !random->OneIn(3)) return;
  scenario->flush_one_in = static_cast<uint32_t>(random->Between(10, 60));
}

}  // namespace

Scenario DrawScenarioWithLog(Random* random) {
  Scenario scenario;
  scenario.bucket_bytes = random->OneIn(4) ? 0 : random->OneIn(4) ? 128 : 64;
  scenario.bucket_count = random->Between(8, 40);
  scenario.grows = scenario.stashes = true;
  scenario.memory_bytes = 512 * kKiB;
  scenario.staging_bytes = 256 * kKiB;
  scenario.keys = random->Between(1, 5);
  if (random->OneIn(3)) scenario.homes = random->Between(1, 2);
  scenario.fillers = random->Below(scenario.bucket_count);
  // More than a snapshot reads at once, and crowded.
  if (random->OneIn(3)) {
    scenario.bucket_count = random->Between(64, 160);
    scenario.fillers = static_cast<uint32_t>(scenario.bucket_count) * random->Between(60, 78) / 100;
    scenario.filler_one_in = random->Between(2, 4);
  }
  scenario.value_bytes_max = random->OneIn(2) ? 24 : random->Between(60, 800);
  if (random->OneIn(12)) scenario.value_bytes_max = random->Between(18, 40) * kKiB;
  scenario.clients = random->Between(1, 3);
  scenario.in_flight = random->OneIn(3) ? 1 : random->Between(2, 8);
  scenario.operations = random->Between(2, 12);
  scenario.cache_bytes = random->OneIn(3) ? 0 : 64 * random->Between(1, 16);
  scenario.get_percent = random->Between(10, 60);
  scenario.blocking_percent = random->OneIn(2) ? 0 : random->Between(10, 60);
  scenario.gap = random->Between(2, 40);
  scenario.burst = random->Between(1, 6);
  scenario.seal_one_in = random->Between(2, 16);
  scenario.seal_burst = random->Between(10, 40);
  scenario.server_weight = random->Between(2, 12);
  scenario.schedules = random->Between(4, 10);
  scenario.kill_one_in = random->Between(1, 2);
  if (random->OneIn(3)) scenario.break_one_in = 3;
  if (random->OneIn(4)) scenario.leave_one_in = 4;
  if (random->OneIn(4)) scenario.leap_one_in = 400;
  scenario.network.cut = static_cast<Cut>(random->Below(static_cast<size_t>(Cut::kAny) + 1));
  scenario.network.read_depth = random->Between(1, 8);
  scenario.network.loads = random->OneIn(4);
  scenario.log = DrawLog(random);
  const bool is_strict = scenario.log->mode == log::CommitMode::kStrict;
  if (is_strict && random->OneIn(4)) {
    scenario.expiry_percent = 20;
    scenario.leap_one_in = 400;
  }
  if (random->OneIn(6)) scenario.raise_one_in = 3;
  DrawFlushes(random, &scenario);
  DrawCommits(random, &scenario);
  return scenario;
}

Scenario DrawScenario(Random* random) {
  Scenario scenario;
  scenario.bucket_bytes = random->OneIn(4) ? 128 : 64;
  scenario.clients = random->Between(1, 3);
  scenario.in_flight = random->Between(1, 4);
  scenario.operations = random->Between(2, 8);
  scenario.cache_bytes = random->OneIn(3) ? 0 : 64 * random->Between(1, 16);
  scenario.value_bytes_max = random->OneIn(2) ? 24 : 100;
  scenario.get_percent = random->Between(30, 80);
  scenario.expiry_percent = random->OneIn(4) ? 20 : 0;
  scenario.gap = random->Between(2, 40);
  scenario.burst = random->Between(1, 6);
  scenario.seal_one_in = random->Between(2, 16);
  scenario.seal_burst = random->Between(10, 60);
  scenario.server_weight = random->Between(1, 8);
  scenario.network.cut = static_cast<Cut>(random->Below(static_cast<size_t>(Cut::kAny) + 1));
  scenario.network.retransmit_one_in = random->OneIn(2) ? 0 : 6;
  scenario.network.read_depth = random->Between(1, 8);
  scenario.memory_bytes = 128 * kKiB;
  if (random->OneIn(3)) scenario.stand_one_in = random->Between(20, 200);
  scenario.window = random->Between(1, 4);
  scenario.blocking_percent = random->OneIn(2) ? 0 : random->Between(10, 100);
  scenario.staging_bytes = 256 * kKiB;
  scenario.stashes = random->OneIn(2);
  const uint32_t kind = random->Below(100);
  if (kind < 35) {
    Crowd(random, &scenario);
  } else if (kind < 50) {
    Overflow(random, &scenario);
  } else if (kind < 65) {
    Grow(random, &scenario);
  } else if (kind < 84) {
    Churn(random, &scenario);
  } else if (kind < 98) {
    FailOver(random, &scenario);
  } else {
    Swell(random, &scenario);
  }
  if (random->OneIn(8)) scenario.step_us_max = 2000;
  if (random->OneIn(3)) scenario.break_one_in = 4;
  if (random->OneIn(4)) scenario.leave_one_in = 4;
  if (scenario.leap_one_in == 0 && random->OneIn(4)) scenario.leap_one_in = 400;
  if (random->OneIn(3)) scenario.forge_one_in = random->Between(2, 30);
  if (random->OneIn(6)) scenario.kill_one_in = 2;
  if (scenario.grows && random->OneIn(4)) scenario.kill_one_in = 2;
  scenario.warm = scenario.kill_one_in != 0 && !random->OneIn(3);
  if (scenario.servers > 1 || scenario.kill_one_in != 0) {
    scenario.limits_differ = scenario.limits_differ || random->OneIn(3);
  }
  scenario.network.loads = random->OneIn(4);
  if (random->OneIn(4)) {
    ShortDeadlines(random, &scenario);
  } else if (random->OneIn(4)) {
    scenario.network.hold_one_in = 20;
    scenario.network.hold_us_max = 2000;
  }
  if (random->OneIn(6)) scenario.raise_one_in = 3;
  scenario.evicts = random->OneIn(5);
  DrawShards(random, &scenario);
  DrawFlushes(random, &scenario);
  DrawCommits(random, &scenario);
  return scenario;
}

Scenario DrawScenarioOfModified(bool has_log, Random* random) {
  Scenario scenario = has_log ? DrawScenarioWithLog(random) : DrawScenario(random);
  if (scenario.log) scenario.log->mode = log::CommitMode::kStrict;
  if (!scenario.log && !scenario.warm) scenario.kill_one_in = 0;
  scenario.servers = 1;
  scenario.switch_one_in = 0;
  scenario.flush_one_in = 0;
  scenario.evicts = false;
  scenario.modify_percent = static_cast<uint32_t>(random->Between(20, 80));
  return scenario;
}

std::string Describe(const Scenario& s) {
  const std::string what = fmt::format(
      "{} buckets of {} bytes{}{}{}{}, {} KiB, {} keys and {} fillers, values to {} bytes, {} "
      "clients "
      "with {} operations at a time, cache of {} bytes, {} % GETs, {} % expire, steps to {} us, "
      "one in: {} breaks, {} leaves, {} kills, {} raises, {} leaps, {} forgeries; {} servers of {} "
      "shards{}, "
      "one in {} "
      "switches and {} flushes; {} % "
      "blocking "
      "calls of {} us{}; one in {} READs held up for {} us",
      s.bucket_count, s.bucket_bytes, s.grows ? ", growing" : "", s.stashes ? ", with a stash" : "",
      s.evicts ? ", evicting" : "", s.warm ? ", warm" : "", s.memory_bytes >> 10, s.keys, s.fillers,
      s.value_bytes_max, s.clients, s.in_flight, s.cache_bytes, s.get_percent, s.expiry_percent,
      s.step_us_max, s.break_one_in, s.leave_one_in, s.kill_one_in, s.raise_one_in, s.leap_one_in,
      s.forge_one_in, s.servers, s.shards, s.limits_differ ? " of different limits" : "",
      s.switch_one_in, s.flush_one_in, s.blocking_percent, s.timeout_us,
      s.network.loads ? " by loads" : "", s.network.hold_one_in, s.network.hold_us_max);
  return s.log ? what + "; " + Describe(*s.log) : what;
}

// A broken connection alone is mended in time, unnoticed.
bool IsTroubled(const Scenario& scenario) {
  return scenario.kill_one_in != 0 || scenario.switch_one_in != 0 ||
         scenario.timeout_us < kTimeoutWithRoomUs || scenario.leap_one_in != 0 ||
         scenario.step_us_max > 100;
}

}  // namespace plov::sim
