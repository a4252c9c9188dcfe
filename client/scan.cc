#include "client/scan.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "cuckoo/hash.h"
#include "verify/record.h"

namespace plov {

using verify::Bucket;
using verify::BucketKind;

namespace {

constexpr uint64_t kBytesPerRead = 4096;
constexpr uint32_t kPassesMax = 8;
// Tables of one shard, and connections, that a scan sees come and go before it leaves it at that.
constexpr uint32_t kTablesMax = 16;
constexpr uint32_t kResumesMax = 8;
// Torn READs of one bucket or record before it is counted as unreadable; with a yield each, about
// the time of a server's scheduling quantum.
constexpr uint32_t kRereadsMax = 10'000;
// Rereads between two looks at the clock; once a scan has waited for its timeout, all such buckets
// together, they are damage and get no more than these.
constexpr uint32_t kRereadsPerLook = 10;
// Unreadable buckets that a scan passes over, were they the only ones.
constexpr uint64_t kUnreadableMax = 1000;
// What the records of one pass may have, in regions: honest ones lie side by side in one, but for
// what is written during the pass.
constexpr uint64_t kRegionsPerPass = 4;

constexpr auto kMostlyDamage =
    "most of the server's table does not verify: restart plovd and load the items again";
constexpr auto kRestarted = "the server was restarted during the scan, or another one answers";
constexpr auto kTooManyBytes =
    "the server's table refers to more bytes than its memory has: it is damaged, or not a plovd's";

}  // namespace

Scan::Scan(const Peers* peers, std::chrono::microseconds timeout, Callbacks* callbacks,
           ScanCallback* item, Await await)
    : peers_(peers),
      timeout_(timeout),
      callbacks_(callbacks),
      item_(item),
      await_(std::move(await)) {}

std::expected<ScanSummary, Error> Scan::Run() {
  summary_.settled = true;
  const uint32_t shard_count = peers_->shard_count();
  uint64_t hash_seed = 0;
  for (shard_ = 0; shard_ < shard_count; ++shard_) {
    if (auto up = await_(shard_); !up) return std::unexpected(up.error());
    if (shard_ == 0) hash_seed = link().view().hash_seed;
    // Another server has an item in another shard, perhaps in one that was scanned.
    if (peers_->shard_count() != shard_count || link().view().hash_seed != hash_seed) {
      return Fail(Code::kUnavailable, kRestarted);
    }
    incarnation_ = link().view().incarnation;
    const Outcome step = ScanShard();
    if (!step) return std::unexpected(step.error());
    if (auto seen = SeeOaths(); !seen) return std::unexpected(seen.error());
    if (*step == Step::kStop) break;
  }
  return summary_;
}

std::expected<ScanSummary, Error> Scan::RunFrom(uint64_t random) {
  const uint32_t shard_count = peers_->shard_count();
  const uint32_t first = static_cast<uint32_t>(random % shard_count);
  for (uint32_t i = 0; i <= shard_count; ++i) {
    shard_ = (first + i) % shard_count;
    if (auto up = await_(shard_); !up) return std::unexpected(up.error());
    const Outcome step = ScanShardOnce(i == 0 ? random : 0);
    if (!step) return std::unexpected(step.error());
    if (auto seen = SeeOaths(); !seen) return std::unexpected(seen.error());
    if (*step == Step::kStop) break;
  }
  summary_.passes = 1;
  return summary_;
}

std::expected<std::span<std::byte>, Error> Scan::Read(uint64_t offset, uint32_t bytes) {
  return link().ReadNow(offset, bytes, fabric::Clock::now() + timeout_);
}

// Only what certainly is; for that the server's clock need not be asked again.
bool Scan::IsExpired(uint32_t expiry) {
  return expiry != 0 && link().clock().At(BootUs()).earliest_us >= uint64_t{expiry} * 1'000'000;
}

// Reports the item of one verified bucket.
Scan::Outcome Scan::ScanItem(Bucket* bucket, uint32_t bucket_bytes) {
  std::optional<verify::ItemView> item;
  if (bucket->kind() == BucketKind::kInline) {
    item = bucket->Unmask(bucket_bytes);
  } else if (bucket->kind() == BucketKind::kReference) {
    const verify::Reference reference = bucket->reference();
    if (reference.record_bytes > verify::kRecordBytesMax) return Step::kAgain;
    const auto bytes = Read(reference.offset, reference.record_bytes);
    if (!bytes) return std::unexpected(bytes.error());
    item = verify::ParseRecord(*bytes, link().view().record_seed);
    if (!item || item->version != reference.version) return Step::kAgain;
    record_bytes_ += reference.record_bytes;
    if (record_bytes_ / kRegionsPerPass > link().view().region_bytes) {
      return Fail(Code::kCorrupt, kTooManyBytes);
    }
  }
  if (!item || IsExpired(item->expiry)) return Step::kDone;
  ++summary_.items;
  bool more = false;
  callbacks_->Run([&] {
    more = (*item_)(item->key, {item->value, item->version, item->flags, item->expiry});
  });
  return more ? Step::kDone : Step::kStop;
}

// Whether another few rereads are worth it. `begun`: of this bucket's, or of their last look.
bool Scan::MayWait(fabric::Deadline* begun) {
  const fabric::Deadline now = fabric::Clock::now();
  const bool first = *begun == fabric::Deadline{};
  if (!first) waited_ += now - *begun;
  *begun = now;
  return first || waited_ < timeout_;
}

// Of a home whose bucket is whole.
void Scan::Seen::Settle(uint64_t index) {
  if (settled[index - first]) return;
  settled[index - first] = true;
  --unsettled_count;
}

// One bucket, from the copy that came with its chunk; READ again for itself while it is torn.
template <typename Geometry>
Scan::Outcome Scan::ScanBucket(const Geometry& geometry, uint64_t index, bool is_new, Seen* seen,
                               Bucket* bucket) {
  uint32_t& version = seen->versions[index - seen->first];
  fabric::Deadline begun{};
  for (uint32_t attempt = 0; attempt < kRereadsMax; ++attempt) {
    if (attempt > 0) {
      if (attempt % kRereadsPerLook == 1 && !MayWait(&begun)) break;
      ::sched_yield();
      const auto bytes = Read(geometry.BucketOffset(index), geometry.bucket_bytes);
      if (!bytes) return std::unexpected(bytes.error());
      std::memcpy(bucket->words(), bytes->data(), bytes->size());
    }
    if (!bucket->Whole(geometry.bucket_bytes, geometry.SeedOf(index))) continue;
    if (bucket->kind() == BucketKind::kRetired) return Step::kRetired;
    if (!is_new && bucket->version() == version) {
      if (!bucket->stashed() && !seen->settled[index - seen->first]) same_homes_.push_back(index);
      return Step::kDone;
    }
    const Outcome step = ScanItem(bucket, geometry.bucket_bytes);
    if (!step) return step;  // nobody was told of its item
    if (*step == Step::kAgain) continue;
    version = bucket->version();
    changed_ = true;
    if (!bucket->has_directory()) seen->Settle(index);
    return step;
  }
  ++summary_.unreadable;
  // So a table is never scanned far into memory that nobody wrote.
  if (summary_.unreadable > kUnreadableMax && summary_.unreadable > index / 2) {
    return Fail(Code::kCorrupt, kMostlyDamage);
  }
  return Step::kDone;
}

// READs a chunk once more, after everything else of it: its homes that have had one version since the last pass are
// settled.
std::expected<void, Error> Scan::SettleHomes(const cuckoo::Geometry& geometry, uint64_t first,
                                             uint64_t count, Seen* seen) {
  const auto bytes =
      Read(geometry.BucketOffset(first), static_cast<uint32_t>(count * geometry.bucket_bytes));
  if (!bytes) return std::unexpected(bytes.error());
  for (const uint64_t index : same_homes_) {
    Bucket bucket;
    std::memcpy(bucket.words(), &(*bytes)[(index - first) * geometry.bucket_bytes],
                geometry.bucket_bytes);
    const bool is_same = bucket.Whole(geometry.bucket_bytes, geometry.SeedOf(index)) &&
                         bucket.version() == seen->versions[index - seen->first];
    if (is_same) seen->Settle(index);
  }
  return {};
}

// `known`: so many buckets were READ in a pass before.
template <typename Geometry>
Scan::Outcome Scan::ScanChunk(const Geometry& geometry, uint64_t first, uint64_t count,
                              size_t known, Seen* seen) {
  const uint64_t bucket_bytes = geometry.bucket_bytes;
  const auto bytes =
      Read(geometry.BucketOffset(first), static_cast<uint32_t>(count * bucket_bytes));
  if (!bytes) return std::unexpected(bytes.error());
  chunk_.resize(bytes->size() / verify::kWordBytes);
  std::memcpy(chunk_.data(), bytes->data(), bytes->size());
  same_homes_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    Bucket bucket;
    std::memcpy(bucket.words(), &chunk_[i * bucket_bytes / verify::kWordBytes], bucket_bytes);
    const uint64_t index = first + i;
    const bool is_new = index - seen->first >= known;
    const Outcome step = ScanBucket(geometry, index, is_new, seen, &bucket);
    if (!step || *step != Step::kDone) return step;
  }
  if constexpr (std::is_same_v<Geometry, cuckoo::Geometry>) {
    if (same_homes_.empty()) return Step::kDone;
    if (auto read = SettleHomes(geometry, first, count, seen); !read) {
      return std::unexpected(read.error());
    }
  }
  return Step::kDone;
}

template <typename Geometry>
Scan::Outcome Scan::ScanBuckets(const Geometry& geometry, uint64_t end, Seen* seen) {
  const size_t known = seen->versions.size();
  const uint64_t per_read = kBytesPerRead / geometry.bucket_bytes;
  for (uint64_t first = seen->first; first < end;) {
    const uint64_t count = std::min(per_read - first % per_read, end - first);
    seen->GrowTo(first + count);
    const Outcome step = ScanChunk(geometry, first, count, known, seen);
    if (!step || *step != Step::kDone) return step;
    first += count;
  }
  return Step::kDone;
}

Scan::Outcome Scan::ScanPass() {
  record_bytes_ = 0;
  const Outcome step = ScanBuckets(table_, table_.bucket_count, &seen_);
  if (!step || *step != Step::kDone) return step;
  return ScanStash();
}

Scan::Outcome Scan::ScanStash() {
  if (auto fresh = Refresh(); !fresh) return std::unexpected(fresh.error());
  const cuckoo::StashGeometry stash = link().view().stash;
  return ScanBuckets(stash, stash.bucket_count(), &stash_seen_);
}

// Passes over one table until no key of it can have been missed, or it is history.
Scan::Outcome Scan::ScanTable() {
  seen_ = {};
  changed_ = true;
  bool is_settled = false;
  for (uint32_t passes = 1; passes <= kPassesMax && !is_settled; ++passes) {
    summary_.passes = std::max(summary_.passes, passes);
    changed_ = false;
    const Outcome step = ScanPass();
    if (!step || *step != Step::kDone) return step;
    is_settled = !changed_ || seen_.unsettled_count == 0;
  }
  if (!is_settled) summary_.settled = false;
  return Step::kDone;
}

// The tables that are there, from a random bucket of them on, and the stash; 0: from the first.
Scan::Outcome Scan::ScanShardOnce(uint64_t random) {
  record_bytes_ = 0;
  stash_seen_ = {};
  if (auto fresh = Refresh(); !fresh) return std::unexpected(fresh.error());
  const auto tables = link().view().tables;
  uint64_t skipped = cuckoo::Scale(random, tables[0].bucket_count + tables[1].bucket_count);
  for (const cuckoo::Geometry& table : tables) {
    if (skipped >= table.bucket_count) {
      skipped -= table.bucket_count;
      continue;
    }
    seen_ = {};
    seen_.first = std::exchange(skipped, 0);
    const Outcome step = ScanBuckets(table, table.bucket_count, &seen_);
    if (!step || *step == Step::kStop) return step;
  }
  return ScanStash();
}

// Goes on in the same life of the server only: another one has none of the items.
std::expected<void, Error> Scan::Resume() {
  if (auto up = await_(shard_); !up) return up;
  if (link().view().incarnation != incarnation_) {
    return Fail(Code::kUnavailable, kRestarted);
  }
  return {};
}

// What was READ up to now is the primary's if all oaths stand now. One that comes back with its memory has been READ
// rightly, too.
std::expected<void, Error> Scan::SeeOaths() {
  for (uint32_t resumes = 0;; ++resumes) {
    const auto seen = link().oaths().See(&peers_->oath_links(), fabric::Clock::now() + timeout_);
    if (seen || seen.error().code != Code::kUnavailable || resumes == kResumesMax) return seen;
    link().Depose();
    if (auto resumed = Resume(); !resumed) return resumed;
  }
}

std::expected<void, Error> Scan::Refresh() {
  auto fresh = link().RefreshNow(fabric::Clock::now() + timeout_);
  if (fresh) link().Confirm();
  return fresh;
}

// The oldest table that is younger than the last one, from a superblock that is READ anew, since
// who scans notices nothing else of a growth. kStop when there is none.
Scan::Outcome Scan::NextTable(uint64_t done_generation, bool retired) {
  if (auto fresh = Refresh(); !fresh) return std::unexpected(fresh.error());
  const auto& tables = link().view().tables;
  // Against the rules: where its items went, nobody says.
  if (retired && tables[0].generation <= done_generation) summary_.settled = false;
  const auto next = std::ranges::find_if(
      tables, [done_generation](const auto& table) { return table.generation > done_generation; });
  if (next == tables.end()) return Step::kStop;
  table_ = *next;
  return Step::kDone;
}

// The tables in the order of their generations. One that was cut short by the connection's end is
// begun again.
Scan::Outcome Scan::ScanShard() {
  stash_seen_ = {};
  uint64_t done_generation = 0;
  bool retired = false;
  uint32_t resumes = 0;
  for (uint32_t tables = 0; tables < kTablesMax;) {
    Outcome step = NextTable(done_generation, retired);
    if (step && *step == Step::kStop) return Step::kDone;
    if (step) step = ScanTable();
    if (!step) {
      if (step.error().code != Code::kUnavailable || ++resumes > kResumesMax) return step;
      if (auto resumed = Resume(); !resumed) return std::unexpected(resumed.error());
      continue;
    }
    if (*step == Step::kStop) return step;
    retired = *step == Step::kRetired;
    done_generation = table_.generation;
    ++tables;
  }
  summary_.settled = false;
  return Step::kDone;
}

}  // namespace plov
