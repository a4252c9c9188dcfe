// TestedServer: the plovd that a load is put on, one of the tool's own or one that runs already.
//
// Threads: the main one.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/shared/scratch_folder.h"
#include "program/own_server.h"
#include "verify/error.h"

namespace plov::bench {

// A plovd of one shard for so many items, as it is without options; generous: memory that is not used is
// not taken. folder: its own.
program::OwnServerOptions ServerFor(const std::string& plovd, const std::string& folder,
                                    uint64_t items, uint32_t value_bytes);

struct TestedServerOptions {
  std::string uri;                // of one that runs; empty: one of the tool's own is started
  program::OwnServerOptions own;  // its folder is made and named here
};

// The number after `name` in the text of a server's statistics; 0 where there is none.
uint64_t StatOf(std::string_view stats, std::string_view name);

// What a server says of its memory, of all shards.
struct ServerMemory {
  uint64_t items = 0;
  uint64_t used_bytes = 0;     // table and records
  uint64_t payload_bytes = 0;  // keys and values
};

// Its own server ends with it, and nothing of that is left.
class TestedServer {
 public:
  // Errors: kUnavailable with the end of the own server's log; kSystem.
  static std::expected<std::unique_ptr<TestedServer>, Error> Start(
      const TestedServerOptions& options);
  TestedServer(const TestedServer&) = delete;
  TestedServer& operator=(const TestedServer&) = delete;

  const std::string& uri() const { return uri_; }

  // User and system time that it has spent so far: of its own process all, of another server what
  // its shards' threads say, wherever it runs. nullopt: it cannot be had.
  std::optional<double> CpuSeconds() const;

  // Errors: the client's.
  std::expected<ServerMemory, Error> Memory() const;

 private:
  TestedServer() = default;

  std::string uri_;
  std::optional<ScratchFolder> folder_;
  std::optional<program::OwnServer> own_;
};

}  // namespace plov::bench
