#include "bench/designs/servers.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bench/designs/serve.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

constexpr uint64_t kShardBytes = uint64_t{32} << 20;  // besides the items
constexpr uint64_t kBytesPerItem = 512;               // besides the value; generous

}  // namespace

Outcome DesignServers::Prepare() {
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

std::expected<std::string, Error> DesignServers::NewUri() {
  if (settings_.is_rdma) return FreeUriOn(device_);
  return fmt::format("shm:{}/{}.sock", folder_->path(), uris_++);
}

Outcome DesignServers::StartEmulated(size_t design, uint32_t count, uint32_t value_bytes) {
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

Outcome DesignServers::StartPlovd(uint32_t shards, uint32_t value_bytes) {
  auto uri = NewUri();
  if (!uri) return std::unexpected(uri.error());
  program::OwnServerOptions options;
  options.plovd = settings_.plovd;
  options.folder = folder_->path() + "/plovd" + std::to_string(shards);
  options.listen = *uri;
  options.memory_bytes =
      shards * kShardBytes + settings_.items * (kBytesPerItem + uint64_t{value_bytes});
  options.max_value_bytes = value_bytes;
  options.shards = shards;
  options.bucket_bytes = verify::kBucketBytesMin;  // as the other designs', with records
  if (::mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return FailErrno("cannot make the folder " + options.folder, errno);
  }
  Servers servers{.design = kColdDesign, .count = shards};
  servers.uris.push_back(std::move(*uri));
  servers.plovd = std::make_unique<program::OwnServer>(options);
  if (auto started = servers.plovd->Start(program::Life::kFirst); !started) return started;
  servers_.push_back(std::move(servers));
  return {};
}

Outcome DesignServers::Start(uint32_t value_bytes) {
  servers_.clear();
  for (size_t design = 0; design < kColdDesign; ++design) {
    if (auto started = StartEmulated(design, 1, value_bytes); !started) return started;
  }
  return StartPlovd(1, value_bytes);
}

Outcome DesignServers::StartMore(uint32_t value_bytes) {
  for (const uint32_t count : settings_.servers) {
    if (count == 1) continue;
    if (auto started = StartEmulated(kHerdDesign, count, value_bytes); !started) return started;
    if (auto started = StartPlovd(count, value_bytes); !started) return started;
  }
  return {};
}

std::vector<std::string> DesignServers::plovd_uris() const {
  std::vector<std::string> uris;
  for (const Servers& servers : servers_) {
    if (servers.plovd) uris.push_back(servers.uris.front());
  }
  return uris;
}

// There always are some.
const DesignServers::Servers& DesignServers::ServersOf(const DesignWork& work) const {
  const size_t design = std::min(work.design, kColdDesign);
  return *std::ranges::find_if(servers_, [&](const Servers& servers) {
    return servers.design == design && servers.count == work.servers;
  });
}

std::expected<std::unique_ptr<Side>, Error> DesignServers::Connect(const DesignWork& work,
                                                                   const DesignLoad& load,
                                                                   const ClientPlace& place) const {
  const Servers& servers = ServersOf(work);
  if (!servers.plovd) {
    return ConnectEmulation(
        {.design = static_cast<Design>(work.design), .uris = servers.uris, .first = place.first},
        load);
  }
  return OursOn({.uri = servers.uris.front(),
                 .remembers = work.design == kKnownDesign,
                 .puts = work.puts,
                 .first = place.first,
                 .learned = place.learned},
                load);
}

std::expected<std::chrono::nanoseconds, Error> DesignServers::CpuTime(
    const DesignWork& work) const {
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

}  // namespace plov::bench
