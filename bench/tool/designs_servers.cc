#include "bench/tool/designs_servers.h"

#include <fmt/core.h>

#include <utility>

#include "bench/designs/serve.h"
#include "bench/tool/sockets.h"

namespace plov::bench {

namespace {

constexpr uint64_t kServerBytes = uint64_t{32} << 20;  // besides the items
constexpr uint64_t kBytesPerItem = 512;                // besides the value; generous
constexpr size_t kEmulations = 4;                      // the first of kDesignNames
constexpr size_t kKnown = 5;

}  // namespace

DesignServers::~DesignServers() {
  emulated_.clear();
  plovd_.reset();
  if (!folder_.empty()) torture::RemoveFolder(folder_);
}

Outcome DesignServers::Prepare() {
  if (settings_.is_rdma) {
    const auto device = FindDevice(settings_.device);
    if (!device) return std::unexpected(device.error());
    device_ = device->name;
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

std::expected<std::string, Error> DesignServers::UriOf(size_t design) const {
  if (!settings_.is_rdma) return fmt::format("shm:{}/{}.sock", folder_, design);
  const auto port = FreePort();
  if (!port) return std::unexpected(port.error());
  return fmt::format("rdma://{}:{}", host_, *port);
}

Outcome DesignServers::StartPlovd(uint32_t value_bytes) {
  auto uri = UriOf(kEmulations);
  if (!uri) return std::unexpected(uri.error());
  torture::OwnServerOptions options;
  options.plovd = settings_.plovd;
  options.folder = folder_;
  options.listen = std::move(*uri);
  options.memory_bytes = kServerBytes + settings_.items * (kBytesPerItem + value_bytes);
  options.max_value_bytes = value_bytes;
  plovd_.emplace(options);
  return plovd_->Start(torture::Life::kFirst);
}

Outcome DesignServers::Start(uint32_t value_bytes) {
  emulated_.clear();
  plovd_.reset();
  for (size_t design = 0; design < kEmulations; ++design) {
    auto uri = UriOf(design);
    if (!uri) return std::unexpected(uri.error());
    auto process = StartDesignServer(
        {.uri = *uri,
         .design = static_cast<Design>(design),
         .shape = {.value_bytes_least = value_bytes, .value_bytes_most = value_bytes},
         .items = settings_.items});
    if (!process) return std::unexpected(process.error());
    emulated_.push_back({std::move(*uri), std::move(*process)});
  }
  return StartPlovd(value_bytes);
}

std::expected<std::unique_ptr<Side>, Error> DesignServers::Connect(size_t design,
                                                                   const DesignLoad& load,
                                                                   const ClientPlace& place) const {
  if (design < kEmulations) {
    return ConnectEmulation(
        {.design = static_cast<Design>(design), .uri = emulated_[design].uri, .first = place.first},
        load);
  }
  return OursOn({.uri = plovd_uri(),
                 .remembers = design == kKnown,
                 .first = place.first,
                 .learned = place.learned},
                load);
}

std::expected<std::chrono::nanoseconds, Error> DesignServers::CpuTime(size_t design) const {
  return CpuTimeOf(design < kEmulations ? emulated_[design].process.pid()
                                        : plovd_->process().pid());
}

}  // namespace plov::bench
