// Rates: what a server did in a while, by the differences of its counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "verify/counters.h"

namespace plov::cli {

// What all shards told at about one instant.
struct Sample {
  uint64_t clock_us = 0;  // the server's
  std::vector<verify::Counters> shards;
  verify::Counters total;

  // Of the texts of ServerStats.
  static Sample Of(const std::vector<std::string>& texts);
};

// Per second of the server's clock. CPU: of a second, 1 is a whole processor.
struct Rates {
  double seconds = 0;  // 0: nothing is known yet
  double puts = 0;
  double deletes = 0;
  double gets_by_message = 0;
  double log_bytes = 0;
  double cpu = 0;
  // As clients report them, and the CPU in that time.
  struct Reported {
    double gets = 0;
    double reads = 0;
    double torn = 0;
    double cpu = 0;
  };
  std::optional<Reported> reported = {};  // nothing: it is not known yet
  verify::Times writes = {};
  verify::Times commits = {};
  struct Shard {
    size_t number;
    double requests;
    double puts;
    double cpu;
  };
  std::vector<Shard> shards = {};

  // Seconds of the server's CPU for a million GETs; nothing without GETs.
  std::optional<double> cpu_per_million_gets() const;
};

Rates RatesBetween(const Sample& from, const Sample& to);

// The time in microseconds within which `part` of all were done, as the end of its bucket; nothing when
// there was none, UINT64_MAX when it is longer than all buckets that have an end.
std::optional<uint64_t> QuantileOf(const verify::Times& times, double part);

// The last samples of a server: those of some seconds, and whether they move. GETs are known by reports,
// which come ten seconds apart from each client: from the first that was seen of half a minute to the last.
class History {
 public:
  static constexpr std::chrono::seconds kReportsWithin{30};
  // Without a report for so long there are no GETs.
  static constexpr std::chrono::seconds kReportsEvery{12};

  explicit History(std::chrono::microseconds window) : window_(window) {}

  // A sample of another start of the server begins anew. Returns whether it is one.
  bool Add(Sample sample);
  bool empty() const { return samples_.empty(); }
  const Sample& last() const { return samples_.back(); }
  // Of the window; of one sample alone, since the server was started.
  Rates rates() const;
  // How long no counter has changed.
  std::chrono::microseconds still() const {
    return std::chrono::microseconds(last().clock_us - moved_at_us_);
  }

 private:
  static void Add(std::deque<Sample>* samples, Sample sample, std::chrono::microseconds window);
  std::optional<Rates::Reported> Reported() const;

  std::chrono::microseconds window_;
  std::deque<Sample> samples_;
  std::deque<Sample> reports_;  // samples in which the reported GETs are others than before
  uint64_t first_us_ = 0;
  uint64_t moved_at_us_ = 0;
};

}  // namespace plov::cli
