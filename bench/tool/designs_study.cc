#include "bench/tool/designs_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "bench/designs/serve.h"
#include "bench/designs/side.h"
#include "bench/tool/sockets.h"
#include "torture/own_server.h"
#include "torture/scratch.h"

namespace plov::bench {

namespace {

constexpr uint64_t kServerBytes = uint64_t{32} << 20;  // besides the items
constexpr uint64_t kBytesPerItem = 512;                // besides the value; generous
constexpr size_t kEmulations = 4;                      // the first of kDesignNames

class DesignsBench {
 public:
  explicit DesignsBench(const DesignsSettings& settings) { study_.settings = settings; }
  ~DesignsBench() {
    sides_.clear();
    server_.reset();
    if (!folder_.empty()) torture::RemoveFolder(folder_);
  }
  DesignsBench(const DesignsBench&) = delete;
  DesignsBench& operator=(const DesignsBench&) = delete;

  std::expected<DesignsStudy, Error> Run();

 private:
  Outcome FindPlaces();
  std::expected<std::string, Error> UriOf(size_t design) const;
  Outcome StartPlovd(uint32_t value_bytes);
  Outcome StartSides(uint32_t value_bytes);
  Outcome MeasureSides(uint32_t value_bytes);
  Outcome MeasureRow(DesignRow* row);

  DesignsStudy study_;
  std::string host_;  // of RDMA URIs
  std::string folder_;
  std::optional<torture::Janitor> janitor_;
  std::optional<DesignLoad> load_;
  std::optional<torture::OwnServer> server_;
  std::vector<std::unique_ptr<Side>> sides_;  // as kDesignNames
};

Outcome DesignsBench::FindPlaces() {
  const DesignsSettings& settings = study_.settings;
  study_.fabric = settings.is_rdma ? "rdma" : "shm";
  if (settings.is_rdma) {
    const auto device = FindDevice(settings.device);
    if (!device) return std::unexpected(device.error());
    study_.device = device->name;
    if (device->address.empty()) {
      return Fail(Code::kUnavailable, device->name + " has no IP address: name it by --address");
    }
    const bool is_ipv6 = device->address.find(':') != std::string::npos;
    host_ = is_ipv6 ? "[" + device->address + "]" : device->address;
  }
  auto folder = torture::MakeFolder(torture::Place::kDisk, "plov-bench");
  if (!folder) return std::unexpected(folder.error());
  folder_ = std::move(*folder);
  auto janitor = torture::Janitor::Start([path = folder_] { torture::RemoveFolder(path); });
  if (!janitor) return std::unexpected(janitor.error());
  janitor_.emplace(std::move(*janitor));
  return {};
}

std::expected<std::string, Error> DesignsBench::UriOf(size_t design) const {
  if (!study_.settings.is_rdma) return fmt::format("shm:{}/{}.sock", folder_, design);
  const auto port = FreePort();
  if (!port) return std::unexpected(port.error());
  return fmt::format("rdma://{}:{}", host_, *port);
}

Outcome DesignsBench::StartPlovd(uint32_t value_bytes) {
  const DesignsSettings& settings = study_.settings;
  auto uri = UriOf(kEmulations);
  if (!uri) return std::unexpected(uri.error());
  torture::OwnServerOptions options;
  options.plovd = settings.plovd;
  options.folder = folder_;
  options.listen = std::move(*uri);
  options.memory_bytes = kServerBytes + settings.items * (kBytesPerItem + value_bytes);
  options.max_value_bytes = value_bytes;
  server_.emplace(options);
  if (auto started = server_->Start(torture::Life::kFirst); !started) return started;
  return StoreItems(server_->uri(), *load_);
}

Outcome DesignsBench::StartSides(uint32_t value_bytes) {
  sides_.clear();
  server_.reset();
  load_.emplace(ItemShape{.value_bytes_least = value_bytes, .value_bytes_most = value_bytes},
                study_.settings.items);
  for (size_t design = 0; design < kEmulations; ++design) {
    const auto uri = UriOf(design);
    if (!uri) return std::unexpected(uri.error());
    auto side = StartEmulation(static_cast<Design>(design), *uri, *load_);
    if (!side) return std::unexpected(side.error());
    sides_.push_back(std::move(*side));
  }
  if (auto started = StartPlovd(value_bytes); !started) return started;
  for (const bool remembers : {false, true}) {
    sides_.push_back(OursOn(
        {.uri = server_->uri(), .server_pid = server_->process().pid(), .remembers = remembers},
        *load_));
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
  const auto cpu_before = CpuTimeOf(side.server_pid());
  if (!cpu_before) return std::unexpected(cpu_before.error());
  const auto result = side.Measure(row->window, study_.settings.duration);
  if (!result) return std::unexpected(result.error());
  const auto cpu_after = CpuTimeOf(side.server_pid());
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
  if (auto found = FindPlaces(); !found) return std::unexpected(found.error());
  for (const uint32_t value_bytes : study_.settings.value_bytes) {
    if (auto started = StartSides(value_bytes); !started) return std::unexpected(started.error());
    if (auto measured = MeasureSides(value_bytes); !measured) {
      return std::unexpected(measured.error());
    }
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
