#include "client/cli/connect.h"

#include <poll.h>

#include <thread>
#include <utility>

namespace plov::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenAttempts{20};

std::expected<Client, Error> ConnectWith(const Options& options, ClientOptions with) {
  with.timeout = options.timeout;
  const auto end = Clock::now() + options.wait;
  while (true) {
    auto client = Client::Connect(options.server, with);
    if (client || client.error().code != Code::kUnavailable || Clock::now() >= end) return client;
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

bool IsMadeFor(const KeptClient& kept, const Options& options) {
  return kept.server == options.server && kept.timeout == options.timeout &&
         kept.read_from == options.read_from && kept.max_age == options.max_age;
}

// To an idle client nothing comes but the end of its server.
bool IsQuiet(const Client& client) {
  pollfd readable{client.fd(), POLLIN, 0};
  return ::poll(&readable, 1, 0) == 0;
}

}  // namespace

std::expected<Client, Error> Connect(const Options& options) {
  return ConnectWith(options, {.read_from = options.read_from, .max_age = options.max_age});
}

std::expected<Client*, Error> ConnectOnce(const Options& options) {
  KeptClient& kept = *options.kept;
  if (kept.client && IsMadeFor(kept, options) && IsQuiet(*kept.client)) return &*kept.client;
  kept.client.reset();
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  kept = {options.server, options.timeout, options.read_from, options.max_age, std::move(*client)};
  return &*kept.client;
}

std::expected<Client, Error> ConnectAsAdministrator(const Options& options) {
  return ConnectWith(options, {.administers = true});
}

}  // namespace plov::cli
