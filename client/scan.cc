// Engine: a scan of every item by one-sided READs of the table.
//
// A key that moves from a bucket not yet read to one read already would be missed by one pass. So
// passes are repeated over the buckets whose version changed since they were read, until none has.

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "client/engine.h"
#include "verify/record.h"

namespace plov {

using verify::Bucket;
using verify::BucketKind;

namespace {

constexpr uint64_t kBucketsPerRead = 64;
constexpr uint32_t kPassesMax = 8;
// Torn READs of one bucket or record before it is counted as unreadable; with a yield each, about
// the time of a server's scheduling quantum.
constexpr uint32_t kRereadsMax = 10'000;

}  // namespace

struct Engine::Scanning {
  ScanCallback* item;
  ScanSummary* summary;
  std::vector<uint32_t> versions;  // of the buckets as last read
  bool first_pass = true;
  bool changed = false;
  std::vector<uint64_t> chunk;   // words of kBucketsPerRead buckets
  std::vector<uint64_t> record;  // words of a record
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
    if (fabric::Clock::now() > deadline) return Fail(Code::kTimeout, "a READ does not complete");
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
std::expected<Engine::ScanStep, Error> Engine::ScanItem(Link* link, const Bucket& bucket,
                                                        Scanning* scanning) {
  std::optional<verify::ItemView> item;
  if (bucket.kind() == BucketKind::kInline) {
    item = bucket.inline_item(link->view.tables[0].bucket_bytes);
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
std::expected<Engine::ScanStep, Error> Engine::ScanBucket(Link* link, uint64_t index,
                                                          Bucket* bucket, Scanning* scanning) {
  const cuckoo::Geometry& table = link->view.tables[0];
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
    if (!scanning->first_pass && bucket->version() == version) return ScanStep::kDone;
    const auto step = ScanItem(link, *bucket, scanning);
    if (step && *step == ScanStep::kAgain) continue;
    version = bucket->version();
    scanning->changed = true;
    return step;
  }
  ++scanning->summary->unreadable;
  return ScanStep::kDone;
}

std::expected<Engine::ScanStep, Error> Engine::ScanPass(Link* link, Scanning* scanning) {
  const cuckoo::Geometry& table = link->view.tables[0];
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
      const auto step = ScanBucket(link, first + i, &bucket, scanning);
      if (!step || *step == ScanStep::kStop) return step;
    }
  }
  return ScanStep::kDone;
}

std::expected<ScanSummary, Error> Engine::Scan(ScanCallback* item) {
  if (busy_slots_ > 0) return Fail(Code::kInvalidArgument, "a scan needs no GET under way");
  ScanSummary summary;
  summary.settled = true;
  for (const auto& link : links_) {
    Scanning scanning{item, &summary, {}, true, true, {}, {}};
    scanning.versions.resize(link->view.tables[0].bucket_count);
    uint32_t passes = 0;
    for (; passes < kPassesMax && scanning.changed; ++passes) {
      scanning.changed = false;
      const auto step = ScanPass(link.get(), &scanning);
      if (!step) return std::unexpected(step.error());
      if (*step == ScanStep::kStop) return summary;
      scanning.first_pass = false;
    }
    summary.passes = std::max(summary.passes, passes);
    summary.settled = summary.settled && !scanning.changed;
  }
  return summary;
}

}  // namespace plov
