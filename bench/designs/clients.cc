#include "bench/designs/clients.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "bench/load/process_pool.h"

namespace plov::bench {

namespace {

using std::chrono::microseconds;

constexpr uint32_t kWarmupPart = 4;  // of the duration, before it
// After so long it says that it is alive.
constexpr microseconds kTurn = std::chrono::seconds(1);

class ClientsBench {
 public:
  ClientsBench(const DesignsSettings& settings, const DesignServers& servers,
               const DesignLoad& load)
      : settings_(settings), servers_(servers), load_(load) {}

  Outcome MeasureRow(DesignClientsRow* row) const;

 private:
  std::expected<program::Json, Error> BeClient(const DesignClientsRow& row, uint32_t index,
                                               Shared* shared) const;
  std::expected<SideResult, Error> GetFor(Side* side, microseconds duration, Slot* slot) const;

  const DesignsSettings& settings_;
  const DesignServers& servers_;
  const DesignLoad& load_;
};

// The clock stops between turns.
std::expected<SideResult, Error> ClientsBench::GetFor(Side* side, microseconds duration,
                                                      Slot* slot) const {
  SideResult sum;
  for (auto left = duration; left.count() > 0; left -= std::min(left, kTurn)) {
    const auto result = side->Measure(settings_.window, std::min(left, kTurn));
    if (!result) return result;
    sum.gets += result->gets;
    sum.seconds += result->seconds;
    slot->operations.fetch_add(result->gets, std::memory_order_relaxed);
  }
  return sum;
}

std::expected<program::Json, Error> ClientsBench::BeClient(const DesignClientsRow& row,
                                                           uint32_t index, Shared* shared) const {
  Slot& slot = shared->slots[index];
  const ClientPlace place = {.first = load_.order.size() * index / row.clients,
                             .learned = [&slot](size_t items) {
                               slot.operations.fetch_add(items, std::memory_order_relaxed);
                             }};
  const auto side = servers_.Connect(row.work, load_, place);
  if (!side) return std::unexpected(side.error());
  const auto warm =
      GetFor(side->get(), std::max(settings_.duration / kWarmupPart, microseconds(1)), &slot);
  if (!warm) return std::unexpected(warm.error());
  AwaitStart(shared);
  const auto result = GetFor(side->get(), settings_.duration, &slot);
  if (!result) return std::unexpected(result.error());
  return program::Json{{"gets", result->gets}, {"seconds", result->seconds}};
}

Outcome ClientsBench::MeasureRow(DesignClientsRow* row) const {
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
  double gets = 0;
  double per_second = 0;
  for (const program::Json& result : *results) {
    gets += result.at("gets").get<double>();
    per_second += result.at("gets").get<double>() / result.at("seconds").get<double>();
  }
  row->per_second.Add(per_second);
  row->server_cpu_us.Add(static_cast<double>((*cpu_after - *cpu_before).count()) / 1e3 / gets);
  return {};
}

std::vector<DesignClientsRow> RowsOf(const DesignsSettings& settings) {
  std::vector<DesignClientsRow> rows;
  const auto add = [&rows](const DesignWork& work, uint32_t clients) {
    DesignClientsRow row;
    row.work = work;
    row.clients = clients;
    rows.push_back(std::move(row));
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

}  // namespace

std::expected<std::vector<DesignClientsRow>, Error> MeasureClients(const DesignsSettings& settings,
                                                                   const DesignServers& servers,
                                                                   const DesignLoad& load) {
  const ClientsBench bench(settings, servers, load);
  std::vector<DesignClientsRow> rows = RowsOf(settings);
  for (uint32_t round = 0; round < settings.rounds; ++round) {
    for (DesignClientsRow& row : rows) {
      if (auto measured = bench.MeasureRow(&row); !measured) {
        return std::unexpected(measured.error());
      }
    }
  }
  return rows;
}

}  // namespace plov::bench
