// ServerTime: the server's clock, by which items expire.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>

#include "client/cli/json.h"

namespace plov::cli {

class ServerTime {
 public:
  // As if the server's clock stood at 0 now.
  ServerTime() = default;

  // Errors: the client's, and kSystem where the server does not tell it.
  static std::expected<ServerTime, Error> Ask(Client* client) {
    const auto stats = client->ServerStats();
    if (!stats) return std::unexpected(stats.error());
    const program::Json shard = ShardStats(stats->front());
    if (!shard.contains("clock_us")) {
      return Fail(Code::kSystem, "the server does not tell its clock: start a newer plovd");
    }
    return ServerTime(std::chrono::microseconds(shard["clock_us"].get<uint64_t>()));
  }

  // What is left until then; not positive: nothing.
  std::chrono::seconds Until(uint32_t unix_seconds) const {
    const auto now = at_ + (std::chrono::steady_clock::now() - asked_);
    return std::chrono::seconds(unix_seconds) - std::chrono::ceil<std::chrono::seconds>(now);
  }

 private:
  explicit ServerTime(std::chrono::microseconds at) : at_(at) {}

  std::chrono::nanoseconds at_{};  // since 1970, when it was asked
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace plov::cli
