// LogCensus: estimates from a log's operations how many items they leave, and which buckets suit these, so
// that a table can be made for them before they are restored.
//
// Keys are counted by HyperLogLog (Flajolet et al., AofA 2007): 4 KiB, and 2 % off; under a seed that nobody
// knows, so that no client can choose keys that pass for many. Keys that were deleted are taken off, also where
// they were stored again: rather too few, for a table grows and does not shrink.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "server/bucket_choice.h"
#include "verify/log.h"

namespace plov::server {

class DistinctKeys {
 public:
  explicit DistinctKeys(uint64_t seed) : seed_(seed) {}

  void Add(std::string_view key);
  uint64_t count() const;

 private:
  static constexpr uint32_t kIndexBits = 12;

  uint64_t seed_;
  std::array<uint8_t, size_t{1} << kIndexBits> ranks_{};
};

class LogCensus {
 public:
  // unix_seconds: what has expired by then is not counted. seed: random.
  LogCensus(uint32_t unix_seconds, uint64_t seed)
      : unix_seconds_(unix_seconds), stored_(seed), deleted_(seed) {}

  void Add(const verify::Logged& operation);

  uint64_t items() const;
  BucketChoice choice() const { return sizes_.Choice(); }

 private:
  uint32_t unix_seconds_;
  DistinctKeys stored_;
  DistinctKeys deleted_;
  PayloadSizes sizes_;
};

}  // namespace plov::server
