// Buckets against tearing: what a reader may take for a bucket, and what it must not.
#include "verify/bucket.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/verify/tears.h"

namespace plov::verify {
namespace {

constexpr uint64_t kIncarnation = 0x1122334455667788;
constexpr uint64_t kSeed = BucketSeed(TableSeed(kIncarnation, 3), 41);

class BucketTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  uint32_t bytes() const { return GetParam(); }
};

Accepts WholeUnder(uint64_t seed) {
  return [seed](std::span<const std::byte> image) {
    Bucket bucket;
    std::memcpy(bucket.words(), image.data(), image.size());
    return bucket.Whole(static_cast<uint32_t>(image.size()), seed);
  };
}

// A bucket whose every field depends on `version`, so that two versions differ wherever they may.
Bucket Sample(BucketKind kind, uint32_t version, uint32_t bucket_bytes) {
  Bucket bucket;
  bucket.set_version(version);
  bucket.set_entry(version % 3, {1 + version % 2, version % 128});
  if (kind == BucketKind::kReference) {
    bucket.SetReference({Mix(version), 1000 + version, 4096 * uint64_t{version}, 77 + version, 0,
                         Mask::Of(Mix(version + 1)).word()},
                        bucket_bytes);
  }
  if (kind == BucketKind::kInline) {
    const std::string key = "key-" + std::to_string(version);
    const std::string value(bucket_bytes - 32 - key.size(), static_cast<char>('a' + version % 26));
    bucket.SetInline({key, value, 2000 + version, 0, 0, Mask::Of(Mix(version + 1))}, bucket_bytes);
  }
  if (kind == BucketKind::kRetired) bucket.Retire(bucket_bytes);
  bucket.Seal(bucket_bytes, kSeed);
  return bucket;
}

constexpr BucketKind kKinds[] = {BucketKind::kEmpty, BucketKind::kReference, BucketKind::kInline,
                                 BucketKind::kRetired};

std::vector<Image> SampleImages(uint32_t bucket_bytes) {
  std::vector<Image> images;
  uint32_t version = 4;
  for (const BucketKind kind : kKinds) {
    for (int i = 0; i < 2; ++i, ++version) {
      images.push_back(ImageOf(Sample(kind, version, bucket_bytes).words(), bucket_bytes));
    }
  }
  return images;
}

TEST(Bucket, GoldenReference) {
  const Bucket bucket = Sample(BucketKind::kReference, 5, 64);
  EXPECT_EQ(ToHex(ImageOf(bucket.words(), 64)),
            "e775c355d7959303 0500000001008005 b076c3ceaa66c867 ed03000000000000 "
            "0050000000000000 5200000000000000 6c337870970777d1 0000000000000000");
}

TEST(Bucket, GoldenInline) {
  Bucket bucket;
  bucket.set_version(9);
  bucket.set_overflow(true);
  bucket.SetInline(
      {"plov", "rice and carrots", 0x1234, 0xf1a65, 1'900'000'000, Mask::Of(0xfedcba9876543211)},
      64);
  bucket.Seal(64, kSeed);
  EXPECT_EQ(ToHex(ImageOf(bucket.words(), 64)),
            "b357cd4bb4e50f3f 0900000006000000 3412000000000000 951da62eb7ff1004 "
            "bc1114405f15eb83 a96774362dcfb797 f96a75247fc5b580 ab646f335fa6d4f2");
}

TEST(Bucket, GoldenEmpty) {
  EXPECT_EQ(ToHex(ImageOf(Sample(BucketKind::kEmpty, 1, 64).words(), 64)),
            "9ad9b3e1fe50d3c1 0100000000c00000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000");
}

TEST(Bucket, GoldenRetired) {
  Bucket bucket = Sample(BucketKind::kRetired, 2, 64);
  bucket.set_forward(true);
  bucket.Seal(64, kSeed);
  EXPECT_EQ(ToHex(ImageOf(bucket.words(), 64)),
            "f3d5cdfedca25193 020000000b004002 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000");
}

TEST(Bucket, GoldenReferenceOf128Bytes) {
  const Bucket bucket = Sample(BucketKind::kReference, 5, 128);
  EXPECT_EQ(ToHex(ImageOf(bucket.words(), 128)),
            "921727fa3395ab6c 0500000001008005 b076c3ceaa66c867 ed03000000000000 "
            "0050000000000000 5200000000000000 6c337870970777d1 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000");
}

TEST(Bucket, GoldenInlineOf128Bytes) {
  const Bucket bucket = Sample(BucketKind::kInline, 6, 128);
  EXPECT_EQ(ToHex(ImageOf(bucket.words(), 128)),
            "303fa8cc2b1deda2 0600000092010000 d607000000000000 c5de088cab045b05 "
            "9cddcd020cc0764c 90dfd3485dc0764c 90dfd3485dc0764c 90dfd3485dc0764c "
            "90dfd3485dc0764c 90dfd3485dc0764c 90dfd3485dc0764c 90dfd3485dc0764c "
            "90dfd3485dc0764c 90dfd3485dc0764c 90dfd3485dc0764c 90dfd3485dc0764c");
}

TEST(Bucket, GoldenEmptyOf128Bytes) {
  EXPECT_EQ(ToHex(ImageOf(Sample(BucketKind::kEmpty, 1, 128).words(), 128)),
            "238f825ce2f14da5 0100000000c00000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000");
}

TEST(Bucket, GoldenRetiredOf128Bytes) {
  EXPECT_EQ(ToHex(ImageOf(Sample(BucketKind::kRetired, 2, 128).words(), 128)),
            "3ece973b472f22fd 0200000003004002 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
            "0000000000000000 0000000000000000 0000000000000000 0000000000000000");
}

TEST_P(BucketTest, ZeroMemoryIsRejected) {
  const Bucket zeros;
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t seed = BucketSeed(TableSeed(random(), random() % 100), random() % 1'000'000);
    ASSERT_FALSE(zeros.Whole(bytes(), seed));
  }
  EXPECT_FALSE(zeros.Whole(bytes(), 0));
  EXPECT_FALSE(zeros.Whole(bytes(), kSeed));
}

TEST_P(BucketTest, EveryByteChangeIsRejected) {
  for (const Image& image : SampleImages(bytes())) {
    EXPECT_TRUE(RejectsEveryByteChange(image, WholeUnder(kSeed)));
  }
}

TEST_P(BucketTest, EverySpliceIsRejected) {
  const auto images = SampleImages(bytes());
  for (size_t i = 0; i < images.size(); ++i) {
    for (size_t j = i + 1; j < images.size(); ++j) {
      EXPECT_TRUE(RejectsEverySplice(images[i], images[j], WholeUnder(kSeed))) << i << ", " << j;
    }
  }
}

TEST_P(BucketTest, EveryMixOfWordsIsRejected) {
  const auto images = SampleImages(bytes());
  for (size_t i = 0; i < images.size(); ++i) {
    for (size_t j = i + 1; j < images.size(); ++j) {
      EXPECT_TRUE(RejectsEverySubset(images[i], images[j], WholeUnder(kSeed))) << i << ", " << j;
    }
  }
}

// Of two versions that hold the same item only version and checksum differ.
TEST_P(BucketTest, TheVersionAloneIsUnderTheSeal) {
  const Bucket before = Sample(BucketKind::kInline, 6, bytes());
  Bucket after = before;
  after.set_version(7);
  EXPECT_FALSE(after.Whole(bytes(), kSeed));
  after.Seal(bytes(), kSeed);
  EXPECT_TRUE(RejectsEverySplice(ImageOf(before.words(), bytes()), ImageOf(after.words(), bytes()),
                                 WholeUnder(kSeed)));
}

TEST_P(BucketTest, ForeignBucketsAreRejected) {
  for (const Image& image : SampleImages(bytes())) {
    ASSERT_TRUE(WholeUnder(kSeed)(image));
    for (uint64_t other = 0; other < 1000; ++other) {
      if (other != 41) {
        EXPECT_FALSE(WholeUnder(BucketSeed(TableSeed(kIncarnation, 3), other))(image));
      }
      if (other != 3) {
        EXPECT_FALSE(WholeUnder(BucketSeed(TableSeed(kIncarnation, other), 41))(image));
      }
      if (other != 0) {
        EXPECT_FALSE(WholeUnder(BucketSeed(TableSeed(kIncarnation ^ other, 3), 41))(image));
      }
    }
  }
}

TEST_P(BucketTest, ABucketOfTheOtherSizeIsRejected) {
  const uint32_t other_bytes = bytes() == 64 ? 128 : 64;
  for (const BucketKind kind : kKinds) {
    EXPECT_FALSE(Sample(kind, 5, bytes()).Whole(other_bytes, kSeed));
  }
}

TEST_P(BucketTest, StoreAndCopyRoundTrip) {
  for (const BucketKind kind : kKinds) {
    const Bucket bucket = Sample(kind, 8, bytes());
    alignas(64) std::array<uint64_t, kBucketWordsMax + 1> shared;
    shared.fill(0xeeeeeeeeeeeeeeee);
    StoreBucket(shared.data(), bucket, bytes());
    Bucket copy;
    CopyFromShared(copy.words(), shared.data(), bytes());
    EXPECT_TRUE(copy.Whole(bytes(), kSeed));
    EXPECT_EQ(ImageOf(copy.words(), bytes()), ImageOf(bucket.words(), bytes()));
    EXPECT_EQ(shared[bytes() / kWordBytes], 0xeeeeeeeeeeeeeeee) << "wrote past its end";
  }
}

// Every payload word says which version it belongs to.
Bucket Stamped(uint32_t version, uint32_t bucket_bytes) {
  Bucket bucket;
  bucket.set_version(version);
  for (size_t i = Bucket::kPayloadWord; i < bucket_bytes / kWordBytes; ++i) {
    bucket.words()[i] = Mix(version + i);
  }
  bucket.Seal(bucket_bytes, kSeed);
  return bucket;
}

bool IsStampedThroughout(const Bucket& bucket, uint32_t bucket_bytes) {
  for (size_t i = Bucket::kPayloadWord; i < bucket_bytes / kWordBytes; ++i) {
    if (bucket.words()[i] != Mix(bucket.version() + i)) return false;
  }
  return true;
}

TEST_P(BucketTest, AReaderBesideAWriterNeverSeesAWholeMixture) {
  constexpr uint32_t kVersions = 200'000;
  alignas(64) std::array<uint64_t, kBucketWordsMax> shared;
  StoreBucket(shared.data(), Stamped(0, bytes()), bytes());
  std::atomic<bool> started = false;
  std::thread writer([&] {
    started.wait(false, std::memory_order_acquire);
    for (uint32_t version = 1; version <= kVersions; ++version) {
      StoreBucket(shared.data(), Stamped(version, bytes()), bytes());
    }
  });
  started.store(true, std::memory_order_release);
  started.notify_all();
  uint32_t mixed = 0, backwards = 0, torn = 0, newest = 0;
  for (uint32_t read = 0; read < kVersions; ++read) {
    Bucket copy;
    CopyFromShared(copy.words(), shared.data(), bytes());
    if (!copy.Whole(bytes(), kSeed)) {
      ++torn;
      continue;
    }
    mixed += IsStampedThroughout(copy, bytes()) ? 0 : 1;
    backwards += copy.version() < newest ? 1 : 0;
    newest = std::max(newest, copy.version());
  }
  writer.join();
  RecordProperty("torn", static_cast<int>(torn));  // how hard the two met; no machine owes us any
  EXPECT_EQ(mixed, 0u);
  EXPECT_EQ(backwards, 0u) << "a later READ saw an older bucket";
  Bucket last;
  CopyFromShared(last.words(), shared.data(), bytes());
  EXPECT_TRUE(last.Whole(bytes(), kSeed));
  EXPECT_EQ(last.version(), kVersions);
}

INSTANTIATE_TEST_SUITE_P(Bytes, BucketTest, ::testing::Values(64u, 128u));

}  // namespace
}  // namespace plov::verify
