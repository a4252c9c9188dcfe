// Comparison: plov and its peers at the same work, in rounds that go over all of them.
//
// Threads: as program::Process, the main thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/page/page.h"
#include "bench/peers/peer.h"
#include "bench/peers/plov.h"
#include "bench/shared/background_load.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"
#include "program/process.h"

namespace plov::bench {

// Goals: the speed to reach, as ratios to what peers do on the same machine in the same run.
//
// Source: the table of speeds in plov's design.

// plov itself comes in two states, and with the buckets that it chooses itself, which is what goals
// are about, or with those of 64 bytes, beside which these items have records.
inline constexpr std::string_view kCold = "cold";    // its client remembers nothing
inline constexpr std::string_view kKnown = "known";  // it remembers where all items are
inline constexpr std::string_view kColdRecords = "cold, records";
inline constexpr std::string_view kKnownRecords = "known, records";

enum class Bound : uint8_t { kAtLeast, kAtMost };

// The rate of one side is to be at least so many times that of the other.
struct RateGoal {
  std::string_view name;  // in JSON
  std::string_view what;
  std::string_view ours;  // kCold or kKnown
  Way way;                // of both
  std::string_view peer;  // a PeerKind's name
  double target;
  std::string_view or_peer = {};  // another, whichever is faster
};

inline constexpr auto kRateGoals = std::to_array<RateGoal>({
    {"get_memory", "GET", kCold, Way::kGet, "memory", 0.85},
    {"get_known_memory", "GET, location known", kKnown, Way::kGet, "memory", 1.5},
    {"get_known_lmdb", "GET, location known", kKnown, Way::kGet, "lmdb", 2.2},
    {"get_known_libcuckoo", "GET, location known", kKnown, Way::kGet, "libcuckoo", 1.3},
    {"get_known_redis", "GET, location known", kKnown, Way::kGet, "redis", 100},
    {"get_known_memcached", "GET, location known", kKnown, Way::kGet, "memcached", 100},
    {"get_many_memory", "GETs, 32 in flight", kCold, Way::kGetMany, "memory", 0.50},
    {"get_many_redis", "GETs, 32 in flight", kCold, Way::kGetMany, "redis", 10, "redis-benchmark"},
    {"put_redis", "PUT", kCold, Way::kPut, "redis", 40},
    {"put_many_redis", "PUTs, 32 in flight", kCold, Way::kPutMany, "redis", 2, "redis-benchmark"},
});

// Results that are not ratios of rates.
struct FactGoal {
  std::string_view name = {};
  std::string_view what = {};
  std::string_view peer = {};       // what it is compared with, and
  std::string_view published = {};  // what that came to, where it was published
  Bound bound = Bound::kAtLeast;
  double target = 0;
  std::string_view unit = {};  // of target and measured
  int digits = -1;  // after the point, as the target is stated; the check uses as many; -1: all
};

inline constexpr FactGoal kServerCpu{
    "server_cpu", "1,000,000 GETs", "server's CPU", "", Bound::kAtMost, 0, " s", 3};
inline constexpr FactGoal kServerStopped{
    "server_stopped", "GETs, server stopped", "of them right", "", Bound::kAtLeast, 100, " %", 2};
inline constexpr FactGoal kIdleCpu{"idle_cpu", "idle server", "CPU", "", Bound::kAtMost,
                                   0,          " %",          1};
inline constexpr FactGoal kReadsRecord{
    "reads_record", "READs per GET", "Pilaf", "2.6", Bound::kAtMost, 2.4, "", 1};
inline constexpr FactGoal kReadsRecordKnown{
    "reads_record_known", "same, known", "Pilaf", "2.6", Bound::kAtMost, 1, "", 1};
inline constexpr FactGoal kReadsInline{
    "reads_inline", "same, in the bucket", "Pilaf", "2.6", Bound::kAtMost, 1.4, "", 1};
inline constexpr FactGoal kReadsInlineKnown{
    "reads_inline_known", "same, known", "Pilaf", "2.6", Bound::kAtMost, 1, "", 1};
inline constexpr FactGoal kReadsMiss{
    "reads_miss", "READs per miss", "Pilaf", "3", Bound::kAtMost, 1.02, "", 2};
inline constexpr FactGoal kTableFill{
    "table_fill", "fill until growth", "Pilaf", "75 %", Bound::kAtLeast, 90, " %", 1};
inline constexpr FactGoal kWireRate{
    "rdma", "GETs over RDMA", "ib_read_bw", "", Bound::kAtLeast, 0.90, "x", 2};

// Of the server's resident set, beside a peer's.
inline constexpr auto kMemoryGoals = std::to_array<FactGoal>({
    {"memory_redis", "memory for an item", "redis", "", Bound::kAtMost, 1, "x", 2},
    {"memory_memcached", "memory for an item", "memcached", "", Bound::kAtMost, 1, "x", 2},
});

// By how much it is missed; 0: it is reached.
constexpr double MissedBy(Bound bound, double target, double measured) {
  const double missing = bound == Bound::kAtLeast ? target - measured : measured - target;
  return missing > 0 ? missing : 0;
}

struct CompareSettings : StudySettings {
  CompareSettings() : StudySettings(5, std::chrono::milliseconds(500)) {}

  std::vector<const PeerKind*> peers;
  uint64_t items = 4'000'000;
  bool huge_pages = false;  // of plov's server
};

// What one side did of one kind, operations a second.
struct RateRow {
  std::string_view who;  // kCold, kKnown, a PeerKind's name
  std::string_view title;
  Way way;
  Sample per_second;
};

struct SkippedPeer {
  const PeerKind* kind;
  std::string reason;
};

// A goal, and what was measured.
struct GoalRow : FactGoal {
  explicit GoalRow(const FactGoal& goal = {}) : FactGoal(goal), peer_value(goal.published) {}

  std::string peer_value;  // medians with their spread, as text
  std::string own_value;
  Sample measured;      // of ratios one for each round
  std::string skipped;  // why it was not measured; empty: it was
};

void to_json(program::Json& json, const RateRow& row);
void to_json(program::Json& json, const SkippedPeer& one);
void to_json(program::Json& json, const GoalRow& row);

// One of plov's tables.
struct TableSize {
  uint64_t buckets = 0;
  uint64_t bucket_bytes = 0;
};

void to_json(program::Json& json, const TableSize& size);

struct Comparison {
  CompareSettings settings;
  TableSize table;
  TableSize table_of_records;
  std::vector<RateRow> rates;
  std::vector<GoalRow> goals;
  std::vector<SkippedPeer> skipped;
  BackgroundLoad background;

  const RateRow* FindRate(std::string_view who, Way way) const;
};

// Starts everything, measures, ends it. Errors: those of plov's server and clients; of peers, but
// not that they are not installed.
std::expected<Comparison, Error> Compare(const CompareSettings& settings);

Page PageOf(const Comparison& comparison);
program::Json JsonOf(const Comparison& comparison);

// "1.23 M (1.20..1.30)".
std::string Spread(const Sample& sample);

// "reached", "missed by 12 %", "skipped: redis is not installed".
std::string VerdictOf(const GoalRow& row);

// Whether the goal is reached. Needs a row that is measured.
bool IsReached(const GoalRow& row);

// "5 of 7 goals reached", of those that were measured.
std::string ReachedOf(const std::vector<GoalRow>& goals);

// The figures of both sides stand in it as texts.
Table TableOf(const std::vector<GoalRow>& goals);

// Why it was not measured.
std::string WhySkipped(const Comparison& comparison, std::string_view peer);

// Adds a row for each goal that is a ratio of rates.
void AddRateGoals(Comparison* comparison);

// Of a server whose clients get: its CPU time meanwhile, what they get while it is stopped, and its
// CPU time without requests. Errors: GETs that fail while it runs.
std::expected<std::vector<GoalRow>, Error> ServerFacts(program::Process* server, Plov* cold,
                                                       Plov* known,
                                                       const CompareSettings& settings);

// The CPU time of a server without requests. Errors: it has ended.
std::expected<GoalRow, Error> CpuWhenIdle(const program::Process& server,
                                          std::chrono::seconds duration);

// READs, of small servers of their own whose tables are filled to 75 %. `folder`: theirs.
std::expected<std::vector<GoalRow>, Error> ReadFacts(const std::string& plovd,
                                                     const std::string& folder);

// How full a table of so many buckets can be before a PUT needs it to grow, in percent. kSystem: no
// memory for it.
std::expected<double, Error> FillOfTable(uint64_t buckets, uint64_t seed);
GoalRow FillFact();

// GETs over an RDMA device beside perftest, where there is one.
GoalRow WireFact(const CompareSettings& settings);

}  // namespace plov::bench
