#include "bench/designs/study.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "bench/designs/side.h"
#include "bench/load/process_pool.h"

namespace plov::bench {

namespace {

using std::chrono::microseconds;

constexpr uint32_t kWarmupPart = 4;  // of the duration, before it
// After so long a client says that it is alive.
constexpr microseconds kTurn = std::chrono::seconds(1);

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

// The clock stops between turns.
std::expected<SideResult, Error> GetFor(Side* side, uint32_t window, microseconds duration,
                                        Slot* slot) {
  SideResult sum;
  for (auto left = duration; left.count() > 0; left -= std::min(left, kTurn)) {
    const auto result = side->Measure(window, std::min(left, kTurn));
    if (!result) return result;
    sum.Add(*result);
    slot->operations.fetch_add(result->gets, std::memory_order_relaxed);
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
        auto outcome = StoreItems(uri, *load_);
        if (!outcome) return std::unexpected(outcome.error());
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
    load_.emplace(ItemShape{.value_bytes_least = value_bytes, .value_bytes_most = value_bytes},
                  settings.items);
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
        RunPool({.members = row->clients,
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
    Slot& slot = shared->slots[index];
    const microseconds duration = study_.settings.duration;
    const ClientPlace place = {.first = load_->order.size() * index / row.clients,
                               .learned = [&slot](size_t items) {
                                 slot.operations.fetch_add(items, std::memory_order_relaxed);
                               }};
    const auto side = servers_.Connect(row.work, *load_, place);
    if (!side) return std::unexpected(side.error());
    const auto warm =
        GetFor(side->get(), row.window, std::max(duration / kWarmupPart, microseconds(1)), &slot);
    if (!warm) return std::unexpected(warm.error());
    AwaitStart(shared);
    const auto result = GetFor(side->get(), row.window, duration, &slot);
    if (!result) return std::unexpected(result.error());
    return program::Json{{"gets", result->gets},
                         {"seconds", result->seconds},
                         {"reads", result->reads},
                         {"bytes", result->bytes},
                         {"latency", result->latency.Counts()}};
  }

  DesignsStudy study_;
  DesignServers servers_;
  std::optional<DesignLoad> load_;
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
