#include "bench/shared/tested_server.h"

#include <plov/client.h>

#include <sstream>
#include <utility>

namespace plov::bench {

namespace {

constexpr std::chrono::seconds kTimeout{10};

// "name value" lines of all shards, summed for one name.
uint64_t SumOf(const std::vector<std::string>& shards, const std::string& name) {
  uint64_t sum = 0;
  for (const std::string& shard : shards) {
    std::istringstream lines(shard);
    std::string word;
    for (uint64_t value = 0; lines >> word >> value;) {
      if (word == name) sum += value;
    }
  }
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
