#include "bench/designs/study.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "bench/designs/serve.h"
#include "bench/designs/side.h"
#include "bench/load/process_pool.h"
#include "bench/peers/plov.h"
#include "bench/shared/scratch_folder.h"
#include "program/own_server.h"
#include "program/process.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

using std::chrono::microseconds;

constexpr uint64_t kShardBytes = uint64_t{32} << 20;  // besides the items
constexpr uint64_t kBytesPerItem = 512;               // besides the value; generous
constexpr uint32_t kWarmupPart = 4;                   // of the duration, before it
// After so long a client says that it is alive.
constexpr microseconds kReportEvery = std::chrono::seconds(1);

struct ClientPlace {
  size_t first = 0;                           // where in the work's order it begins
  std::function<void(size_t items)> learned;  // see OursOptions
};

// Servers of each design with the same items, and the ways to them.
class DesignServers {
 public:
  explicit DesignServers(const DesignsSettings& settings) : settings_(settings) {}

  // A folder and, for RDMA, a device. Once. Errors: kUnavailable (no device), kSystem.
  Outcome Prepare() {
    if (settings_.is_rdma) {
      auto device = FindServingDevice(settings_.device);
      if (!device) return std::unexpected(device.error());
      device_ = std::move(*device);
    }
    auto folder = ScratchFolder::Make();
    if (!folder) return std::unexpected(folder.error());
    folder_.emplace(std::move(*folder));
    return {};
  }

  const std::string& device() const { return device_.name; }  // empty: no RDMA

  // Ends those that run, and starts one of each design, with items of this size; plovd is empty.
  Outcome Start(uint32_t value_bytes) {
    servers_.clear();
    for (size_t design = 0; design < kColdDesign; ++design) {
      if (auto started = StartEmulated(design, 1, value_bytes); !started) return started;
    }
    if (auto started = StartPlovd(kColdDesign, 1, value_bytes); !started) return started;
    return StartPlovd(kCold64Design, 1, value_bytes);
  }

  // Another of HERD's, and another plovd, empty too, for each number of servers but 1.
  Outcome StartMore(uint32_t value_bytes) {
    for (const uint32_t count : settings_.servers) {
      if (count == 1) continue;
      if (auto started = StartEmulated(kHerdDesign, count, value_bytes); !started) return started;
      if (auto started = StartPlovd(kColdDesign, count, value_bytes); !started) return started;
    }
    return {};
  }

  std::vector<std::string> plovd_uris() const {
    std::vector<std::string> uris;
    for (const Servers& servers : servers_) {
      if (servers.plovd) uris.push_back(servers.uris.front());
    }
    return uris;
  }

  // A client for the work. `items` outlives it.
  std::expected<std::unique_ptr<Side>, Error> Connect(const DesignWork& work, const Work& items,
                                                      const ClientPlace& place) const {
    const Servers& servers = ServersOf(work);
    if (!servers.plovd) {
      return ConnectEmulation(
          {.design = static_cast<Design>(work.design), .uris = servers.uris, .first = place.first},
          items);
    }
    return OursOn({.uri = servers.uris.front(),
                   .remembers = RemembersLocations(work.design),
                   .puts = work.puts,
                   .first = place.first,
                   .learned = place.learned},
                  items);
  }

  // That the work's servers have used.
  std::expected<std::chrono::nanoseconds, Error> CpuTime(const DesignWork& work) const {
    const Servers& servers = ServersOf(work);
    if (servers.plovd) return servers.plovd->process().CpuTime();
    std::chrono::nanoseconds sum{0};
    for (const program::Process& process : servers.emulated) {
      const auto time = process.CpuTime();
      if (!time) return time;
      sum += *time;
    }
    return sum;
  }

 private:
  struct Servers {
    size_t design = 0;
    uint32_t count = 1;
    std::vector<std::string> uris = {};
    std::vector<program::Process> emulated = {};
    std::unique_ptr<program::OwnServer> plovd = {};  // instead of those
  };

  std::expected<std::string, Error> NewUri() {
    if (settings_.is_rdma) return FreeUriOn(device_);
    return fmt::format("shm:{}/{}.sock", folder_->path(), uris_++);
  }

  Outcome StartEmulated(size_t design, uint32_t count, uint32_t value_bytes) {
    Servers servers{.design = design, .count = count};
    for (uint32_t number = 0; number < count; ++number) {
      auto uri = NewUri();
      if (!uri) return std::unexpected(uri.error());
      auto process = StartDesignServer(
          {.uri = *uri,
           .design = static_cast<Design>(design),
           .shape = {.value_bytes_least = value_bytes, .value_bytes_most = value_bytes},
           .items = settings_.items,
           .part = {.number = number, .count = count}});
      if (!process) return std::unexpected(process.error());
      servers.uris.push_back(std::move(*uri));
      servers.emulated.push_back(std::move(*process));
    }
    servers_.push_back(std::move(servers));
    return {};
  }

  Outcome StartPlovd(size_t design, uint32_t shards, uint32_t value_bytes) {
    auto uri = NewUri();
    if (!uri) return std::unexpected(uri.error());
    program::OwnServerOptions options;
    options.plovd = settings_.plovd;
    options.folder = fmt::format("{}/plovd{}.{}", folder_->path(), design, shards);
    options.listen = *uri;
    options.memory_bytes =
        shards * kShardBytes + settings_.items * (kBytesPerItem + uint64_t{value_bytes});
    options.max_value_bytes = value_bytes;
    options.shards = shards;
    if (design == kCold64Design) options.bucket_bytes = verify::kBucketBytesMin;
    if (::mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return FailErrno("cannot make the folder " + options.folder, errno);
    }
    Servers servers{.design = design, .count = shards};
    servers.uris.push_back(std::move(*uri));
    servers.plovd = std::make_unique<program::OwnServer>(options);
    if (auto started = servers.plovd->Start(program::Life::kFirst); !started) return started;
    servers_.push_back(std::move(servers));
    return {};
  }

  // There always are some.
  const Servers& ServersOf(const DesignWork& work) const {
    // Who remembers has the servers of who does not.
    const size_t design = RemembersLocations(work.design) ? work.design - 1 : work.design;
    return *std::ranges::find_if(servers_, [&](const Servers& servers) {
      return servers.design == design && servers.count == work.servers;
    });
  }

  const DesignsSettings& settings_;
  DeviceName device_;
  std::optional<ScratchFolder> folder_;
  size_t uris_ = 0;  // made so far
  std::vector<Servers> servers_;
};

// The first size of values has all windows.
std::vector<DesignRow> RowsByWindow(const DesignsSettings& settings, uint32_t value_bytes) {
  const bool is_first = value_bytes == settings.value_bytes.front();
  std::vector<DesignRow> rows;
  for (const uint32_t window : WindowsUpTo(settings.window)) {
    if (!is_first && window != 1 && window != settings.window) continue;
    for (size_t design = 0; design < kDesignNames.size(); ++design) {
      rows.push_back({.work = {.design = design}, .value_bytes = value_bytes, .window = window});
    }
  }
  return rows;
}

std::vector<DesignRow> RowsByClients(const DesignsSettings& settings) {
  std::vector<DesignRow> rows;
  const auto add = [&](const DesignWork& work, uint32_t clients) {
    rows.push_back({.work = work,
                    .value_bytes = settings.value_bytes.front(),
                    .window = settings.window,
                    .clients = clients});
  };
  for (const uint32_t clients : settings.clients) {
    for (size_t design = 0; design < kDesignNames.size(); ++design) {
      add({.design = design}, clients);
    }
  }
  for (const uint32_t servers : settings.servers) {
    // HERD's single server is among the above.
    const uint32_t clients = settings.clients.back();
    if (servers > 1) add({.design = kHerdDesign, .servers = servers}, clients);
    add({.design = kColdDesign, .servers = servers, .puts = true}, clients);
  }
  return rows;
}

// The clock stops between parts.
std::expected<SideResult, Error> GetFor(Side* side, uint32_t window, microseconds duration,
                                        MemberCounts* counts) {
  SideResult sum;
  for (auto left = duration; left.count() > 0; left -= std::min(left, kReportEvery)) {
    const auto result = side->Measure(window, std::min(left, kReportEvery));
    if (!result) return result;
    sum.Add(*result);
    counts->operations.fetch_add(result->gets, std::memory_order_relaxed);
  }
  return sum;
}

// This process connects to nothing: connections over RDMA do not go well with fork.
class DesignsBench {
 public:
  explicit DesignsBench(const DesignsSettings& settings) : servers_(study_.settings) {
    study_.settings = settings;
  }

  std::expected<DesignsStudy, Error> Run() {
    if (auto found = servers_.Prepare(); !found) return std::unexpected(found.error());
    study_.fabric = study_.settings.is_rdma ? "rdma" : "shm";
    study_.device = servers_.device();
    for (const uint32_t value_bytes : study_.settings.value_bytes) {
      if (auto measured = MeasureSize(value_bytes); !measured) {
        return std::unexpected(measured.error());
      }
    }
    return std::move(study_);
  }

 private:
  Outcome Store() const {
    const auto stored = RunPool({}, [&](uint32_t, Shared*) -> std::expected<program::Json, Error> {
      for (const std::string& uri : servers_.plovd_uris()) {
        const auto client = Plov::Connect(*items_, uri);
        if (!client) return std::unexpected(client.error());
        if (auto filled = (*client)->Fill(); !filled) return std::unexpected(filled.error());
      }
      return program::Json::object();
    });
    return stored ? Outcome() : std::unexpected(stored.error());
  }

  // Rounds go over all of it.
  Outcome MeasureSize(uint32_t value_bytes) {
    const DesignsSettings& settings = study_.settings;
    const bool is_first = study_.rows.empty();
    Outcome outcome = servers_.Start(value_bytes);
    if (outcome && is_first) outcome = servers_.StartMore(value_bytes);
    if (!outcome) return outcome;
    items_.emplace(settings.items,
                   ItemShape{.value_bytes_least = value_bytes, .value_bytes_most = value_bytes});
    if (auto stored = Store(); !stored) return stored;
    if (is_first) study_.clients = RowsByClients(settings);
    std::vector<DesignRow> rows = RowsByWindow(settings, value_bytes);
    std::vector<DesignRow*> all;
    for (DesignRow& row : study_.clients) {
      if (is_first) all.push_back(&row);
    }
    for (DesignRow& row : rows) all.push_back(&row);
    for (uint32_t round = 0; round < settings.rounds; ++round) {
      for (DesignRow* row : all) {
        if (auto measured = MeasureRow(row); !measured) return measured;
      }
    }
    study_.rows.insert(study_.rows.end(), rows.begin(), rows.end());
    return {};
  }

  Outcome MeasureRow(DesignRow* row) const {
    std::expected<std::chrono::nanoseconds, Error> cpu_before;
    std::expected<std::chrono::nanoseconds, Error> cpu_after;
    const auto results =
        RunPool({.clients = row->clients,
                 .before = [&] { cpu_before = servers_.CpuTime(row->work); },
                 .after = [&] { cpu_after = servers_.CpuTime(row->work); },
                 .progress = {}},
                [&](uint32_t index, Shared* shared) { return BeClient(*row, index, shared); });
    if (!results) return std::unexpected(results.error());
    if (!cpu_before) return std::unexpected(cpu_before.error());
    if (!cpu_after) return std::unexpected(cpu_after.error());
    double gets = 0, per_second = 0, reads = 0, bytes = 0;
    Histogram latency;
    for (const program::Json& result : *results) {
      gets += result.at("gets").get<double>();
      per_second += result.at("gets").get<double>() / result.at("seconds").get<double>();
      reads += result.at("reads").get<double>();
      bytes += result.at("bytes").get<double>();
      for (const auto& [ns, times] :
           result.at("latency").get<std::vector<std::pair<uint64_t, uint64_t>>>()) {
        latency.Count(ns, times);
      }
    }
    row->per_second.Add(per_second);
    row->reads.Add(reads / gets);
    row->bytes.Add(bytes / gets);
    row->server_cpu_us.Add(static_cast<double>((*cpu_after - *cpu_before).count()) / 1e3 / gets);
    if (row->window > 1) return {};
    row->median_us.Add(static_cast<double>(latency.Percentile(0.5)) / 1e3);
    row->p99_us.Add(static_cast<double>(latency.Percentile(0.99)) / 1e3);
    return {};
  }

  std::expected<program::Json, Error> BeClient(const DesignRow& row, uint32_t index,
                                               Shared* shared) const {
    MemberCounts& counts = shared->counts[index];
    const microseconds duration = study_.settings.duration;
    const ClientPlace place = {.first = items_->count() * index / row.clients,
                               .learned = [&counts](size_t items) {
                                 counts.operations.fetch_add(items, std::memory_order_relaxed);
                               }};
    const auto side = servers_.Connect(row.work, *items_, place);
    if (!side) return std::unexpected(side.error());
    const auto warm =
        GetFor(side->get(), row.window, std::max(duration / kWarmupPart, microseconds(1)), &counts);
    if (!warm) return std::unexpected(warm.error());
    AwaitStart(shared);
    const auto result = GetFor(side->get(), row.window, duration, &counts);
    if (!result) return std::unexpected(result.error());
    return program::Json{{"gets", result->gets},
                         {"seconds", result->seconds},
                         {"reads", result->reads},
                         {"bytes", result->bytes},
                         {"latency", result->latency.Counts()}};
  }

  DesignsStudy study_;
  DesignServers servers_;
  std::optional<Work> items_;
};

}  // namespace

std::vector<uint32_t> WindowsUpTo(uint32_t window) {
  std::vector<uint32_t> windows;
  for (uint32_t one = 1; one < window; one *= 4) windows.push_back(one);
  windows.push_back(window);
  return windows;
}

std::expected<DesignsStudy, Error> StudyDesigns(const DesignsSettings& settings) {
  return DesignsBench(settings).Run();
}

}  // namespace plov::bench
