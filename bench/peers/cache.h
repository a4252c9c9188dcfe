// Cache: something of little memory that forgets items when it is full.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::bench {

class Cache {
 public:
  virtual ~Cache() = default;

  // nullopt: it is absent. The value stays until the next call.
  virtual std::expected<std::optional<std::string_view>, Error> Get(std::string_view key) = 0;
  // kNoSpace: it could make no room.
  virtual std::expected<void, Error> Put(std::string_view key, std::string_view value) = 0;
  // How many are there.
  virtual std::expected<uint64_t, Error> Items() = 0;
};

using StartedCache = std::expected<std::unique_ptr<Cache>, Error>;

// folder: of its socket. memory_bytes: whole MiB. kUnavailable: it is not installed, or plov-bench was built without
// libmemcached.
StartedCache StartMemcachedCache(const std::string& folder, uint64_t memory_bytes);
// The same where libmemcached was there.
StartedCache MakeMemcachedCache(const std::string& folder, uint64_t memory_bytes);

}  // namespace plov::bench
