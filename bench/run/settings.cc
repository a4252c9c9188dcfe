#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "bench/load/presets.h"
#include "bench/load/process_pool.h"
#include "bench/run/study.h"
#include "bench/shared/command.h"
#include "program/own_server.h"
#include "verify/quantity.h"

namespace plov::bench {

namespace {

constexpr uint32_t kWindowMax = 256;
constexpr uint32_t kRoundsMax = 1000;
constexpr uint32_t kShardsMax = 64;
constexpr double kRateMax = 1e9;
constexpr uint64_t kSpinUsMax = 1'000'000;
constexpr uint64_t kCacheBytesMax = uint64_t{1} << 40;
constexpr std::chrono::hours kDurationMax{24};
constexpr std::chrono::seconds kDuration{5};
constexpr std::chrono::seconds kWarmup{1};
constexpr std::chrono::milliseconds kQuickDuration{100};
constexpr std::chrono::milliseconds kQuickWarmup{20};
constexpr std::chrono::seconds kTimeout{10};

// Memory is committed when it is touched, so more than enough costs nothing.
constexpr uint64_t kServerBytes = uint64_t{64} << 20;
constexpr double kBytesPerItem = 512;  // besides key and value; generous, also while a table grows
constexpr double kRecordsPerItem = 2;  // replaced ones are cleaned up later
// New items: as many as a client has been seen to store.
constexpr double kInsertsPerSecond = 1e6;

uint64_t MemoryBytes(const RunSettings& settings) {
  const Workload& workload = settings.workload;
  const double item = kBytesPerItem + kRecordsPerItem * workload.item_bytes();
  double items = static_cast<double>(workload.items);
  if (workload.replay) items = static_cast<double>(workload.replay->size());
  const double seconds =
      std::chrono::duration<double>(settings.drive.duration + settings.drive.warmup).count() *
      settings.rounds * (settings.sweep ? 10 : 1);
  const double inserts =
      kInsertsPerSecond * settings.drive.clients * workload.mix[Kind::kInsert] * seconds;
  const double machine =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double needed = items * item;
  const double wanted = needed + std::min(inserts * item, std::max(0.0, machine / 2 - needed));
  return settings.server.own.shards * kServerBytes + static_cast<uint64_t>(wanted);
}

Outcome FillServer(const Given& given, RunSettings* settings) {
  program::OwnServerOptions& own = settings->server.own;
  settings->server.uri = given.Text("server");
  if (given.Has("server") && settings->server.uri.empty()) {
    return given.Invalid("--server is empty: name a server's URI");
  }
  for (const char* name : {"plovd", "listen", "shards", "memory", "bucket-bytes", "spin-us"}) {
    if (given.Has(name) && given.Has("server")) {
      return given.Invalid(fmt::format("--{} is for a server of the tool's own", name));
    }
  }
  if (given.Has("server")) {
    return given.On("hugepages") ? given.Invalid("--hugepages is for a server of the tool's own")
                                 : Outcome();
  }
  if (settings->phases == RunSettings::Phases::kLoad) {
    return given.Invalid("--load needs --server: a server of the tool's own ends with it");
  }
  if (auto found = FillPlovd(given, &own.plovd); !found) return found;
  own.listen = given.Text("listen");
  own.spin_us = program::kPlovdSpinUs;
  own.huge_pages = given.On("hugepages");
  const Workload& workload = settings->workload;
  own.max_value_bytes =
      std::max<uint64_t>(1 << 20, workload.replay ? workload.replay->value_bytes_most()
                                                  : workload.shape.value_bytes_most);
  const Outcome filled = AllOf({given.Fill("shards", 1, kShardsMax, &own.shards),
                                given.Fill("spin-us", 0, kSpinUsMax, &own.spin_us)});
  if (!filled) return filled;
  if (given.Has("bucket-bytes")) {
    const auto bucket_bytes = ParseBucketBytes(given.Text("bucket-bytes"));
    if (!bucket_bytes) return given.Invalid("--bucket-bytes is auto, 64 or 128");
    own.bucket_bytes = *bucket_bytes;
  }
  own.memory_bytes = MemoryBytes(*settings);
  return given.Fill("memory", 16 << 20, UINT64_MAX >> 16, &own.memory_bytes);
}

Outcome FillPhases(const Given& given, RunSettings* settings) {
  if (given.On("load") && given.On("no-load")) {
    return given.Invalid("--load stores items and ends, --no-load stores none: not both");
  }
  if (given.On("load") && given.Has("replay")) {
    return given.Invalid("--load and --replay: a replay stores what it says, and nothing before");
  }
  if (given.On("load")) settings->phases = RunSettings::Phases::kLoad;
  if (given.On("no-load") || given.Has("replay")) settings->phases = RunSettings::Phases::kRun;
  return {};
}

Outcome FillTimes(const Given& given, RunSettings* settings) {
  DriveOptions& drive = settings->drive;
  const bool quick = given.On("quick");
  const bool once = given.Has("replay") && !given.Has("duration");
  if (!once) {
    drive.duration = quick ? std::chrono::microseconds(kQuickDuration) : kDuration;
    drive.warmup = quick ? std::chrono::microseconds(kQuickWarmup) : kWarmup;
  }
  if (given.Has("replay")) drive.warmup = {};
  if (given.Has("replay") && given.Has("warmup")) {
    return given.Invalid("--warmup and --replay: its requests are done once, and measured");
  }
  if (once && given.On("sweep")) return given.Invalid("--sweep of a replay needs --duration");
  if (auto filled = given.FillDuration("duration", kDurationMax, &drive.duration); !filled) {
    return filled;
  }
  if (given.Text("warmup") == "0") {
    drive.warmup = {};
    return {};
  }
  return given.FillDuration("warmup", kDurationMax, &drive.warmup);
}

Outcome FillLoad(const Given& given, RunSettings* settings) {
  DriveOptions& drive = settings->drive;
  drive.client.timeout = kTimeout;
  settings->sweep = given.On("sweep");
  if (settings->sweep && given.Has("rate")) {
    return given.Invalid("--sweep finds its rates itself: leave --rate out");
  }
  if (given.Has("rate")) {
    const auto rate = ParseDecimal(given.Text("rate"));
    if (!rate || !(*rate >= 1) || *rate > kRateMax) {
      return given.Invalid(
          fmt::format("--rate '{}' is not a number of operations a second, 1 to {}",
                      given.Text("rate"), kRateMax));
    }
    drive.rate = *rate;
  }
  return AllOf({given.Fill("clients", 1, kClientsMax, &drive.clients),
                given.Fill("window", 1, kWindowMax, &drive.window),
                given.Fill("rounds", 1, kRoundsMax, &settings->rounds),
                given.Fill("location-cache", 0, kCacheBytesMax, &drive.client.location_cache_bytes),
                FillTimes(given, settings), FillOutput(given, settings)});
}

Outcome FillSettings(const Given& given, RunSettings* settings) {
  if (auto filled = FillWorkload(given, &settings->workload); !filled) return filled;
  for (const auto fill : {FillPhases, FillLoad, FillServer}) {
    if (auto filled = fill(given, settings); !filled) return filled;
  }
  return {};
}

Outcome RunRun(const Given& given, program::Output* output) {
  Outcome shown = MeasureAndShow<FillSettings, StudyRun>(given, output);
  if (!shown && shown.error().code == Code::kNoSpace) {
    shown.error().message += ": give the server more --memory";
  }
  return shown;
}

}  // namespace

const Command kRunCommand = {
    "run",
    "a load of many clients on a server: YCSB's, HERD's, Twitter's, your own",
    OptionsOf<RunSettings>,
    {{"workload", "NAME", fmt::format("{} (ycsb-b)", kPresetNames)},
     {"replay", "FILE", "requests, one a line, instead of a workload"},
     {"items", "N", "items at first (what makes half a GiB, a million at most)"},
     {"key-bytes", "N", "size of keys, 8 to 1024 (the workload's)"},
     {"value-bytes", "N", "size of values, up to 16M, or LEAST..MOST (the workload's)"},
     {"distribution", "uniform|zipfian|latest", "of requests over items (the workload's)"},
     {"exponent", "NUMBER", "of zipfian and latest, over 0 (the workload's)"},
     {"reads", "PERCENT", "GETs; all else are PUTs (the workload's mix)"},
     {"clients", "N", "processes, 1 to 256 (1)"},
     {"window", "N", "operations that a client hands over together, 1 to 256 (1)"},
     {"rate", "N",
      "operations a second of all clients, begun when they are due (as fast as they go)"},
     {"sweep", "", "as fast as they go, then at parts of that rate: latency against load"},
     {"duration", "DURATION", "of each measurement (5s; of a replay, once through the file)"},
     {"warmup", "DURATION", "before it, not measured; 0: none (1s)"},
     {"rounds", "N", "measurements, whose median rate is shown (1)"},
     {"location-cache", "SIZE", "a client's memory for where items are; 0: none (16M)"},
     {"load", "", "store the items on --server, and end"},
     {"no-load", "", "store none: --load has stored them"},
     {"server", "URI", "the server (one of its own, which ends with it)"},
     {"plovd", "PATH", "program of its own server (found beside this one, else in PATH)"},
     {"listen", "URI", "where its own server listens (a socket in a folder of its own)"},
     {"shards", "N", "of its own server, 1 to 64 (1)"},
     {"memory", "SIZE", "of its own server (enough for the items)"},
     {"bucket-bytes", "auto|64|128", "of its own server (auto)"},
     {"spin-us", "N", "of its own server (50)"},
     {"hugepages", "", "of its own server"}},
    RunRun};

}  // namespace plov::bench
