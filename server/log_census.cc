#include "server/log_census.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace plov::server {

void DistinctKeys::Add(std::string_view key) {
  const uint64_t hash = XXH3_64bits_withSeed(key.data(), key.size(), seed_);
  uint8_t& rank = ranks_[hash >> (64 - kIndexBits)];
  const int zeros = std::countl_zero(hash << kIndexBits | 1);
  rank = std::max(rank, static_cast<uint8_t>(zeros + 1));
}

uint64_t DistinctKeys::count() const {
  const auto size = static_cast<double>(ranks_.size());
  double sum = 0;
  for (const uint8_t rank : ranks_) sum += std::ldexp(1.0, -rank);
  const double estimate = 0.7213 / (1 + 1.079 / size) * size * size / sum;
  const auto empty = static_cast<double>(std::ranges::count(ranks_, 0));
  const bool is_small = estimate <= 2.5 * size && empty > 0;
  return static_cast<uint64_t>(is_small ? size * std::log(size / empty) : estimate);
}

void LogCensus::Add(const verify::Logged& operation) {
  using Kind = verify::Logged::Kind;
  if (operation.key.empty()) return;
  if (operation.kind == Kind::kDelete) return deleted_.Add(operation.key);
  if (operation.expiry != 0 && operation.expiry <= unix_seconds_) return;
  stored_.Add(operation.key);
  sizes_.Add(operation.key.size() + operation.value.size());
}

uint64_t LogCensus::items() const {
  return stored_.count() - std::min(stored_.count(), deleted_.count());
}

}  // namespace plov::server
