// TableStudy: how full the cuckoo table becomes, and what it costs on the way there, counted on the
// real table under several seeds. Nothing here is timed: the same seeds give the same counts.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

struct TableSettings : OutputSettings {
  uint64_t items = 1'000'000;  // what a table would hold if every bucket had one
  uint32_t seeds = 5;
  std::vector<uint32_t> bucket_bytes = {64, 128};
};

// A table at one fill; a value of each seed's that got there.
struct TableRow {
  uint32_t bucket_bytes = 0;
  uint32_t fill_percent = 0;
  Sample displaced_percent = {};  // items that are not at home
  Sample overflow_percent = {};   // homes with `overflow`
  // Items displaced by a PUT, of the PUTs that filled the last hundredth of the buckets.
  Sample path_mean = {};
  Sample path_p99 = {};
  Sample path_most = {};
  Sample hit_reads = {};   // bucket READs, mean
  Sample miss_reads = {};  // likewise
};

// Up to the first PUT that would need growth.
struct FullTable {
  uint32_t bucket_bytes = 0;
  Sample fill_percent = {};
  Sample path_mean = {};  // of all PUTs
  Sample path_most = {};
};

// READs per GET at three quarters, of buckets and records together, in buckets of 64 bytes: of
// items that lie in the bucket and of larger ones, and when their locations are remembered.
struct ReadsPerGet {
  Sample inline_cold = {};
  Sample inline_known = {};
  Sample record_cold = {};
  Sample record_known = {};
};

struct TableStudy {
  TableSettings settings;
  std::vector<TableRow> rows;   // by size of bucket, then fill
  std::vector<FullTable> full;  // by size of bucket
  ReadsPerGet reads;

  const TableRow* Find(uint32_t bucket_bytes, uint32_t fill_percent) const;
};

// What was said of the table before it was measured.
struct TableClaim {
  std::string what;
  enum class Bound { kAtMost, kAtLeast } bound = Bound::kAtMost;
  double claimed = 0;
  Sample measured = {};

  bool holds() const;
};

// The fill that the claims of READs are about.
inline constexpr uint32_t kClaimedFill = 75;

// Errors: kCorrupt (a wrong answer: a defect), kSystem (no memory).
std::expected<TableStudy, Error> StudyTable(const TableSettings& settings);

std::vector<TableClaim> ClaimsOf(const TableStudy& study);
Page PageOf(const TableStudy& study);
program::Json JsonOf(const TableStudy& study);

}  // namespace plov::bench
