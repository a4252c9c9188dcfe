// What a replica (cluster/replica.h) is told once: times, sizes and numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cluster/configuration.h"

namespace plov::cluster {

struct ReplicaSettings {
  uint64_t lease_us = 0;        // of clients; 0: they look in every GET
  uint64_t detect_us = 0;       // a primary that is silent for so long is suspected
  uint64_t drop_us = 0;         // a member that is, is dropped; one that joins is not waited for
  uint64_t beat_us = 0;         // between two messages to a member at most
  uint64_t rate_error_ppm = 0;  // by which two hosts' clocks may differ, at most
  uint32_t min_replicas = 1;    // with fewer in sync there are no writes
  uint32_t replicas = 1;
  // Of what is published, for one that comes back: at most so many bytes are kept, and more while some are away.
  size_t past_bytes = 0;
  size_t past_bytes_max = 0;
  size_t piece_bytes = size_t{1} << 20;  // of the past, in a message
  bool has_log = false;                  // of this replica's host: what it holds is kept there
  // One that comes back takes nobody for dead before: all servers may have lost their power.
  uint64_t return_us = 0;
};

ReplicaSettings SettingsOf(const Config& config);

}  // namespace plov::cluster
