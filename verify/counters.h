// Counters: what a shard tells of itself, in a page of its region. Clients READ it, so that to watch a
// server costs it nothing, and goes on while it is stopped.
//
//  offset size field
//       0    8 magic        a page that is not one of these, or not yet ("plovct\0\1")
//       8    4 counters     how many there are, in the order of kCounters
//      12    4 text bytes   of the text at the end
//      16  8*N counters     each a word; UINT64_MAX: this server has no such number
//       .    . histograms   of kHistograms: times in buckets, and their sum in microseconds
//       .    . text         "name value\n" lines of what stays as it is: version, settings
//
// Each word is whole; words are not of one instant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "verify/superblock.h"
#include "verify/words.h"

namespace plov::verify {

inline constexpr uint64_t kCountersMagic = 0x0100746376'6f6c70;  // "plovct\0\1"

enum class Counter : uint8_t {
  kItems,
  kItemsDisplaced,
  kPayloadBytes,
  kFullPercent,
  kMemoryBytes,
  kMemoryUsedBytes,
  kMemoryCommittedBytes,
  kHostRefuses,
  kTablePercent,
  kTableBytes,
  kBuckets,
  kBucketBytes,
  kBucketBytesAuto,
  kItemBytes64,
  kItemBytes128,
  kGeneration,
  kGrowing,
  kGrowths,
  kHomesOverflowed,
  kStashed,
  kStashBytes,
  kDisplacements,
  kRecordsBytes,
  kRecordsBytesMax,
  kRecordsUsedBytes,
  kRecordsMoved,
  kRecordsMovedBytes,
  kRecoveredItems,
  kRecoveredDamaged,
  kClients,
  kClientsRefused,
  kConnectionBytesMax,
  kSessions,
  kMessages,
  kRequests,
  kPuts,
  kDeletes,
  kCommits,
  kCommitsRefused,
  kGetsByMessage,
  kNoSpace,
  kExpired,
  kEvicted,
  kHitsTold,
  kCorrupt,
  kClientsDroppedUnconfirmed,
  kRetriesAnswered,
  kProtocolErrors,
  kSleeps,
  kLogMode,
  kLogDurableBatch,
  kLogPendingBatches,
  kLogCommitUsP50,
  kLogCommitUsP99,
  kLogCommitUsMax,
  kLogBytes,
  kLogSegment,
  kLogFailed,
  kSnapshots,
  kSnapshotFailures,
  kSnapshotRunning,
  kSnapshotWrittenBytes,
  kSnapshotItems,
  kSnapshotBytes,
  kSnapshotAtUs,
  kReplicas,
  kReplicaPrimary,
  kReplicasInSync,
  kReplicaEpoch,
  kReplicaPending,
  kReplicaSafeAtUs,
  kPromotions,
  kReportedGets,
  kReportedReads,
  kReportedTorn,
  kCpuUs,
  kStartedAtUs,
  kCount,
};

// How the numbers of shards make one of the server.
enum class Together : uint8_t { kSum, kMost };

// What a number is, where its name or help alone do not say what Prometheus makes of it.
enum class Unit : uint8_t { kPlain, kMicroseconds, kUnixMicroseconds, kPercent };

struct CounterInfo {
  Counter counter;
  std::string_view name;
  bool only_grows;  // else it goes up and down
  Together together;
  std::string_view help;
  Unit unit = Unit::kPlain;
};

inline constexpr size_t kCounterCount = static_cast<size_t>(Counter::kCount);
const std::array<CounterInfo, kCounterCount>& CounterTable();

// Times: bucket i has those of less than 2^i microseconds that no bucket before it has, the last one
// all others.
inline constexpr size_t kTimeBuckets = 28;
struct Times {
  std::array<uint64_t, kTimeBuckets> counts;
  uint64_t sum_us;
};
// Of a write, from when its message is taken to when its reply is sent; of a commit, see
// log/commit_times.h.
enum class Histogram : uint8_t { kWrites, kCommits, kCount };
inline constexpr size_t kHistogramCount = static_cast<size_t>(Histogram::kCount);
std::string_view HistogramName(Histogram histogram);

struct Counters {
  std::array<uint64_t, kCounterCount> values;
  std::array<Times, kHistogramCount> histograms;
  std::string text;

  uint64_t operator[](Counter counter) const { return values[static_cast<size_t>(counter)]; }
};

// Where they lie in the page.
constexpr size_t WordOf(Counter counter) { return 2 + static_cast<size_t>(counter); }
constexpr size_t WordOf(Histogram histogram) {
  return 2 + kCounterCount + static_cast<size_t>(histogram) * sizeof(Times) / kWordBytes;
}
inline constexpr size_t kCounterTextAt = WordOf(Histogram::kCount) * kWordBytes;
inline constexpr size_t kCounterTextMax = kPageBytes - kCounterTextAt;

// The bucket of a time.
size_t TimeBucketOf(uint64_t us);

// Of a private copy of the page; nullopt: it holds none. Takes every byte for hostile.
std::optional<Counters> ReadCounters(std::span<const std::byte> page);

// "name value\n" lines of all that there is, ages and uptime by the server's clock.
std::string TextOf(const Counters& counters, uint64_t unix_us);

// What TextOf made a text of. Lines that it has not made are the text at the end.
struct ToldCounters {
  Counters counters;
  uint64_t unix_us;
};
ToldCounters CountersOf(std::string_view text);

// The value of a line "name value" of the text at the end; empty: there is none.
std::string_view TextValue(std::string_view text, std::string_view name);

// Those of all shards as one, without a text.
Counters TotalOf(std::span<const Counters> shards);

}  // namespace plov::verify
