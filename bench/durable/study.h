// DurableStudy: what a log on disk costs PUTs, GETs and starts, beside the bare disk and Redis, in rounds
// that go over all of them.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/study.h"
#include "bench/durable/load.h"
#include "bench/page/page.h"
#include "bench/shared/background_load.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

struct DurableSettings : StudySettings {
  DurableSettings() : StudySettings(5, std::chrono::milliseconds(500)) {}

  uint64_t items = 1'000'000;
  std::string dir = {};  // on the disk that is measured; empty: where temporary files go
};

// A load, and whose it is.
struct LoadKey {
  std::string_view what;
  std::string_view who;

  friend bool operator==(const LoadKey&, const LoadKey&) = default;
};

inline constexpr std::string_view kDiskWrite = "bare disk, one at a time";
inline constexpr std::string_view kOnePut = "PUT, one at a time";
inline constexpr std::string_view kPuts255 = "PUTs, 255 in flight";
inline constexpr std::string_view kPuts1020 = "PUTs, 1,020 in flight";
inline constexpr std::string_view kHotPuts1020 = "PUTs of hot keys, 1,020 in flight";
inline constexpr std::string_view kPuts1600 = "PUTs, 1,600 in flight of 50 clients";
inline constexpr std::string_view kOneGet = "GET, one at a time";

inline constexpr std::string_view kWrite4K = "O_DSYNC write, 4 KiB";
inline constexpr std::string_view kWrite64K = "O_DSYNC write, 64 KiB";
inline constexpr std::string_view kNoLog = "no log";
inline constexpr std::string_view kAsync = "async";
inline constexpr std::string_view kAcked = "acked";
inline constexpr std::string_view kStrict = "strict";
inline constexpr std::string_view kStrictSnapshots = "strict, snapshots written";
inline constexpr std::string_view kAlone = "nothing beside";
inline constexpr std::string_view kBesideAll = "strict PUTs and snapshots beside";
inline constexpr std::string_view kRedisNone = "Redis, no log";
inline constexpr std::string_view kRedisEverysec = "Redis, everysec";
inline constexpr std::string_view kRedisAlways = "Redis, always";

// Round by round.
struct LoadRow {
  LoadKey key;
  Sample per_second;
  Sample p50_us;  // of redis-benchmark nothing
  Sample p99_us;
};

// Starts of a server on the same log, from its process' start until it serves.
struct StartRow {
  uint32_t value_bytes = 0;
  bool from_snapshot = false;  // else by replay alone
  uint64_t items = 0;
  Sample seconds = {};

  uint64_t bytes() const;            // of the items, as a log has them
  Sample Rate(double amount) const;  // so much a second
};

struct DurableStudy {
  DurableSettings settings;
  std::string log_folder;  // what was in settings.dir
  bool is_on_tmpfs = false;
  BackgroundLoad background;
  std::string skipped;  // why there is no Redis
  std::vector<LoadRow> loads;
  uint64_t snapshots = 0;          // that were written while something was measured
  double snapshot_extra_mib = 0;   // memory of the server beyond what it had before the first one
  double snapshot_target_mib = 0;  // what that may be: 1 % of its memory and 8 MiB
  GoalRow idle;
  std::vector<StartRow> starts;

  const LoadRow* Find(const LoadKey& key) const;
  void Add(const LoadKey& key, const Timed& timed);
  LoadRow* RowOf(const LoadKey& key);
};

// Errors: those of plov's servers and clients, of the disk, of Redis, but not that it is not installed.
std::expected<DurableStudy, Error> StudyDurable(const DurableSettings& settings);

struct StartPlace {
  std::string folder;      // of sockets
  std::string log_folder;  // of logs
};

// For values of 64 bytes and of 1 KB, of the settings' items; of the larger as many as make 128 MiB.
// Errors: kCorrupt (an item is missing), the server's, the client's.
std::expected<std::vector<StartRow>, Error> MeasureStarts(
    const DurableSettings& settings, const StartPlace& place,
    const std::function<void(const std::string&)>& say);

std::vector<GoalRow> GoalsOf(const DurableStudy& study);
Page PageOf(const DurableStudy& study);
program::Json JsonOf(const DurableStudy& study);

}  // namespace plov::bench
