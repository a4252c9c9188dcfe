// redis-benchmark -P 32, which keeps Redis busier than one connection can: fifty of them. It has
// keys of its own, key:000000000000 and on, as long as those of the work, and looks at no value.

#include "bench/peers/redis_benchmark.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "bench/peers/peer.h"
#include "bench/peers/peer_server.h"
#include "bench/peers/redis_server.h"

namespace plov::bench {

namespace {

constexpr double kFirstRate = 100'000;  // before it is known
constexpr double kRequestsMin = 20'000;

class RedisBenchmark final : public Peer {
 public:
  RedisBenchmark(const Work& work, const std::string& folder)
      : Peer(work), server_(folder, "redis-benchmark") {}

  std::expected<void, Error> Open();

  bool Can(Way way) const override { return way == Way::kGetMany || way == Way::kPutMany; }
  std::expected<void, Error> Do(Way way, Turn turn) override {
    const auto rate = Run(way, turn.count);
    if (!rate) return std::unexpected(rate.error());
    return {};
  }
  std::expected<double, Error> Rate(Way way, std::chrono::microseconds duration) override;

 private:
  std::expected<double, Error> Run(Way way, uint64_t requests) const;

  RedisServer server_;
  std::array<double, kWayNames.size()> rates_{};
};

std::expected<void, Error> RedisBenchmark::Open() {
  if (program::FindInPath("redis-benchmark").empty()) {
    return Fail(Code::kUnavailable,
                "redis-benchmark is not in PATH: install the package redis-tools");
  }
  auto client = server_.Start();
  if (!client) return std::unexpected(client.error());
  const std::string value(work().value_bytes(), 'v');
  for (uint64_t first = 0; first < work().count(); first += kPipelined) {
    const uint64_t end = std::min(first + kPipelined, work().count());
    for (uint64_t i = first; i < end; ++i) client->AppendSet(fmt::format("key:{:012}", i), value);
    for (uint64_t i = first; i < end; ++i) {
      if (auto done = client->NextDone(); !done) return done;
    }
  }
  return {};
}

std::expected<double, Error> RedisBenchmark::Run(Way way, uint64_t requests) const {
  const auto text =
      OutputOf({.name = "redis-benchmark",
                .package = "redis-tools",
                .arguments = {"-s", server_.socket(), "-P", std::to_string(kPipelined), "-n",
                              std::to_string(requests), "-r", std::to_string(work().count()), "-d",
                              std::to_string(work().value_bytes()), "--csv", "-t",
                              way == Way::kGetMany ? "get" : "set"}});
  if (!text) return std::unexpected(text.error());
  return ParseRedisBenchmark(*text, way == Way::kGetMany ? "GET" : "SET");
}

// As many requests as take about so long.
std::expected<double, Error> RedisBenchmark::Rate(Way way, std::chrono::microseconds duration) {
  double& last = rates_.at(static_cast<size_t>(way));
  const double seconds = std::chrono::duration<double>(duration).count();
  const double requests = std::max(kRequestsMin, (last > 0 ? last : kFirstRate) * seconds);
  const auto rate = Run(way, static_cast<uint64_t>(requests));
  if (rate) last = *rate;
  return rate;
}

}  // namespace

std::expected<double, Error> ParseRedisBenchmark(std::string_view text, std::string_view test) {
  const std::string start = fmt::format("\"{}\",\"", test);
  const size_t at = text.find(start);
  double rate = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + start.size(), text.data() + text.size(), rate);
  }
  if (rate > 0) return rate;
  return Fail(Code::kProtocol, "redis-benchmark printed no rate");
}

StartedPeer StartRedisBenchmark(const Work& work, const PeerPlace& place) {
  auto benchmark = std::make_unique<RedisBenchmark>(work, place.folder);
  if (auto opened = benchmark->Open(); !opened) return std::unexpected(opened.error());
  return benchmark;
}

}  // namespace plov::bench
