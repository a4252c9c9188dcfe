#include "client/scan.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <optional>

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
  for (shard_ = 0; shard_ < shard_count; ++shard_) {
    if (auto up = await_(shard_); !up) return std::unexpected(up.error());
    incarnation_ = link().view().incarnation;
    const Outcome step = ScanShard();
    if (!step) return std::unexpected(step.error());
    if (auto seen = SeeOaths(); !seen) return std::unexpected(seen.error());
    if (*step == Step::kStop) break;
  }
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
Scan::Outcome Scan::ScanItem(Bucket* bucket) {
  std::optional<verify::ItemView> item;
  if (bucket->kind() == BucketKind::kInline) {
    item = bucket->Unmask(table_.bucket_bytes);
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

// One bucket, from the copy that came with its chunk; READ again for itself while it is torn.
template <typename Geometry>
Scan::Outcome Scan::ScanBucket(const Geometry& geometry, uint64_t index, bool is_new,
                               uint32_t* version, Bucket* bucket) {
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
    if (!is_new && bucket->version() == *version) return Step::kDone;
    const Outcome step = ScanItem(bucket);
    if (!step) return step;  // nobody was told of its item
    if (*step == Step::kAgain) continue;
    *version = bucket->version();
    changed_ = true;
    return step;
  }
  ++summary_.unreadable;
  // So a table is never scanned far into memory that nobody wrote.
  if (summary_.unreadable > kUnreadableMax && summary_.unreadable > index / 2) {
    return Fail(Code::kCorrupt, kMostlyDamage);
  }
  return Step::kDone;
}

template <typename Geometry>
Scan::Outcome Scan::ScanBuckets(const Geometry& geometry, uint64_t count,
                                std::vector<uint32_t>* versions) {
  const size_t known = versions->size();  // it grows with what is there, whatever is claimed
  const uint64_t bucket_bytes = geometry.bucket_bytes;
  const uint64_t per_read = kBytesPerRead / bucket_bytes;
  for (uint64_t first = 0; first < count; first += per_read) {
    const uint64_t part = std::min(per_read, count - first);
    if (versions->size() < first + part) versions->resize(first + part);
    const auto bytes =
        Read(geometry.BucketOffset(first), static_cast<uint32_t>(part * bucket_bytes));
    if (!bytes) return std::unexpected(bytes.error());
    chunk_.resize(bytes->size() / verify::kWordBytes);
    std::memcpy(chunk_.data(), bytes->data(), bytes->size());
    for (uint64_t i = 0; i < part; ++i) {
      Bucket bucket;
      std::memcpy(bucket.words(), &chunk_[i * bucket_bytes / verify::kWordBytes], bucket_bytes);
      const uint64_t index = first + i;
      const Outcome step =
          ScanBucket(geometry, index, index >= known, &(*versions)[index], &bucket);
      if (!step || *step != Step::kDone) return step;
    }
  }
  return Step::kDone;
}

Scan::Outcome Scan::ScanPass() {
  record_bytes_ = 0;
  const Outcome step = ScanBuckets(table_, table_.bucket_count, &versions_);
  if (!step || *step != Step::kDone) return step;
  if (auto fresh = Refresh(); !fresh) return std::unexpected(fresh.error());
  const cuckoo::StashGeometry stash = link().view().stash;
  return ScanBuckets(stash, stash.bucket_count(), &stash_versions_);
}

// Passes over one table until it does not change any more, or is history.
Scan::Outcome Scan::ScanTable() {
  versions_.clear();
  changed_ = true;
  for (uint32_t passes = 1; passes <= kPassesMax && changed_; ++passes) {
    summary_.passes = std::max(summary_.passes, passes);
    changed_ = false;
    const Outcome step = ScanPass();
    if (!step || *step != Step::kDone) return step;
  }
  if (changed_) summary_.settled = false;
  return Step::kDone;
}

// Goes on in the same life of the server only: another one has none of the items.
std::expected<void, Error> Scan::Resume() {
  if (auto up = await_(shard_); !up) return up;
  if (link().view().incarnation != incarnation_) {
    return Fail(Code::kUnavailable, "the server was restarted during the scan");
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
  stash_versions_.clear();
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
