// LookupFixture: a Lookup that is fed by hand. There is no region: a test says what each READ
// brings, and the fixture seals it for the place that the lookup asked for.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/lookup.h"
#include "verify/record.h"

namespace plov::cuckoo {

class LookupFixture : public ::testing::Test {
 protected:
  using Action = Lookup::Action;
  using Bucket = verify::Bucket;
  using Image = std::vector<std::byte>;

  static constexpr uint64_t kIncarnation = 0xfeedface;
  static constexpr uint64_t kRegionBytes = 1 << 20;
  static constexpr uint64_t kRecordOffset = 512 << 10;
  static constexpr uint32_t kBytes = verify::kBucketBytesMin;
  static constexpr uint64_t kCount = 64;

  LookupFixture() {
    now_us_ = 1'000'000;
    view_.incarnation = kIncarnation;
    view_.hash_seed = 99;
    view_.record_seed = verify::RecordSeed(kIncarnation);
    view_.region_bytes = kRegionBytes;
    view_.shard_count = 1;
    view_.tables[0] = Geometry::Of({7, 4096, kCount, kBytes, 0}, kIncarnation);
    hash_ = HashKey(key_, view_.hash_seed);
  }

  void AddNextTable() {
    view_.tables[1] = Geometry::Of({8, 65536, 2 * kCount, kBytes, 0}, kIncarnation);
  }

  static uint64_t Now() { return now_us_; }

  Action Start() { return StartWith(hash_); }
  Action StartWith(uint64_t hash) { return lookup_.Start(&context_, key_, hash, now_us_); }

  uint64_t IndexOf(uint32_t way, size_t table = 0) const {
    return WaysOf(hash_, view_.tables[table].bucket_count)[way];
  }

  // Whether the lookup asks for the key's bucket of that way.
  ::testing::AssertionResult Wants(uint32_t way, size_t table = 0) const {
    const Lookup::Want& want = lookup_.want();
    if (!want.record && want.bytes == kBytes &&
        want.offset == view_.tables[table].BucketOffset(IndexOf(way, table))) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "wants " << (want.record ? "a record" : "a bucket") << " at " << want.offset;
  }

  ::testing::AssertionResult WantsRecord(uint64_t offset, size_t bytes) const {
    const Lookup::Want& want = lookup_.want();
    if (want.record && want.offset == offset && want.bytes == bytes) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "wants " << want.bytes << " bytes at " << want.offset;
  }

  // Bytes as a writer would have published them where the lookup READs.
  Action Feed(Bucket bucket) {
    for (const Geometry& table : view_.tables) {
      const uint64_t offset = lookup_.want().offset - table.offset;
      if (table.generation == 0 || offset >= table.table_bytes()) continue;
      bucket.Seal(kBytes, table.SeedOf(offset / kBytes));
      return FeedRaw(bucket);
    }
    ADD_FAILURE() << "no bucket is at " << lookup_.want().offset;
    return Action::kAskServer;
  }

  Action FeedRaw(const Bucket& bucket) {
    EXPECT_FALSE(lookup_.want().record);
    buckets_.push_back(bucket);
    return lookup_.FeedBucket(&buckets_.back());
  }

  // Bytes that no writer has sealed; the same for the same `salt`.
  Action FeedTorn(uint64_t salt = 1) {
    Bucket bucket;
    bucket.words()[0] = salt;
    return FeedRaw(bucket);
  }

  Action FeedRecord(Image image) {
    EXPECT_TRUE(lookup_.want().record);
    EXPECT_EQ(lookup_.want().bytes, image.size());
    records_.push_back(std::move(image));
    return lookup_.FeedRecord(records_.back());
  }

  Image RecordOf(std::string_view key, std::string_view value, uint64_t version) const {
    const size_t bytes = verify::RecordBytes(key.size(), value.size());
    std::vector<uint64_t> words(verify::RoundUpToWord(bytes) / verify::kWordBytes);
    const verify::ItemView item{key, value, version, 0, 0, verify::Mask::Of(verify::Mix(version))};
    verify::WriteRecordHead(words.data(), item, value.size());
    verify::WriteRecordValue(words.data(), key.size(), value, item.mask);
    verify::SealRecord(words.data(), bytes, view_.record_seed);
    const auto image = std::as_bytes(std::span(words)).first(bytes);
    return {image.begin(), image.end()};
  }

  static Bucket Empty(uint32_t version = 1) {
    Bucket bucket;
    bucket.set_version(version);
    return bucket;
  }

  static Bucket Inline(std::string_view key, std::string_view value, uint64_t version = 5) {
    Bucket bucket = Empty();
    bucket.SetInline({key, value, version, 0, 0, verify::Mask::Of(verify::Mix(version))}, kBytes);
    return bucket;
  }

  Bucket ReferenceTo(const Image& record, uint64_t version, uint64_t offset = kRecordOffset) const {
    Bucket bucket = Empty();
    bucket.SetReference({hash_, version, offset, static_cast<uint32_t>(record.size()), 0, 77},
                        kBytes);
    return bucket;
  }

  // A home that lists the key, or whoever else has its fingerprint, at these ways.
  Bucket Listing(std::initializer_list<uint32_t> ways, uint32_t version = 1) const {
    Bucket bucket = Empty(version);
    size_t index = 0;
    for (const uint32_t way : ways) bucket.set_entry(index++, {way, FingerprintOf(hash_)});
    return bucket;
  }

  static Bucket Overflowing(uint32_t version = 1) {
    Bucket bucket = Empty(version);
    bucket.set_overflow(true);
    return bucket;
  }

  static Bucket Forwarding(Bucket bucket) {
    bucket.set_forward(true);
    return bucket;
  }

  static inline uint64_t now_us_ = 0;

  ShardView view_;
  LocationCache cache_{4096};
  LookupStats stats_;
  const Lookup::Context context_{&view_, &cache_, &stats_, &Now};
  Lookup lookup_;
  const std::string key_ = "pilaf";
  uint64_t hash_ = 0;
  std::deque<Bucket> buckets_;  // what was fed stays where it is
  std::deque<Image> records_;
};

}  // namespace plov::cuckoo
