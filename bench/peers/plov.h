// Plov: a client of a plovd, as one of those that are compared.
#pragma once

#include <plov/client.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "bench/peers/peer.h"

namespace plov::bench {

struct PlovOptions {
  size_t location_cache_bytes = 0;  // 0: remembers nothing
  uint32_t window = kPipelined;     // of GETs
  size_t puts = kPipelined;         // that are handed over together
};

class Plov final : public Peer {
 public:
  // Errors: the client's.
  static std::expected<std::unique_ptr<Plov>, Error> Connect(const Work& work,
                                                             const std::string& uri,
                                                             const PlovOptions& options = {});

  // Stores all items, in the order of their numbers.
  std::expected<void, Error> Fill();
  // Gets all items, so that what can be remembered is.
  std::expected<void, Error> WarmUp() { return GetMany(work().keys()); }

  bool Can(Way) const override { return true; }
  std::expected<void, Error> Do(Way way, Range range) override;

  Client& client() { return client_; }

 private:
  Plov(const Work& work, Client client, size_t puts)
      : Peer(work), client_(std::move(client)), values_(puts), puts_(puts) {}
  std::expected<void, Error> Get(std::span<const std::string_view> keys);
  std::expected<void, Error> GetMany(std::span<const std::string_view> keys);
  std::expected<void, Error> Put(Range range);
  std::expected<void, Error> PutMany(Range range);

  Client client_;
  // Of a batch of PUTs.
  std::vector<std::string> values_;
  std::vector<PutItem> puts_;
};

// Memory of a location cache that keeps nearly all of so many items (its sets hold two each).
constexpr size_t CacheBytesFor(uint64_t items) { return std::bit_ceil(items * 64); }

}  // namespace plov::bench
