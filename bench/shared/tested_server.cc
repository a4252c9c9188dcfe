#include "bench/shared/tested_server.h"

#include <plov/client.h>

#include <cstdlib>
#include <sstream>
#include <utility>

namespace plov::bench {

namespace {

constexpr std::chrono::seconds kTimeout{10};

uint64_t SumOf(const std::vector<std::string>& shards, std::string_view name) {
  uint64_t sum = 0;
  for (const std::string& shard : shards) sum += StatOf(shard, name);
  return sum;
}

std::expected<std::vector<std::string>, Error> StatsOf(const std::string& uri) {
  ClientOptions options;
  options.timeout = kTimeout;
  options.location_cache_bytes = 0;
  auto client = Client::Connect(uri, options);
  if (!client) return std::unexpected(client.error());
  return client->ServerStats();
}

}  // namespace

uint64_t StatOf(std::string_view stats, std::string_view name) {
  const std::string start = std::string(name) + " ";
  std::istringstream lines{std::string(stats)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) return std::strtoull(line.c_str() + start.size(), nullptr, 10);
  }
  return 0;
}

program::OwnServerOptions ServerFor(const std::string& plovd, const std::string& folder,
                                    uint64_t items, uint32_t value_bytes) {
  constexpr uint64_t kServerBytes = uint64_t{64} << 20;  // besides the items
  constexpr uint64_t kBytesPerItem = 512;                // and its value
  program::OwnServerOptions options;
  options.plovd = plovd;
  options.folder = folder;
  options.memory_bytes = kServerBytes + items * (kBytesPerItem + value_bytes);
  options.max_value_bytes = uint64_t{1} << 20;
  options.spin_us = program::kPlovdSpinUs;
  return options;
}

std::expected<std::unique_ptr<TestedServer>, Error> TestedServer::Start(
    const TestedServerOptions& options) {
  std::unique_ptr<TestedServer> server(new TestedServer());
  server->uri_ = options.uri;
  if (!options.uri.empty()) return server;
  auto folder = ScratchFolder::Make();
  if (!folder) return std::unexpected(folder.error());
  program::OwnServerOptions own = options.own;
  own.folder = folder->path();
  server->folder_.emplace(std::move(*folder));
  server->own_.emplace(std::move(own));
  server->uri_ = server->own_->uri();
  if (auto started = server->own_->Start(program::Life::kFirst); !started) {
    return std::unexpected(started.error());
  }
  return server;
}

std::optional<double> TestedServer::CpuSeconds() const {
  if (own_) {
    const auto used = own_->process().CpuTime();
    if (!used) return {};
    return std::chrono::duration<double>(*used).count();
  }
  const auto shards = StatsOf(uri_);
  if (!shards) return {};
  return static_cast<double>(SumOf(*shards, "cpu_us")) * 1e-6;
}

std::expected<ServerMemory, Error> TestedServer::Memory() const {
  const auto shards = StatsOf(uri_);
  if (!shards) return std::unexpected(shards.error());
  return ServerMemory{.items = SumOf(*shards, "items"),
                      .used_bytes = SumOf(*shards, "memory_used_bytes"),
                      .payload_bytes = SumOf(*shards, "payload_bytes")};
}

}  // namespace plov::bench
