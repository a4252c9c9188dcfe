// How commands reach their server.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>

#include "client/cli/options.h"

namespace plov::cli {

// As many as one client has under way to one shard (510), so that a batch that meets a stopped server fails within one
// timeout; larger ones were not faster.
inline constexpr size_t kBatchItemsMax = 500;

// The client that a shell keeps for the next command with the same of these options.
struct KeptClient {
  std::string server;
  std::chrono::microseconds timeout{};
  ReadFrom read_from{};
  std::chrono::microseconds max_age{};
  std::optional<Client> client = {};
};

// Connects as the options say.
std::expected<Client, Error> Connect(const Options& options);

// The kept one, or one that is kept from now on, for commands that take less time than connecting; never
// nullptr. It may have been connected to the server for long.
std::expected<Client*, Error> ConnectOnce(const Options& options);

// As Connect, as who may come in when no client may.
std::expected<Client, Error> ConnectAsAdministrator(const Options& options);

}  // namespace plov::cli
