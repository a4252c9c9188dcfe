#include "cluster/replica_settings.h"

#include <algorithm>
#include <chrono>

namespace plov::cluster {

namespace {

uint64_t Microseconds(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(std::chrono::microseconds(time).count());
}

}  // namespace

ReplicaSettings SettingsOf(const Config& config) {
  // So that a lost beat, or a late one, is no silence.
  const auto beat = std::min(config.detect, config.drop) / 3;
  return {.lease_us = Microseconds(config.lease),
          .detect_us = Microseconds(config.detect),
          .drop_us = Microseconds(config.drop),
          .beat_us = Microseconds(beat),
          .rate_error_ppm = config.rate_error_ppm,
          .min_replicas = config.min_replicas,
          .replicas = config.replicas};
}

}  // namespace plov::cluster
