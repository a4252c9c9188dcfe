#include "cuckoo/key_hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cuckoo/hash.h"
#include "tests/verify/tears.h"

namespace plov::cuckoo {
namespace {

constexpr uint64_t kAnySeed = 0x0123456789abcdef;

uint64_t ByTable(std::string_view key, uint64_t seed) {
  return KeyHash<AesRoundByTable>(key, seed);
}

// 0, 1, 2, ...
std::string Counting(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i);
  return text;
}

std::string RandomKey(size_t bytes, std::mt19937_64* random) {
  std::string key(bytes, '\0');
  for (char& c : key) c = static_cast<char>((*random)());
  return key;
}

std::string HexOf(const TwoBlocks& output) {
  std::string hex = verify::ToHex(std::as_bytes(std::span(&output, 1)));
  std::erase(hex, ' ');
  return hex;
}

// Appendix B of the paper.
TEST(Haraka, GivesThePublishedOutputs) {
  TwoBlocks two;
  FourBlocks four;
  const std::string input = Counting(sizeof(four));
  std::memcpy(&two, input.data(), sizeof(two));
  std::memcpy(&four, input.data(), sizeof(four));
  EXPECT_EQ(HexOf(Haraka256<AesRoundByTable>(two, AesBlock{})),
            "8027ccb87949774b78d0545fb72bf70c695c2a0923cbd47bba1159efbf2b2c1c");
  EXPECT_EQ(HexOf(Haraka512<AesRoundByTable>(four, AesBlock{})),
            "be7f723b4e80a99813b292287f306f625a6d57331cae5f34dd9277b0945be2aa");
}

// The same input as a key: 31 is its length and its block's last byte.
TEST(KeyHash, OfAKeyIsHarakaOfItsBlock) {
  EXPECT_EQ(HashKey(Counting(31), 0), std::byteswap(0x8027ccb87949774bu));
  EXPECT_EQ(HashKey(Counting(32), 0), std::byteswap(0xba1159efbf2b2c1cu));
  EXPECT_EQ(HashKey(Counting(64), 0), std::byteswap(0xdd9277b0945be2aau));
}

// HashKey takes the processor's instruction where there is one.
TEST(KeyHash, IsTheSameByInstructionAndByTable) {
  std::mt19937_64 random(1);
  for (size_t bytes = 0; bytes <= verify::kKeyBytesMax; ++bytes) {
    const std::string key = RandomKey(bytes, &random);
    for (const uint64_t seed : {uint64_t{0}, kAnySeed, random()}) {
      ASSERT_EQ(HashKey(key, seed), ByTable(key, seed)) << bytes;
    }
  }
}

// A sanitizer sees what is read beyond it.
TEST(KeyHash, ReadsNothingButTheKey) {
  std::mt19937_64 random(2);
  for (size_t bytes = 0; bytes <= 200; ++bytes) {
    const std::string key = RandomKey(bytes, &random);
    const std::vector<char> tight(key.begin(), key.end());
    std::string loose = "before" + key + "behind";
    ASSERT_EQ(HashKey({tight.data(), bytes}, kAnySeed),
              HashKey(std::string_view(loose).substr(6, bytes), kAnySeed));
  }
}

TEST(KeyHash, KeysThatBeginAlikeDiffer) {
  std::map<uint64_t, std::string> hashes;
  const auto is_new = [&](const std::string& key) {
    return hashes.try_emplace(HashKey(key, kAnySeed), key).second;
  };
  for (size_t bytes = 0; bytes <= 300; ++bytes) {
    ASSERT_TRUE(is_new(std::string(bytes, '\0'))) << bytes;
    if (bytes > 1) {
      std::string key = Counting(bytes);
      ASSERT_TRUE(is_new(key)) << bytes;
      key.back() = static_cast<char>(bytes + 1);
      ASSERT_TRUE(is_new(key)) << bytes;
    }
  }
}

// A key with the length that a shorter one's block ends with is that block; a hash is of other
// bytes of the output.
TEST(KeyHash, AKeyThatIsTheBlockOfAShorterOneDiffers) {
  for (const size_t room : {16u, 32u, 64u}) {
    const size_t bytes = room == 16 ? 5 : room / 2 + 3;
    std::string block = Counting(bytes);
    block.resize(room, '\0');
    block.back() = static_cast<char>(bytes);
    EXPECT_NE(HashKey(block, kAnySeed), HashKey(Counting(bytes), kAnySeed)) << room;
  }
}

// A chain without lengths would take the output of a key's first block for the begin of another's.
TEST(KeyHash, AnOutputAndTheRestOfTheKeyDiffer) {
  const std::string key = Counting(100);
  FourBlocks first;
  std::memcpy(&first, key.data(), sizeof(first));
  const auto seed = std::bit_cast<AesBlock>(AesWords{kAnySeed, kAnySeed});
  const TwoBlocks chain = Haraka512<AesRoundByTable>(first, seed);
  std::string other(sizeof(chain), '\0');
  std::memcpy(other.data(), &chain, sizeof(chain));
  other += key.substr(sizeof(first));
  EXPECT_NE(HashKey(other, kAnySeed), HashKey(key, kAnySeed));
}

// Added to the input alone, a seed would only move keys that collide to others that do.
TEST(KeyHash, AKeyPlusTheDifferenceOfSeedsHasAnotherHash) {
  for (const size_t bytes : {16u, 32u, 64u}) {
    std::string key = Counting(bytes), moved = key;
    for (size_t i = 0; i < bytes; ++i) moved[i] ^= static_cast<char>(kAnySeed >> 8 * (i % 8));
    const uint64_t difference = HashKey(key, 0) ^ HashKey(moved, kAnySeed);
    EXPECT_NE(difference, 0u);
    EXPECT_NE(difference, kAnySeed);
  }
}

// Each bit of key and seed changes half of the hash's.
TEST(KeyHash, EveryBitCounts) {
  constexpr int kKeys = 40;
  std::mt19937_64 random(3);
  for (const size_t bytes :
       {1u, 7u, 8u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 94u, 95u, 127u, 130u}) {
    for (size_t bit = 0; bit < 8 * bytes + 64; ++bit) {
      int changed = 0;
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = RandomKey(bytes, &random);
        std::string other = key;
        uint64_t seed = kAnySeed;
        if (bit < 8 * bytes) {
          other[bit / 8] ^= static_cast<char>(1 << bit % 8);
        } else {
          seed ^= uint64_t{1} << (bit - 8 * bytes);
        }
        changed += std::popcount(HashKey(key, kAnySeed) ^ HashKey(other, seed));
      }
      // 64 * kKeys fair coins: 25 is a standard deviation, and there are some 8,000 rounds.
      ASSERT_NEAR(changed, 32 * kKeys, 150) << bytes << " bytes, bit " << bit;
    }
  }
}

}  // namespace
}  // namespace plov::cuckoo
