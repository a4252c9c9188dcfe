// Escapes: bytes that were not written together and that a checksum takes for whole all the same.
//
// At 64 bits they are too rare to be counted, so the checksums are cut to 8..16 bits, of either
// end: if one torn image in 2^k escapes k bits, for each k, then nothing in what is torn (words of
// two versions, damage, bytes of another place) meets a weakness of the checksum, and one in 2^64
// is what to expect of all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "verify/bucket.h"
#include "verify/record.h"

namespace plov::verify {
namespace {

constexpr int kBitsMin = 8;
constexpr int kBitsMax = 16;
// At 16 bits 32 escapes are expected, so that 5 sigma (28) tell them from none and from twice.
constexpr size_t kSamples = size_t{1} << 21;

using Random = std::mt19937_64;
using Words = std::vector<uint64_t>;

// Counts by how many bits, from either end, the stored and the computed checksum agree.
class Escapes {
 public:
  void Add(uint64_t stored, uint64_t computed) {
    ++samples_;
    ++by_low_[static_cast<size_t>(std::countr_zero(stored ^ computed))];
    ++by_high_[static_cast<size_t>(std::countl_zero(stored ^ computed))];
  }

  size_t samples() const { return samples_; }

  // Each torn image is a trial of its own with the chance 2^-k. The seeds are fixed; of a thousand
  // other choices hardly one would put a sound checksum outside of 5 sigma anywhere.
  void ExpectHalvingWithEveryBit(const std::string& what) const {
    std::printf("%-34s %zu images, escapes at %d..%d bits:", what.c_str(), samples_, kBitsMin,
                kBitsMax);
    for (int bits = kBitsMin; bits <= kBitsMax; ++bits) {
      const double chance = std::ldexp(1.0, -bits);
      const double expected = static_cast<double>(samples_) * chance;
      const double sigma = std::sqrt(expected * (1 - chance));
      for (const auto* agreeing : {&by_low_, &by_high_}) {
        const size_t escaped = AtLeast(*agreeing, static_cast<size_t>(bits));
        EXPECT_NEAR(static_cast<double>(escaped), expected, 5 * sigma)
            << what << ", the " << (agreeing == &by_low_ ? "low " : "high ") << bits << " bits";
      }
      std::printf(" %zu", AtLeast(by_low_, static_cast<size_t>(bits)));
    }
    std::printf("\n");
    EXPECT_EQ(by_low_[64], 0u) << what << ", all 64 bits";
  }

 private:
  using Counts = std::array<size_t, 65>;

  static size_t AtLeast(const Counts& agreeing, size_t bits) {
    size_t sum = 0;
    for (size_t i = bits; i < agreeing.size(); ++i) sum += agreeing[i];
    return sum;
  }

  size_t samples_ = 0;
  Counts by_low_{};
  Counts by_high_{};
};

// A format: which words the checksum, word 0, covers.
struct Sealed {
  size_t from;  // the first word under the checksum
  size_t bytes;
  uint64_t seed;

  uint64_t Computed(const Words& words) const {
    return Checksum(&words[from], bytes - from * kWordBytes, seed);
  }
  void Count(const Words& words, Escapes* escapes) const {
    escapes->Add(words[0], Computed(words));
  }
};

// Every choice of words from two versions that is torn: not all from one.
void CountMixtures(const Words& before, const Words& after, const Sealed& sealed,
                   Escapes* escapes) {
  ASSERT_EQ(before[0], sealed.Computed(before));
  ASSERT_EQ(after[0], sealed.Computed(after));
  uint32_t differing = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const bool is_covered = i == 0 || i >= sealed.from;
    if (is_covered && before[i] != after[i]) differing |= 1u << i;
  }
  for (uint32_t chosen = (differing - 1) & differing; chosen != 0;
       chosen = (chosen - 1) & differing) {
    Words mixed = before;
    for (size_t i = 0; i < mixed.size(); ++i) {
      if ((chosen >> i & 1) != 0) mixed[i] = after[i];
    }
    sealed.Count(mixed, escapes);
  }
}

// One to four changes of a bit, a byte or a word under the checksum, some of them to zero.
void CountDamage(const Words& whole, const Sealed& sealed, Random* random, Escapes* escapes) {
  Words damaged = whole;
  for (uint64_t left = 1 + (*random)() % 4; left > 0; --left) {
    const size_t word = sealed.from + (*random)() % (whole.size() - sealed.from);
    const uint64_t in_bytes = std::min<uint64_t>(kWordBytes, sealed.bytes - word * kWordBytes);
    const uint64_t byte = (*random)() % in_bytes;
    switch ((*random)() % 4) {
      case 0:
        damaged[word] ^= uint64_t{1} << (byte * 8 + (*random)() % 8);
        break;
      case 1:
        damaged[word] ^= ((*random)() & 0xff) << (byte * 8);
        break;
      case 2:
        damaged[word] = (*random)() & (~uint64_t{0} >> (64 - in_bytes * 8));
        break;
      default:
        damaged[word] = 0;
    }
  }
  if (damaged != whole) sealed.Count(damaged, escapes);
}

// A bucket that the server rewrites again and again: items come, are overwritten, move and go, and
// so do the entries of the directory.
class RewrittenBucket {
 public:
  RewrittenBucket(uint32_t bucket_bytes, uint64_t seed)
      : bytes_(bucket_bytes), random_(seed), sealed_{1, bucket_bytes, seed} {
    bucket_.set_version(static_cast<uint32_t>(random_() % 1000));
  }

  const Sealed& sealed() const { return sealed_; }
  Random* random() { return &random_; }

  Words Rewrite() {
    bucket_.set_version(bucket_.version() + 1);
    item_version_ += 1 + random_() % 4;
    const uint64_t noise = random_();
    switch (random_() % 8) {
      case 0:
        bucket_.Clear(bytes_);
        break;
      case 1:
        bucket_.set_entry(noise % 3, {1 + static_cast<uint32_t>(noise >> 8 & 1),
                                      static_cast<uint32_t>(noise >> 16 & kFingerprintMask)});
        break;
      case 2:
      case 3:
        bucket_.SetReference({hash_, item_version_, noise % (1 << 20) * 8, 120, 0, random_()},
                             bytes_);
        break;
      default: {
        const std::string value(10 + noise % 10, static_cast<char>('a' + (noise >> 8) % 26));
        bucket_.SetInline({"user:1", value, item_version_, 0, 0, Mask::Of(random_())}, bytes_);
      }
    }
    bucket_.Seal(bytes_, sealed_.seed);
    return Words(bucket_.words(), bucket_.words() + bytes_ / kWordBytes);
  }

 private:
  uint32_t bytes_;
  Random random_;
  Sealed sealed_;
  Bucket bucket_;
  uint64_t item_version_ = uint64_t{1} << 45;
  uint64_t hash_ = random_();
};

// Successive records of one key at one place, whose values are alike but for 16 bytes.
Words RecordWords(const std::string& key, uint64_t version, uint64_t seed, Random* random) {
  std::string value(40, '0');
  for (int i = 0; i < 2; ++i) {
    const uint64_t noise = (*random)();
    std::memcpy(value.data() + noise % 5 * kWordBytes, &noise, kWordBytes);
  }
  const size_t bytes = RecordBytes(key.size(), value.size());
  Words words(RoundUpToWord(bytes) / kWordBytes);
  WriteRecordHead(words.data(), {key, value, version, 0, 0}, value.size());
  WriteRecordValue(words.data(), key.size(), value, {});
  SealRecord(words.data(), bytes, seed);
  return words;
}

uint64_t SomeBucketSeed(uint64_t number) {
  return BucketSeed(TableSeed(Mix(number / 1000 + 1), 1 + number % 3), number);
}

class EscapesOfBuckets : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::string Name(const char* what) const {
    return std::to_string(GetParam()) + "-byte buckets, " + what;
  }
};

TEST_P(EscapesOfBuckets, MixturesOfTwoVersionsHalveWithEveryBit) {
  Escapes escapes;
  for (uint64_t number = 0; escapes.samples() < kSamples; ++number) {
    RewrittenBucket bucket(GetParam(), SomeBucketSeed(number));
    Words before = bucket.Rewrite();
    for (int rewrites = 0; rewrites < 10; ++rewrites) {
      Words after = bucket.Rewrite();
      CountMixtures(before, after, bucket.sealed(), &escapes);
      before = std::move(after);
    }
  }
  escapes.ExpectHalvingWithEveryBit(Name("mixtures"));
}

TEST_P(EscapesOfBuckets, DamageHalvesWithEveryBit) {
  Escapes escapes;
  for (uint64_t number = 0; escapes.samples() < kSamples; ++number) {
    RewrittenBucket bucket(GetParam(), SomeBucketSeed(number));
    for (int i = 0; i < 100; ++i) {
      CountDamage(bucket.Rewrite(), bucket.sealed(), bucket.random(), &escapes);
    }
  }
  escapes.ExpectHalvingWithEveryBit(Name("damage"));
}

// The bytes of one bucket, READ as if they were those of the next, of another table or life.
TEST_P(EscapesOfBuckets, ForeignOnesHalveWithEveryBit) {
  Escapes escapes;
  for (uint64_t number = 0; escapes.samples() < kSamples; ++number) {
    RewrittenBucket bucket(GetParam(), SomeBucketSeed(number));
    const Words whole = bucket.Rewrite();
    for (uint64_t other = number + 1; other < number + 100; ++other) {
      const Sealed foreign = {1, GetParam(), SomeBucketSeed(other)};
      foreign.Count(whole, &escapes);
    }
  }
  escapes.ExpectHalvingWithEveryBit(Name("foreign"));
}

INSTANTIATE_TEST_SUITE_P(Sizes, EscapesOfBuckets,
                         ::testing::Values(kBucketBytesMin, kBucketBytesMax),
                         ::testing::PrintToStringParamName());

class EscapesOfRecords : public ::testing::Test {
 protected:
  static constexpr size_t kFrom = kRecordSealedFrom / kWordBytes;
  const std::string key_ = "user:1234";  // 89 bytes with the value: the last word is in part ours
  const uint64_t seed_ = RecordSeed(0x1122334455667788);
  const Sealed sealed_ = {kFrom, RecordBytes(key_.size(), 40), MaskedSeed(seed_, 0)};
  Random random_{1};
  uint64_t version_ = uint64_t{1} << 45;
  Escapes escapes_;
};

TEST_F(EscapesOfRecords, MixturesOfTwoVersionsHalveWithEveryBit) {
  Words before = RecordWords(key_, version_, seed_, &random_);
  while (escapes_.samples() < kSamples) {
    Words after = RecordWords(key_, ++version_, seed_, &random_);
    CountMixtures(before, after, sealed_, &escapes_);
    before = std::move(after);
  }
  escapes_.ExpectHalvingWithEveryBit("records, mixtures");
}

TEST_F(EscapesOfRecords, DamageHalvesWithEveryBit) {
  while (escapes_.samples() < kSamples) {
    const Words whole = RecordWords(key_, ++version_, seed_, &random_);
    CountDamage(whole, sealed_, &random_, &escapes_);
  }
  escapes_.ExpectHalvingWithEveryBit("records, damage");
}

}  // namespace
}  // namespace plov::verify
