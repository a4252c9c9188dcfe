// LogOptions: how plovd --log keeps its logs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "log/commit_log.h"
#include "log/snapshots.h"

namespace plov::server {

struct LogOptions {
  std::string folder = {};  // empty: no log
  log::CommitMode mode = log::CommitMode::kStrict;
  std::chrono::microseconds interval = std::chrono::seconds(1);
  uint64_t segment_bytes = uint64_t{64} << 20;
  size_t buffer_bytes = size_t{64} << 20;  // of each shard
  log::Snapshots::Options snapshots = {};
  bool presizes = true;  // says what a store is to expect
};

}  // namespace plov::server
