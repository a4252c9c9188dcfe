// Plov: a client of a plovd, as one of those that are compared.
#pragma once

#include <plov/client.h>

#include <array>
#include <bit>
#include <memory>
#include <string>

#include "bench/peers/peer.h"

namespace plov::bench {

class Plov final : public Peer {
 public:
  // location_cache_bytes: 0 remembers nothing. Errors: the client's.
  static std::expected<std::unique_ptr<Plov>, Error> Connect(const Work& work,
                                                             const std::string& uri,
                                                             size_t location_cache_bytes);

  // Stores all items, in the order of their numbers.
  std::expected<void, Error> Fill();
  // Gets all items, so that what can be remembered is.
  std::expected<void, Error> WarmUp() { return GetMany(work().keys()); }

  bool Can(Way) const override { return true; }
  std::expected<void, Error> Do(Way way, Turn turn) override;

  Client& client() { return client_; }

 private:
  Plov(const Work& work, Client client) : Peer(work), client_(std::move(client)) {}
  std::expected<void, Error> Get(std::span<const std::string_view> keys);
  std::expected<void, Error> GetMany(std::span<const std::string_view> keys);
  std::expected<void, Error> Put(Turn turn);
  std::expected<void, Error> PutMany(Turn turn);

  Client client_;
  std::array<std::string, kPipelined> values_;
};

// Memory of a location cache that keeps nearly all of so many items (its sets hold two each).
constexpr size_t CacheBytesFor(uint64_t items) { return std::bit_ceil(items * 64); }

}  // namespace plov::bench
