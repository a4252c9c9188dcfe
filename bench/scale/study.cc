#include "bench/scale/study.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "bench/load/driver.h"
#include "bench/shared/tested_server.h"
#include "fabric/os.h"
#include "program/format.h"
#include "program/progress.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

constexpr uint64_t kPayloadMax = uint64_t{1} << 30;  // of values that are larger than usual
constexpr uint64_t kItemsMin = 1000;                 // else all are in the processor's cache
constexpr uint64_t kCacheMax = uint64_t{2} << 30;
// 32 bytes a location, in a cache that is half full.
constexpr uint64_t kCacheBytesPerItem = 64;
// A bucket of 64 bytes, in a table that is half full after it has grown, and half of another that
// is grown from.
constexpr uint64_t kTableBytesPerItem = 192;
constexpr uint64_t kBytesPerShard = uint64_t{64} << 20;
constexpr uint64_t kBytesPerClient = uint64_t{16} << 20;

// What an axis changes, and where.
struct Places {
  uint64_t ScalePoint::*member;
  std::vector<uint64_t> places;
  std::vector<uint64_t> quick_places;
};

const Places& PlacesOf(ScaleAxis axis) {
  static const std::array<Places, kScaleAxisNames.size()> kPlaces = {
      {{&ScalePoint::items, {10'000, 100'000, 1'000'000, 10'000'000, 100'000'000}, {1000, 10'000}},
       {&ScalePoint::value_bytes, {8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20}, {8, 4096}},
       {&ScalePoint::clients, {1, 2, 4, 8}, {1, 2}},
       {&ScalePoint::shards, {1, 2, 4}, {1, 2}}}};
  return kPlaces.at(static_cast<size_t>(axis));
}

std::vector<ScalePoint> PointsAt(ScaleAxis axis, const ScalePoint& base,
                                 const std::vector<uint64_t>& places) {
  std::vector<ScalePoint> points;
  for (const uint64_t place : places) {
    ScalePoint point = base;
    point.*PlacesOf(axis).member = place;
    if (axis == ScaleAxis::kValues) {
      const uint64_t fit = kPayloadMax / (ScalePoint::kKeyBytes + place);
      point.items = std::min(point.items, std::max(kItemsMin, fit));
    }
    points.push_back(point);
  }
  return points;
}

constexpr std::chrono::seconds kTimeout{30};  // as many clients as processors, and more
constexpr std::chrono::milliseconds kWarmup{100};
// So that a client meets nearly every item: three times as many GETs, of so many a second, one at a
// time, for each processor that the clients share.
constexpr uint64_t kMeetsPerItem = 3;
constexpr uint64_t kMeetsPerSecond = 750'000;
constexpr std::chrono::seconds kMeetingMax{15};
constexpr uint32_t kLoadersMax = 4;

std::chrono::microseconds WarmupOf(const ScalePoint& point, const Pace& pace) {
  if (!pace.knows) return kWarmup;
  const uint64_t processors = fabric::ProcessorCount();
  const uint64_t turns = (point.clients + processors - 1) / processors;
  const std::chrono::microseconds meeting(point.items * kMeetsPerItem * turns * 1'000'000 /
                                          kMeetsPerSecond);
  return std::clamp<std::chrono::microseconds>(meeting, kWarmup, kMeetingMax);
}

Workload WorkloadOf(const ScalePoint& point, Kind kind) {
  Workload workload;
  workload.name = "scale";
  workload.shape = {.key_bytes = ScalePoint::kKeyBytes,
                    .value_bytes_least = static_cast<uint32_t>(point.value_bytes),
                    .value_bytes_most = static_cast<uint32_t>(point.value_bytes)};
  workload.items = point.items;
  workload.mix[kind] = 1;
  return workload;
}

double Us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

class PointBench {
 public:
  PointBench(const ScaleSettings& settings, ScaleRow* row) : settings_(settings), row_(*row) {}

  Outcome Run() {
    TestedServerOptions options;
    options.own.plovd = settings_.plovd;
    options.own.memory_bytes = row_.point.server_bytes();
    options.own.max_value_bytes = std::max<uint64_t>(row_.point.value_bytes, 4096);
    options.own.spin_us = program::kPlovdSpinUs;
    options.own.shards = static_cast<uint32_t>(row_.point.shards);
    auto server = TestedServer::Start(options);
    if (!server) return std::unexpected(server.error());
    server_ = std::move(*server);
    if (auto loaded = Load(); !loaded) return loaded;
    for (uint32_t round = 0; round < settings_.rounds; ++round) {
      for (size_t i = 0; i < kPaces.size(); ++i) {
        if (auto measured = Measure(kPaces[i], &row_.paces[i]); !measured) return measured;
      }
    }
    return {};
  }

 private:
  Outcome Load() {
    program::Progress progress;
    DriveOptions options;
    options.uri = server_->uri();
    options.clients = std::clamp(fabric::ProcessorCount(), 1u, kLoadersMax);
    options.client.timeout = kTimeout;
    options.progress = [&](uint64_t items, uint64_t bytes) { progress.Show(items, bytes); };
    const auto loaded = bench::Load(WorkloadOf(row_.point, Kind::kGet), options);
    progress.Clear();
    if (!loaded) return loaded;
    row_.load_seconds = progress.seconds();
    const auto memory = server_->Memory();
    if (!memory) return std::unexpected(memory.error());
    if (memory->items != row_.point.items) {
      return Fail(Code::kCorrupt, fmt::format("{} items were stored, the server has {}",
                                              row_.point.items, memory->items));
    }
    row_.memory_per_item =
        static_cast<double>(memory->used_bytes) / static_cast<double>(memory->items);
    return {};
  }

  Outcome Measure(const Pace& pace, PaceResult* to) {
    DriveOptions options;
    options.uri = server_->uri();
    options.clients = static_cast<uint32_t>(row_.point.clients);
    options.window = pace.many ? kScaleWindow : 1;
    options.warmup = WarmupOf(row_.point, pace);
    options.duration = settings_.duration;
    options.client.timeout = kTimeout;
    options.client.location_cache_bytes = pace.knows ? row_.point.cache_bytes() : 0;
    std::optional<double> before;
    std::optional<double> after;
    options.before = [&] { before = server_->CpuSeconds(); };
    options.after = [&] { after = server_->CpuSeconds(); };
    const Kind kind = pace.puts ? Kind::kPut : Kind::kGet;
    const auto result = Drive(WorkloadOf(row_.point, kind), options);
    if (!result) return std::unexpected(result.error());
    if (result->misses > 0 || result->refused > 0) {
      return Fail(Code::kCorrupt, fmt::format("{} of the stored items were not found",
                                              result->misses + result->refused));
    }
    const Histogram latency = result->latency();
    to->per_second.Add(result->per_second);
    to->p50_us.Add(Us(latency.Percentile(0.5)));
    to->p99_us.Add(Us(latency.Percentile(0.99)));
    if (!pace.puts) to->reads.Add(result->reads_per_get());
    const auto operations = static_cast<double>(result->operations());
    if (before && after && operations > 0) {
      to->server_cpu_us.Add((*after - *before) * 1e6 / operations);
    }
    return {};
  }

  const ScaleSettings& settings_;
  ScaleRow& row_;
  std::unique_ptr<TestedServer> server_;
};

std::string SkippedOf(const ScalePoint& point, const ScaleSettings& settings) {
  if (point.need_bytes() <= settings.memory_bytes) return {};
  return fmt::format("needs about {}, --memory is {}", program::Bytes(point.need_bytes()),
                     program::Bytes(settings.memory_bytes));
}

void Announce(const ScaleStudy& study, const ScaleRow& row) {
  if (::isatty(STDERR_FILENO) != 1) return;
  const ScalePoint& point = row.point;
  fmt::print(stderr, "point {} of {}: {} items, values of {}, {} clients, {} shards\n",
             &row - study.rows.data() + 1, study.rows.size(), program::Grouped(point.items),
             program::Bytes(point.value_bytes), point.clients, point.shards);
}

}  // namespace

uint64_t ScalePoint::On(ScaleAxis axis) const { return this->*PlacesOf(axis).member; }

uint64_t ScalePoint::cache_bytes() const {
  return std::clamp(items * kCacheBytesPerItem, uint64_t{1} << 20, kCacheMax);
}

// Twice, for what PUTs have made obsolete until it is cleaned.
uint64_t ScalePoint::server_bytes() const {
  return shards * kBytesPerShard +
         2 * items * (verify::RecordBytes(kKeyBytes, value_bytes) + kTableBytesPerItem);
}

uint64_t ScalePoint::need_bytes() const {
  const uint64_t records = items * verify::RecordBytes(kKeyBytes, value_bytes);
  return shards * kBytesPerShard + records + records / 8 + items * kTableBytesPerItem +
         clients * (cache_bytes() + kBytesPerClient);
}

std::vector<ScalePoint> PointsOf(ScaleAxis axis, uint64_t memory_bytes) {
  auto points = PointsAt(axis, {}, PlacesOf(axis).places);
  if (axis != ScaleAxis::kItems || points.back().need_bytes() <= memory_bytes) return points;
  for (const uint64_t items : {50'000'000ul, 20'000'000ul}) {
    const ScalePoint point{.items = items};
    if (point.need_bytes() > memory_bytes) continue;
    points.insert(points.end() - 1, point);
    break;
  }
  return points;
}

std::vector<ScalePoint> QuickPointsOf(ScaleAxis axis) {
  return PointsAt(axis, {.items = 1000}, PlacesOf(axis).quick_places);
}

std::vector<ScalePoint> PointsOf(ScaleAxis axis, const ScaleSettings& settings) {
  return settings.quick ? QuickPointsOf(axis) : PointsOf(axis, settings.memory_bytes);
}

std::vector<const ScaleRow*> ScaleStudy::RowsOf(ScaleAxis axis) const {
  std::vector<const ScaleRow*> found;
  for (const ScalePoint& point : PointsOf(axis, settings)) {
    const auto row = std::ranges::find(rows, point, &ScaleRow::point);
    if (row != rows.end()) found.push_back(&*row);
  }
  return found;
}

std::expected<ScaleStudy, Error> StudyScale(const ScaleSettings& settings) {
  ScaleStudy study{.settings = settings, .rows = {}};
  for (const ScaleAxis axis : settings.axes) {
    for (const ScalePoint& point : PointsOf(axis, settings)) {
      if (std::ranges::find(study.rows, point, &ScaleRow::point) != study.rows.end()) continue;
      study.rows.push_back({.point = point, .skipped = SkippedOf(point, settings)});
    }
  }
  for (ScaleRow& row : study.rows) {
    if (!row.skipped.empty()) continue;
    Announce(study, row);
    if (auto measured = PointBench(settings, &row).Run(); !measured) {
      return std::unexpected(measured.error());
    }
  }
  return study;
}

}  // namespace plov::bench
