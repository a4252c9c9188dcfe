// StoreWorld: a small store, and a client's view of it: every reading back goes through a real
// Lookup over the bytes of the region, as one-sided READs would.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuckoo/lookup.h"
#include "cuckoo/read_copy.h"
#include "server/store.h"
#include "server/transaction.h"
#include "tests/server/units.h"

namespace plov::server {

// The store's clock at the start: 1000 s after boot, in Unix second 1'000'000'000.
inline constexpr uint64_t kStartUs = 1'000'000'000;
inline constexpr uint32_t kStartSeconds = 1'000'000'000;
inline constexpr int64_t kClockOffsetUs =
    int64_t{kStartSeconds} * 1'000'000 - static_cast<int64_t>(kStartUs);

// What a write carries beside key and value.
struct Extras {
  uint32_t flags = 0;
  uint32_t ttl_seconds = 0;
  std::optional<uint64_t> expected_version = {};
};

struct Stored {
  std::string value;
  uint64_t version = 0;
  uint32_t flags = 0;
  uint32_t expiry = 0;

  bool operator==(const Stored&) const = default;
};
using Model = std::map<std::string, Stored>;

// What a time to live comes to: it is counted from the next full second.
inline uint32_t ExpiryAfter(uint64_t now_us, uint32_t ttl_seconds) {
  const uint64_t seconds = kStartSeconds + (now_us - kStartUs + 999'999) / 1'000'000;
  const uint64_t expiry = ttl_seconds == 0 ? 0 : seconds + ttl_seconds;
  return static_cast<uint32_t>(std::min<uint64_t>(expiry, UINT32_MAX));
}

inline verify::Request RequestOf(verify::Operation operation, std::string_view key,
                                 std::string_view value = {}, const Extras& extras = {}) {
  verify::Request request;
  request.operation = operation;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  request.flags = extras.flags;
  request.ttl_seconds = extras.ttl_seconds;
  request.conditional = extras.expected_version.has_value();
  request.expected_version = extras.expected_version.value_or(0);
  return request;
}

// Store's steps with all their slices at once.
inline std::expected<Store::Writing, Code> PrepareAll(Store* store, const verify::Request& request,
                                                      uint64_t now_us) {
  Store::Writing writing;
  while (true) {
    const auto status = store->Prepare(request, now_us, &writing);
    if (!status) continue;
    if (*status != Code::kOk) return std::unexpected(*status);
    return writing;
  }
}

inline WriteReply CommitAll(Store* store, Store::Writing writing, const verify::Request& request,
                            uint64_t now_us) {
  std::optional<WriteReply> reply;
  while (!reply) reply = store->Commit(request, now_us, &writing);
  return *reply;
}

// A COMMIT as a client sends it.
struct SentCommit {
  uint64_t client_id = 0;
  uint64_t sequence = 1;
};
inline WriteReply DoCommit(Store* store, const verify::Transaction& all, uint64_t now_us,
                           const SentCommit& sent = {}, const Siblings* siblings = nullptr) {
  const std::string body = verify::EncodeTransaction(all);
  auto request = RequestOf(verify::Operation::kCommit, "of all", body);
  request.sequence = sent.sequence;
  Transaction transaction;
  if (!transaction.Open(request, sent.client_id, store, siblings)) return {Code::kProtocol, 0};
  std::optional<WriteReply> reply;
  while (transaction.is_of_several() && !reply) {
    transaction.GoInTurns(now_us, false);
    reply = transaction.answer();
  }
  while (!reply) reply = transaction.Go(now_us, false);
  return *reply;
}

inline void Abandon(Store* store, Store::Writing writing) { store->Abandon(&writing); }

class StoreWorld {
 public:
  static StoreOptions SmallOptions() {
    return {.memory_bytes = 16 * kMiB,
            .hash_seed = 0x5eed,
            .clock_offset_us = kClockOffsetUs,
            .bucket_count = 1024,
            .grows = false,
            .stashes = false};
  }

  explicit StoreWorld(const StoreOptions& options = SmallOptions())
      : StoreWorld(std::move(*Store::Create(options))) {}
  explicit StoreWorld(std::unique_ptr<Store> store)
      : store_(std::move(store)), view_(cuckoo::ShardView::Of(ReadSuperblock())) {}

  Store& store() { return *store_; }
  std::byte* memory() { return store_->region().data(); }
  const cuckoo::ShardView& view() const { return view_; }
  // As a client does when a bucket says that its view is old.
  void Refresh() { view_ = cuckoo::ShardView::Of(ReadSuperblock()); }
  uint64_t now_us = kStartUs;

  WriteReply Put(std::string_view key, std::string_view value, const Extras& extras = {}) {
    return store_->Write(RequestOf(verify::Operation::kPut, key, value, extras), now_us);
  }
  WriteReply Add(std::string_view key, std::string_view value, const Extras& extras = {}) {
    return store_->Write(RequestOf(verify::Operation::kAdd, key, value, extras), now_us);
  }
  WriteReply Replace(std::string_view key, std::string_view value, const Extras& extras = {}) {
    return store_->Write(RequestOf(verify::Operation::kReplace, key, value, extras), now_us);
  }
  WriteReply Delete(std::string_view key, const Extras& extras = {}) {
    return store_->Delete(RequestOf(verify::Operation::kDelete, key, {}, extras), now_us);
  }

  verify::Superblock ReadSuperblock() {
    verify::Superblock superblock;
    verify::CopyFromShared(&superblock, memory(), sizeof(superblock));
    EXPECT_EQ(verify::CheckSuperblock(superblock), verify::SuperblockState::kWhole);
    return superblock;
  }

  const cuckoo::Geometry& geometry() const { return view_.tables[0]; }
  uint64_t HashOf(std::string_view key) const { return cuckoo::HashKey(key, view_.hash_seed); }
  std::array<uint64_t, cuckoo::kWays> WaysOf(std::string_view key) const {
    return cuckoo::WaysOf(HashOf(key), geometry().bucket_count);
  }

  // A private copy of a bucket, nullopt when it is not whole.
  std::optional<verify::Bucket> BucketAt(uint64_t index) {
    verify::Bucket bucket;
    verify::CopyFromShared(bucket.words(), memory() + geometry().BucketOffset(index),
                           geometry().bucket_bytes);
    if (!bucket.Whole(geometry().bucket_bytes, geometry().SeedOf(index))) return std::nullopt;
    return bucket;
  }

  // The bucket that refers to a key's record or holds the key inline, wherever it is.
  std::optional<uint64_t> IndexOf(std::string_view key) {
    for (const uint64_t index : WaysOf(key)) {
      const auto bucket = BucketAt(index);
      if (!bucket) continue;
      if (bucket->kind() == verify::BucketKind::kReference &&
          bucket->reference().hash == HashOf(key)) {
        return index;
      }
      if (bucket->kind() == verify::BucketKind::kInline &&
          bucket->inline_item(geometry().bucket_bytes)->HasKey(key)) {
        return index;
      }
    }
    return std::nullopt;
  }

  // A private copy of a bucket of the stash, nullopt when it is not whole.
  std::optional<verify::Bucket> StashedAt(uint64_t index) {
    const auto& stash = view_.stash;
    verify::Bucket bucket;
    verify::CopyFromShared(bucket.words(), memory() + stash.BucketOffset(index),
                           stash.bucket_bytes);
    if (!bucket.Whole(stash.bucket_bytes, stash.SeedOf(index))) return std::nullopt;
    return bucket;
  }
  // What the stash holds of a key, by its bytes alone.
  std::optional<Stored> Stashed(std::string_view key) {
    Refresh();
    for (uint64_t i = 0; i < view_.stash.bucket_count(); ++i) {
      const auto bucket = StashedAt(i);
      if (!bucket || bucket->kind() == verify::BucketKind::kEmpty) continue;
      const auto item = ItemOf(*bucket);
      if (item && item->HasKey(key)) {
        return Stored{item->value(), item->version(), item->flags(), item->expiry()};
      }
    }
    return std::nullopt;
  }
  // Nullopt when the record is not whole, or not the one that is meant.
  std::optional<verify::MaskedItem> ItemOf(const verify::Bucket& bucket) {
    if (bucket.kind() == verify::BucketKind::kInline) {
      return bucket.inline_item(geometry().bucket_bytes);
    }
    const verify::Reference to = bucket.reference();
    const auto item =
        verify::CheckRecord({memory() + to.offset, to.record_bytes}, view().record_seed);
    return item && item->version() == to.version ? item : std::nullopt;
  }
  // Calls visit(bucket, index) for every bucket of table and stash, nullopt for one that is not
  // whole; those of the stash follow those that keys hash to.
  void VisitBuckets(const auto& visit) {
    Refresh();
    const uint64_t count = geometry().bucket_count;
    for (uint64_t i = 0; i < count; ++i) visit(BucketAt(i), i);
    for (uint64_t i = 0; i < view_.stash.bucket_count(); ++i) visit(StashedAt(i), count + i);
  }

  // Where a key's record is. The key must be in one.
  verify::Reference ReferenceOf(std::string_view key) {
    return BucketAt(IndexOf(key).value())->reference();
  }
  bool IsLiveAt(uint64_t record_offset) {
    return verify::OwnRecordHead(memory(), record_offset).live;
  }
  bool IsLiveAt(uint64_t record_offset, uint64_t version) {
    const verify::OwnHead head = verify::OwnRecordHead(memory(), record_offset);
    return head.live && head.version == version;
  }

  // One bit of the shard's memory turns over.
  void Flip(uint64_t offset, uint32_t bit = 0) {
    memory()[offset] ^= static_cast<std::byte>(1u << bit);
  }

 private:
  std::unique_ptr<Store> store_;
  cuckoo::ShardView view_;
};

// What a one-sided GET came to.
struct Answer {
  cuckoo::Lookup::Action action = cuckoo::Lookup::Action::kRead;
  Stored item = {};
  bool suspect = false;

  bool hit() const { return action == cuckoo::Lookup::Action::kHit; }
  bool absent() const { return action == cuckoo::Lookup::Action::kAbsent; }
};

// A client that has only the region's bytes, also where it would ask the server for a key that may be
// stashed. It leaves expiry to its caller.
class OneSidedReader {
 public:
  explicit OneSidedReader(StoreWorld* world, size_t cache_bytes = 0)
      : world_(world), cache_(cache_bytes) {}

  Answer Get(std::string_view key) {
    using Action = cuckoo::Lookup::Action;
    const cuckoo::Lookup::Context context{&world_->view(), &cache_, &stats_,
                                          [] { return uint64_t{1}; }};
    cuckoo::Lookup lookup;
    Action action = lookup.Start(&context, key, world_->HashOf(key), 1);
    while (action == Action::kRead || action == Action::kPause) {
      action = action == Action::kPause ? lookup.Resume() : Read(&lookup);
    }
    Answer answer{.action = action};
    if (answer.hit()) {
      const verify::ItemView& item = lookup.item();
      answer.item = {std::string(item.value), item.version, item.flags, item.expiry};
    }
    answer.suspect = action == Action::kAskServer && lookup.suspect();
    if (answer.action == Action::kAskServer && HomeOf(key).stashed()) {
      const auto stashed = world_->Stashed(key);
      answer.action = stashed ? Action::kHit : Action::kAbsent;
      answer.item = stashed.value_or(Stored{});
    }
    return answer;
  }

  cuckoo::LocationCache& cache() { return cache_; }

 private:
  verify::Bucket HomeOf(std::string_view key) {
    return world_->BucketAt(world_->WaysOf(key)[0]).value_or(verify::Bucket());
  }
  cuckoo::Lookup::Action Read(cuckoo::Lookup* lookup) {
    const auto want = lookup->want();
    EXPECT_LE(want.offset + want.bytes, world_->view().region_bytes);
    return read_.Feed(lookup, world_->memory());
  }

  StoreWorld* world_;
  cuckoo::LocationCache cache_;
  cuckoo::LookupStats stats_;
  cuckoo::ReadCopy read_;
};

// Everything that the region holds, found by reading all of its buckets.
struct Census {
  uint64_t items = 0;
  uint64_t displaced = 0;
  uint64_t stashed = 0;
  uint64_t payload_bytes = 0;
  uint64_t record_bytes = 0;
  std::string wrong;  // the first thing that is not whole
};

inline Census CensusOf(StoreWorld* world) {
  Census census;
  std::set<std::string> keys;
  world->VisitBuckets([&](const std::optional<verify::Bucket>& bucket, uint64_t index) {
    if (bucket && bucket->kind() == verify::BucketKind::kEmpty) return;
    const auto item = bucket ? world->ItemOf(*bucket) : std::nullopt;
    if (!item) {
      census.wrong = (bucket ? "item in bucket " : "bucket ") + std::to_string(index);
      return;
    }
    if (bucket->kind() == verify::BucketKind::kReference) {
      const verify::Reference to = bucket->reference();
      census.record_bytes += to.record_bytes;
      if (!world->IsLiveAt(to.offset, to.version)) {
        census.wrong = "live of " + item->key();
      }
    }
    if (!keys.emplace(item->key()).second) census.wrong = "twice: " + item->key();
    ++census.items;
    if (index >= world->geometry().bucket_count) {
      ++census.stashed;
    } else {
      census.displaced += world->WaysOf(item->key())[0] == index ? 0 : 1;
    }
    census.payload_bytes += item->payload_bytes();
  });
  return census;
}

// The region holds exactly the model (items that are expired now may still lie there), readers find
// it, and the accounts are true.
inline ::testing::AssertionResult Holds(StoreWorld* world, const Model& model) {
  OneSidedReader reader(world);
  const uint64_t now_seconds = world->store().UnixSeconds(world->now_us);
  uint64_t unexpired = 0;
  for (const auto& [key, stored] : model) {
    const Answer answer = reader.Get(key);
    const bool expired = stored.expiry != 0 && stored.expiry <= now_seconds;
    if (expired && answer.absent()) continue;
    unexpired += expired ? 0 : 1;
    if (!answer.hit()) return ::testing::AssertionFailure() << key << " is not found";
    if (answer.item != stored) {
      return ::testing::AssertionFailure() << key << " is not what was stored";
    }
  }
  const Census census = CensusOf(world);
  const Store& store = world->store();
  if (!census.wrong.empty()) return ::testing::AssertionFailure() << census.wrong;
  if (census.items != store.table().stats().items) {
    return ::testing::AssertionFailure() << "stats: items";
  }
  if (census.displaced != store.table().stats().displaced) {
    return ::testing::AssertionFailure() << "stats: displaced";
  }
  if (census.stashed != store.table().stats().stashed) {
    return ::testing::AssertionFailure() << "stats: stashed";
  }
  if (census.payload_bytes != store.stats().payload_bytes) {
    return ::testing::AssertionFailure() << "stats: payload_bytes " << store.stats().payload_bytes
                                         << ", there are " << census.payload_bytes;
  }
  if (census.items < unexpired || census.items > model.size()) {
    return ::testing::AssertionFailure() << census.items << " items are stored";
  }
  if (store.records().allocated_bytes() < census.record_bytes) {
    return ::testing::AssertionFailure() << "stats: allocated_bytes";
  }
  return ::testing::AssertionSuccess();
}

// Values that lie in the bucket, and that do not.
inline std::string InlineValue(uint64_t seed = 0) { return "v" + std::to_string(seed % 10'000); }
inline std::string RecordValue(uint64_t seed = 0, size_t bytes = 200) {
  std::string value(bytes, static_cast<char>('a' + seed % 26));
  const std::string number = std::to_string(seed);
  value.replace(0, number.size(), number);
  return value;
}

}  // namespace plov::server
