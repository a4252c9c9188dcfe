// Scenario: what kind of world a run has. Drawn from the seed, so that a few kinds of trouble are
// thick in each run instead of thin in all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "log/group_commit.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"

namespace plov::sim {

// The log of a server, and the disk that it is on.
struct LogScenario {
  log::CommitMode mode = log::CommitMode::kStrict;
  uint64_t segment_bytes = 16 << 10;
  size_t buffer_bytes = 8 << 20;  // what waits for the disk, at most
  size_t snapshots_kept = 1;
  uint32_t power_percent = 50;  // of the deaths; the others are kills
  // The tempo: how many steps of others a step of the log's threads has, which part of these is the
  // snapshots' thread's, and how often an interval is over.
  uint32_t step_one_in = 4;
  uint32_t snapshot_percent = 25;
  uint32_t interval_one_in = 6;
  uint32_t snapshot_one_in = 0;  // of the steps of the log's threads: one is asked for
  uint32_t fault_one_in = 0;     // likewise: the disk fails for a while
  uint32_t sync_one_in = 0;      // of what clients begin
  // Clients that begin so many operations at once, and have one of so many of their turns: writes
  // are handled and durable before any of them is answered.
  uint32_t begun_at_once = 1;
  uint32_t client_one_in = 1;
};

struct Scenario {
  // The servers.
  uint32_t servers = 1;        // behind the one name
  uint32_t shards = 1;         // of each
  bool limits_differ = false;  // from life to life
  uint64_t staging_bytes = 0;  // of a connection, at most
  uint32_t bucket_bytes = 64;  // 0: they become wider as the table grows
  uint64_t bucket_count = 8;
  bool grows = false;
  bool stashes = false;
  bool evicts = false;  // items make room for others
  bool warm = false;    // its memory is a file that the next life takes over
  size_t memory_bytes = 0;
  size_t block_bytes = 4096;   // of the record area
  uint32_t fillers = 0;        // items stored before the clients come
  uint32_t filler_one_in = 8;  // GETs and writes that are of these
  std::optional<LogScenario> log = {};
  // The clients.
  uint32_t clients = 2;
  uint32_t keys = 4;
  uint64_t homes = 0;         // that all keys share in the first life; 0: as they fall
  uint32_t in_flight = 2;     // operations of one client at a time
  uint32_t window = 2;        // of these, lookups of a GetMany
  uint32_t operations = 6;    // of one client in one schedule
  size_t cache_bytes = 1024;  // for remembered locations
  uint32_t value_bytes_max = 64;
  uint32_t timeout_us = 2'000'000;
  uint32_t blocking_percent = 0;  // of the calls; the others are asynchronous
  uint32_t get_percent = 50;
  uint32_t commit_percent = 0;  // of the blocking calls: Snapshots and Commits
  uint32_t expiry_percent = 0;  // of stores
  // One in so many of what they begin deletes every item; 0: none. Of one server that loses nothing.
  uint32_t flush_one_in = 0;
  // Of what they begin: on items that servers modify (torture/modified.h). Nothing that a GET has found is ever lost then.
  uint32_t modify_percent = 0;
  // Trouble.
  uint32_t break_one_in = 0;   // schedules with a broken connection
  uint32_t kill_one_in = 0;    // schedules in which a server dies
  uint32_t switch_one_in = 0;  // schedules in which the name leads to the other server
  uint32_t leave_one_in = 0;   // schedules in which a client dies
  uint32_t raise_one_in = 0;   // schedules in which a server gets more memory
  uint32_t leap_one_in = 0;    // steps in which seconds pass
  uint32_t forge_one_in = 0;   // steps in which a hostile writer has a turn
  uint32_t step_us_max = 2;    // that one step takes
  // The tempo: mean number of the server's stores between two interruptions, and how many steps the
  // others then make; the part of the stores that mean something by themselves (seals, `live`)
  // after which they make many; how often the server has its turn among all.
  uint32_t gap = 8;
  uint32_t burst = 2;
  uint32_t seal_one_in = 8;
  uint32_t seal_burst = 40;
  uint32_t stand_one_in = 0;  // of these interruptions: the server stands still for long
  uint32_t server_weight = 4;
  uint32_t schedules = 8;  // in this world
  NetworkOptions network = {};
};

Scenario DrawScenario(Random* random);
// Of a server that keeps a log and dies often.
Scenario DrawScenarioWithLog(Random* random);

// Of either kind, with items that servers modify.
Scenario DrawScenarioOfModified(bool has_log, Random* random);

// One line, for people.
std::string Describe(const Scenario& scenario);

// Whether calls may end with errors that are nobody's fault.
bool IsTroubled(const Scenario& scenario);

}  // namespace plov::sim
