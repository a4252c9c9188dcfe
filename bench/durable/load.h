// Loads of a durable study: one call after the other, or as many PUTs in flight as a client can have; the
// time that each took; and the disk below.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/load/histogram.h"
#include "bench/peers/plov.h"
#include "bench/peers/work.h"
#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

struct Timed {
  double per_second = 0;
  Histogram latency = {};
};
using TimedResult = std::expected<Timed, Error>;

// One call after the other, for a time. Errors: the first call's that failed.
TimedResult TimeCalls(std::chrono::microseconds duration,
                      const std::function<std::expected<void, Error>()>& call);

// The same of a peer's GETs or PUTs, in the order of its work.
TimedResult OneAtATime(const Work& work, Peer* peer, Way way, std::chrono::microseconds duration);

// What a client puts, written out before it is measured: a part of a work, or any of its items, a few of
// them much more often than others. The work outlives it.
class Puts {
 public:
  Puts(const Work& work, Range part);
  static Puts Hot(const Work& work, uint64_t seed);
  std::span<const PutItem> items() const { return items_; }

 private:
  Puts(const Work& work, const std::vector<size_t>& places);

  std::vector<char> values_;
  std::vector<PutItem> items_;
};

// Each client puts its own part, again and again for a time, with all the writes in flight that it can have
// (255), all clients at once, each in a thread. A latency is the time from when a write took its place among
// those in flight. Errors: the first PUT's that failed.
TimedResult PutsInFlight(std::span<const std::unique_ptr<Plov>> clients,
                         std::span<const Puts> parts, std::chrono::microseconds duration);

// Durable writes, one after the other over a file of zeros, which is what a log does at least.
class BareDisk {
 public:
  static constexpr size_t kWriteBytesMax = size_t{64} << 10;

  // Makes the file. Errors: kSystem.
  static std::expected<BareDisk, Error> Create(const std::string& path, uint64_t file_bytes);

  // The next bytes, up to kWriteBytesMax; returns when they are durable (O_DSYNC). Errors: kSystem.
  std::expected<void, Error> Write(size_t bytes);

 private:
  BareDisk(std::string path, fabric::Fd file, uint64_t file_bytes)
      : path_(std::move(path)), file_(std::move(file)), file_bytes_(file_bytes) {}

  std::string path_;
  fabric::Fd file_;
  uint64_t file_bytes_;
  uint64_t next_ = 0;
};

// Whether the folder lies in memory, and not on a disk.
bool IsOnTmpfs(const std::string& folder);

}  // namespace plov::bench
