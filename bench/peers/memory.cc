// The memory itself, as the limit of what any store of this kind can do: for each item the bucket
// that holds its reference, 64 bytes, and the record that the bucket leads to, 120 bytes, READ
// where they lie in the server's memory. Nothing is verified, nothing compared.
//
// It is that very memory, as its clients map it: the same pages, the same places.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "bench/peers/peer.h"
#include "cuckoo/geometry.h"
#include "cuckoo/hash.h"
#include "fabric/fabric.h"
#include "fabric/random.h"
#include "verify/record.h"
#include "verify/superblock.h"

namespace plov::bench {

namespace {

constexpr size_t kBatch = 16;  // READs that are prefetched before the first is done
constexpr size_t kReferenceOffsetWord = verify::Bucket::kPayloadWord + 2;
constexpr std::chrono::seconds kWaitMax{10};
// No sum of words comes to this but by chance: what is compared with it has to have been read.
constexpr uint64_t kNoSum = 0x9e3779b97f4a7c15;

uint64_t Sum(const std::byte* from, size_t words) {
  uint64_t sum = 0;
  for (size_t at = 0; at < words; ++at) {
    uint64_t word;
    std::memcpy(&word, from + at * verify::kWordBytes, sizeof(word));
    sum += word;
  }
  return sum;
}

uint64_t RecordOffsetIn(const std::byte* bucket) {
  uint64_t offset;
  std::memcpy(&offset, bucket + kReferenceOffsetWord * verify::kWordBytes, sizeof(offset));
  return offset;
}

class Memory final : public Peer {
 public:
  Memory(const Work& work, std::unique_ptr<fabric::Connection> connection)
      : Peer(work), connection_(std::move(connection)), region_(connection_->region()) {}

  // Where items are: a PUT over one changes its record, not its bucket.
  std::expected<void, Error> FindBuckets() {
    verify::Superblock superblock;
    if (region_.size() < sizeof(superblock)) {
      return Fail(Code::kUnavailable, "READs over this fabric are not loads from memory");
    }
    std::memcpy(&superblock, region_.data(), sizeof(superblock));
    if (verify::CheckSuperblock(superblock) != verify::SuperblockState::kWhole) {
      return Fail(Code::kProtocol, "the server's superblock is not whole");
    }
    const cuckoo::ShardView view = cuckoo::ShardView::Of(superblock);
    if (view.tables[1].generation != 0 || view.shard_count != 1) {
      return Fail(Code::kProtocol, "the server's table grows, or has shards");
    }
    const ItemShape& shape = work().items().shape();
    record_words_ =
        verify::RoundUpToWord(verify::RecordBytes(shape.key_bytes, shape.value_bytes_least)) /
        verify::kWordBytes;
    buckets_.reserve(work().count());
    for (const std::string_view key : work().keys()) {
      const auto bucket = BucketOf(key, view);
      if (!bucket) return Fail(Code::kCorrupt, "an item is in none of its buckets");
      buckets_.push_back(*bucket);
    }
    return {};
  }

  bool Can(Way way) const override { return way == Way::kGet || way == Way::kGetMany; }
  std::expected<void, Error> Do(Way way, Range range) override {
    sum_ += way == Way::kGet ? Chain(range) : Prefetched(range);
    if (connection_->alive()) return {};
    return Fail(Code::kUnavailable, "the server went away");
  }

 private:
  std::optional<uint64_t> BucketOf(std::string_view key, const cuckoo::ShardView& view) const {
    const cuckoo::Geometry& table = view.tables[0];
    const uint64_t hash = cuckoo::HashKey(key, view.hash_seed);
    for (const uint64_t index : cuckoo::WaysOf(hash, table.bucket_count)) {
      verify::Bucket bucket;
      verify::CopyFromShared(bucket.words(), region_.data() + table.BucketOffset(index),
                             table.bucket_bytes);
      if (bucket.kind() == verify::BucketKind::kReference && bucket.reference().hash == hash) {
        return table.BucketOffset(index);
      }
    }
    return std::nullopt;
  }

  // Where the next bucket is follows from the record before, so nothing overlaps.
  uint64_t Chain(Range range) const {
    constexpr size_t kBucketWords = verify::kBucketBytesMin / verify::kWordBytes;
    uint64_t sum = 0;
    for (size_t place = range.first; place < range.first + range.count; ++place) {
      const std::byte* bucket = region_.data() + buckets_[place] + (sum == kNoSum);
      sum = Sum(bucket, kBucketWords);
      const std::byte* record = region_.data() + RecordOffsetIn(bucket) + (sum == kNoSum);
      sum += Sum(record, record_words_);
    }
    return sum;
  }

  uint64_t Prefetched(Range range) const {
    constexpr size_t kBucketWords = verify::kBucketBytesMin / verify::kWordBytes;
    uint64_t sum = 0;
    std::array<const std::byte*, kBatch> records;
    for (size_t place = range.first; place < range.first + range.count; place += kBatch) {
      const size_t count = std::min(kBatch, range.first + range.count - place);
      for (size_t i = 0; i < count; ++i) verify::Prefetch(region_.data() + buckets_[place + i]);
      for (size_t i = 0; i < count; ++i) {
        const std::byte* bucket = region_.data() + buckets_[place + i];
        sum += Sum(bucket, kBucketWords);
        records[i] = region_.data() + RecordOffsetIn(bucket);
      }
      for (size_t i = 0; i < count; ++i) {
        verify::PrefetchLines(records[i], record_words_ * verify::kWordBytes);
      }
      for (size_t i = 0; i < count; ++i) sum += Sum(records[i], record_words_);
    }
    return sum;
  }

  std::unique_ptr<fabric::Connection> connection_;
  std::span<const std::byte> region_;
  size_t record_words_ = 0;
  std::vector<uint64_t> buckets_;  // offsets, by place in the order
  uint64_t sum_ = 0;               // so that nothing is left out
};

}  // namespace

StartedPeer StartMemory(const Work& work, const PeerPlace& place) {
  auto connection =
      fabric::Connection::Connect(place.plov, {.shard = 0,
                                               .format_version = verify::kFormatVersion,
                                               .client_id = fabric::RandomId(),
                                               .deadline = fabric::Clock::now() + kWaitMax});
  if (!connection) return std::unexpected(connection.error());
  auto memory = std::make_unique<Memory>(work, std::move(*connection));
  if (auto found = memory->FindBuckets(); !found) return std::unexpected(found.error());
  return memory;
}

}  // namespace plov::bench
