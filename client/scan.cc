// Engine: a scan of every item by one-sided READs of the tables.
//
// A key that moves from a bucket not yet read to one read already would be missed by one pass. So
// passes are repeated over the buckets whose version changed since they were read, until none has.
//
// While the table grows there are two, and keys only travel from the older to the newer. So tables
// are scanned in the order of their generations: a key that the last pass over the older one did
// not meet had left it by then, and is in the newer one when that is begun. A bucket that is
// `retired` says that nothing is left in its table at all.

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "client/engine.h"
#include "verify/record.h"

namespace plov {

using fabric::Clock;
using verify::Bucket;
using verify::BucketKind;
using verify::Keep;
using verify::Safeguard;

namespace {

constexpr uint64_t kBucketsPerRead = 64;
constexpr uint32_t kPassesMax = 8;
// Tables of one shard, and connections, that a scan sees come and go before it leaves it at that.
constexpr uint32_t kTablesMax = 16;
constexpr uint32_t kResumesMax = 8;
// Torn READs of one bucket or record before it is counted as unreadable; with a yield each, about
// the time of a server's scheduling quantum.
constexpr uint32_t kRereadsMax = 10'000;

}  // namespace

struct Engine::Scanning {
  ScanCallback* item;
  ScanSummary* summary;
  uint32_t shard;
  uint64_t incarnation;
  cuckoo::Geometry table = {};
  std::vector<uint32_t> versions = {};  // of the buckets as last read
  bool first_pass = true;
  bool changed = false;
  std::vector<uint64_t> chunk = {};   // words of kBucketsPerRead buckets
  std::vector<uint64_t> record = {};  // words of a record
};

std::expected<void, Error> Engine::ReadNow(Link* link, uint64_t offset, std::span<std::byte> to) {
  fabric::ReadOp op;
  op.offset = offset;
  op.bytes = op.head_bytes = static_cast<uint32_t>(to.size());
  op.head = to.data();
  const Deadline deadline = DeadlineFromNow();
  link->connection->Read({&op, 1});
  fabric::Completion completion;
  while (link->connection->Poll({&completion, 1}) == 0) {
    if (Clock::now() > deadline) return Fail(Code::kTimeout, "a READ does not complete");
  }
  if (completion.status == fabric::Status::kPeerGone) {
    return Fail(Code::kUnavailable, "the server went away during the scan");
  }
  if (completion.status == fabric::Status::kOutOfRange) {
    return Fail(Code::kCorrupt, "the table points outside the server's memory");
  }
  return {};
}

// Reports the item of one verified bucket. False when the record was overwritten meanwhile: the
// bucket is to be read again.
std::expected<Engine::ScanStep, Error> Engine::ScanItem(const Bucket& bucket, Scanning* scanning) {
  Link* link = links_[scanning->shard].get();
  std::optional<verify::ItemView> item;
  if (bucket.kind() == BucketKind::kInline) {
    item = bucket.inline_item(scanning->table.bucket_bytes);
  } else if (bucket.kind() == BucketKind::kReference) {
    const verify::Reference reference = bucket.reference();
    if (reference.record_bytes > verify::kRecordBytesMax) return ScanStep::kAgain;
    scanning->record.resize(verify::RoundUpToWord(reference.record_bytes) / verify::kWordBytes);
    const auto bytes =
        std::as_writable_bytes(std::span(scanning->record)).first(reference.record_bytes);
    if (auto read = ReadNow(link, reference.offset, bytes); !read) {
      return std::unexpected(read.error());
    }
    item = verify::ParseRecord(bytes, link->view.record_seed);
    if (!item || item->version != reference.version) return ScanStep::kAgain;
  }
  if (!item || IsExpired(item->expiry, link->view, MonotonicUs())) return ScanStep::kDone;
  ++scanning->summary->items;
  const bool more =
      (*scanning->item)(item->key, {item->value, item->version, item->flags, item->expiry});
  return more ? ScanStep::kDone : ScanStep::kStop;
}

// One bucket, from the copy that came with its chunk; read again for itself while it is torn.
std::expected<Engine::ScanStep, Error> Engine::ScanBucket(uint64_t index, Bucket* bucket,
                                                          Scanning* scanning) {
  Link* link = links_[scanning->shard].get();
  const cuckoo::Geometry& table = scanning->table;
  uint32_t& version = scanning->versions[index];
  for (uint32_t attempt = 0; attempt < kRereadsMax; ++attempt) {
    if (attempt > 0) {
      ::sched_yield();
      const auto to = std::as_writable_bytes(std::span(bucket->words(), verify::kBucketWordsMax));
      if (auto read = ReadNow(link, table.BucketOffset(index), to.first(table.bucket_bytes));
          !read) {
        return std::unexpected(read.error());
      }
    }
    if (!bucket->Whole(table.bucket_bytes, table.SeedOf(index))) continue;
    if (bucket->kind() == BucketKind::kRetired) return ScanStep::kRetired;
    if (!scanning->first_pass && bucket->version() == version) return ScanStep::kDone;
    const auto step = ScanItem(*bucket, scanning);
    if (step && *step == ScanStep::kAgain) continue;
    version = bucket->version();
    scanning->changed = Keep(Safeguard::kScanRepeated);
    return step;
  }
  ++scanning->summary->unreadable;
  return ScanStep::kDone;
}

std::expected<Engine::ScanStep, Error> Engine::ScanPass(Scanning* scanning) {
  Link* link = links_[scanning->shard].get();
  const cuckoo::Geometry& table = scanning->table;
  const size_t bucket_words = table.bucket_bytes / verify::kWordBytes;
  for (uint64_t first = 0; first < table.bucket_count; first += kBucketsPerRead) {
    const uint64_t count = std::min(kBucketsPerRead, table.bucket_count - first);
    scanning->chunk.resize(count * bucket_words);
    const auto bytes = std::as_writable_bytes(std::span(scanning->chunk));
    if (auto read = ReadNow(link, table.BucketOffset(first), bytes); !read) {
      return std::unexpected(read.error());
    }
    for (uint64_t i = 0; i < count; ++i) {
      Bucket bucket;
      std::memcpy(bucket.words(), &scanning->chunk[i * bucket_words], table.bucket_bytes);
      const auto step = ScanBucket(first + i, &bucket, scanning);
      if (!step || *step != ScanStep::kDone) return step;
    }
  }
  return ScanStep::kDone;
}

// Passes over one table until it does not change any more, or is history.
std::expected<Engine::ScanStep, Error> Engine::ScanTable(Scanning* scanning) {
  scanning->versions.assign(scanning->table.bucket_count, 0);
  scanning->first_pass = true;
  scanning->changed = true;
  uint32_t& passes_most = scanning->summary->passes;
  for (uint32_t passes = 1; passes <= kPassesMax && scanning->changed; ++passes) {
    passes_most = std::max(passes_most, passes);
    scanning->changed = false;
    const auto step = ScanPass(scanning);
    if (!step || *step != ScanStep::kDone) return step;
    scanning->first_pass = false;
  }
  if (scanning->changed) scanning->summary->settled = false;
  return ScanStep::kDone;
}

// Connects anew, to the same life of the server only: another one has none of the items.
std::expected<void, Error> Engine::Resume(const Scanning& scanning) {
  const Deadline deadline = DeadlineFromNow();
  while (!alive()) {
    if (Pump()) continue;
    if (Clock::now() >= deadline) return std::unexpected(down_);
    Idle(deadline);
  }
  const bool same = scanning.shard < links_.size() &&
                    links_[scanning.shard]->view.incarnation == scanning.incarnation;
  if (!same) return Fail(Code::kUnavailable, "the server was restarted during the scan");
  return {};
}

// The tables in the order of their generations; the superblock is READ anew before each, since who
// scans notices nothing else of a growth. A table that was cut short by the connection's end is
// begun again.
std::expected<Engine::ScanStep, Error> Engine::ScanShard(Scanning* scanning) {
  uint64_t done_generation = 0;
  bool retired = false;
  uint32_t resumes = 0;
  for (uint32_t tables = 0; tables < kTablesMax;) {
    std::expected<ScanStep, Error> step = ScanStep::kDone;
    if (auto fresh = RefreshNow(scanning->shard); !fresh) {
      step = std::unexpected(fresh.error());
    } else {
      const auto& known = links_[scanning->shard]->view.tables;
      const auto next = std::ranges::find_if(known, [done_generation](const auto& table) {
        return table.generation > done_generation;
      });
      // Against the rules: where its items went, nobody says.
      if (retired && known[0].generation <= done_generation) scanning->summary->settled = false;
      if (next == known.end()) return ScanStep::kDone;
      scanning->table = *next;
      step = ScanTable(scanning);
    }
    if (!step) {
      if (step.error().code != Code::kUnavailable || ++resumes > kResumesMax) return step;
      if (auto resumed = Resume(*scanning); !resumed) return std::unexpected(resumed.error());
      continue;
    }
    if (*step == ScanStep::kStop) return step;
    retired = *step == ScanStep::kRetired;
    done_generation = scanning->table.generation;
    ++tables;
  }
  scanning->summary->settled = false;
  return ScanStep::kDone;
}

// Waits for what lookups that have ended left under way.
std::expected<void, Error> Engine::Settle() {
  const Deadline deadline = DeadlineFromNow();
  const auto reading = [](const auto& link) { return link->reads_in_flight > 0; };
  while (std::ranges::any_of(links_, reading)) {
    CollectReads();
    if (Clock::now() > deadline) return Fail(Code::kTimeout, "a READ does not complete");
  }
  return {};
}

std::expected<ScanSummary, Error> Engine::Scan(ScanCallback* item) {
  if (busy_slots_ > 0) return Fail(Code::kInvalidArgument, "a scan needs no GET under way");
  if (auto settled = Settle(); !settled) return std::unexpected(settled.error());
  ScanSummary summary;
  summary.settled = true;
  for (uint32_t shard = 0; shard < shard_count(); ++shard) {
    Scanning scanning{item, &summary, shard, links_[shard]->view.incarnation};
    const auto step = ScanShard(&scanning);
    if (!step) return std::unexpected(step.error());
    if (*step == ScanStep::kStop) return summary;
  }
  return summary;
}

}  // namespace plov
