#include "bench/designs/study.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/designs/side.h"
#include "bench/load/process_pool.h"

namespace plov::bench {

namespace {

class DesignsBench {
 public:
  explicit DesignsBench(const DesignsSettings& settings) : servers_(study_.settings) {
    study_.settings = settings;
  }
  std::expected<DesignsStudy, Error> Run();

 private:
  Outcome StoreFromChild() const;
  Outcome MeasureManyClients();
  Outcome ConnectSides();
  Outcome MeasureSides(uint32_t value_bytes);
  Outcome MeasureRow(DesignRow* row);

  DesignsStudy study_;
  DesignServers servers_;
  std::optional<DesignLoad> load_;
  std::vector<std::unique_ptr<Side>> sides_;  // as kDesignNames
};

// Of the first size of values. Clients are forked: this process has not connected to anything yet,
// for connections over RDMA do not go well with fork.
Outcome DesignsBench::MeasureManyClients() {
  auto rows = MeasureClients(study_.settings, servers_, *load_);
  if (!rows) return std::unexpected(rows.error());
  study_.clients = std::move(*rows);
  return {};
}

Outcome DesignsBench::StoreFromChild() const {
  const auto stored = RunPool({}, [&](uint32_t, Shared*) -> std::expected<program::Json, Error> {
    for (const std::string& uri : servers_.plovd_uris()) {
      auto outcome = StoreItems(uri, *load_);
      if (!outcome) return std::unexpected(outcome.error());
    }
    return program::Json::object();
  });
  return stored ? Outcome() : std::unexpected(stored.error());
}

Outcome DesignsBench::ConnectSides() {
  for (size_t design = 0; design < kDesignNames.size(); ++design) {
    auto side = servers_.Connect({.design = design}, *load_, {});
    if (!side) return std::unexpected(side.error());
    sides_.push_back(std::move(*side));
  }
  return {};
}

Outcome DesignsBench::MeasureRow(DesignRow* row) {
  Side& side = *sides_[row->design];
  // The first measurement connects and remembers: outside of the server's account.
  if (row->per_second.empty()) {
    const auto first = side.Measure(row->window, std::chrono::microseconds(1));
    if (!first) return std::unexpected(first.error());
  }
  const auto cpu_before = servers_.CpuTime({.design = row->design});
  if (!cpu_before) return std::unexpected(cpu_before.error());
  const auto result = side.Measure(row->window, study_.settings.duration);
  if (!result) return std::unexpected(result.error());
  const auto cpu_after = servers_.CpuTime({.design = row->design});
  if (!cpu_after) return std::unexpected(cpu_after.error());
  const auto gets = static_cast<double>(result->gets);
  row->per_second.Add(gets / result->seconds);
  row->reads.Add(static_cast<double>(result->reads) / gets);
  row->bytes.Add(static_cast<double>(result->bytes) / gets);
  row->server_cpu_us.Add(static_cast<double>((*cpu_after - *cpu_before).count()) / 1e3 / gets);
  if (row->window > 1) return {};
  row->median_us.Add(static_cast<double>(result->latency.Percentile(0.5)) / 1e3);
  row->p99_us.Add(static_cast<double>(result->latency.Percentile(0.99)) / 1e3);
  return {};
}

Outcome DesignsBench::MeasureSides(uint32_t value_bytes) {
  const uint32_t window = study_.settings.window;
  const bool is_first = study_.rows.empty();
  const size_t first = study_.rows.size();
  for (const uint32_t one : WindowsUpTo(window)) {
    if (!is_first && one != 1 && one != window) continue;
    for (size_t design = 0; design < kDesignNames.size(); ++design) {
      DesignRow row;
      row.design = design;
      row.value_bytes = value_bytes;
      row.window = one;
      study_.rows.push_back(std::move(row));
    }
  }
  for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
    for (size_t i = first; i < study_.rows.size(); ++i) {
      if (auto measured = MeasureRow(&study_.rows[i]); !measured) return measured;
    }
  }
  return {};
}

std::expected<DesignsStudy, Error> DesignsBench::Run() {
  if (auto found = servers_.Prepare(); !found) return std::unexpected(found.error());
  study_.fabric = study_.settings.is_rdma ? "rdma" : "shm";
  study_.device = servers_.device();
  for (const uint32_t value_bytes : study_.settings.value_bytes) {
    const bool is_first = study_.rows.empty();
    sides_.clear();
    Outcome outcome = servers_.Start(value_bytes);
    if (outcome && is_first) outcome = servers_.StartMore(value_bytes);
    if (!outcome) return std::unexpected(outcome.error());
    load_.emplace(ItemShape{.value_bytes_least = value_bytes, .value_bytes_most = value_bytes},
                  study_.settings.items);
    outcome = StoreFromChild();
    if (outcome && is_first) outcome = MeasureManyClients();
    if (outcome) outcome = ConnectSides();
    if (outcome) outcome = MeasureSides(value_bytes);
    if (!outcome) return std::unexpected(outcome.error());
  }
  return std::move(study_);
}

}  // namespace

const DesignRow* DesignsStudy::Find(size_t design, uint32_t value_bytes, uint32_t window) const {
  const auto found = std::ranges::find_if(rows, [&](const DesignRow& row) {
    return row.design == design && row.value_bytes == value_bytes && row.window == window;
  });
  return found == rows.end() ? nullptr : &*found;
}

const DesignClientsRow* DesignsStudy::FindClients(const DesignWork& work, uint32_t count) const {
  const auto found = std::ranges::find_if(clients, [&](const DesignClientsRow& row) {
    return row.work == work && row.clients == count;
  });
  return found == clients.end() ? nullptr : &*found;
}

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
