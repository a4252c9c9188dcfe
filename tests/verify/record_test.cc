#include "verify/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/verify/guarded_buffer.h"
#include "tests/verify/tears.h"
#include "verify/avx2_digest.h"

namespace plov::verify {
namespace {

constexpr uint64_t kSeed = RecordSeed(0x1122334455667788);
constexpr size_t kMaskAt = offsetof(RecordHeader, mask);
// `live` is in the first byte of the mask, whose other bits are under the seal.
constexpr ByteChanges kButLive{.unsealed_from = kMaskAt, .unsealed_to = kMaskAt + 1};
constexpr Mask kMask = Mask::Of(0xfedcba9876543211);

Image Written(const ItemView& item) {
  const size_t bytes = RecordBytes(item.key.size(), item.value.size());
  std::vector<uint64_t> shared(RoundUpToWord(bytes) / kWordBytes);
  WriteRecordHead(shared.data(), item, item.value.size());
  WriteRecordValue(shared.data(), item.key.size(), item.value, item.mask);
  SealRecord(shared.data(), bytes, kSeed);
  Image copy(bytes);
  CopyFromShared(copy.data(), shared.data(), bytes);
  return copy;
}

bool Parses(std::span<const std::byte> image) {
  Image copy(image.begin(), image.end());
  const bool whole = CheckRecord(image, kSeed).has_value();
  EXPECT_EQ(ParseRecord(copy, kSeed).has_value(), whole);
  return whole;
}

// The split form of an image whose key is `key_bytes` long, each part in memory of its own.
Accepts ParsesSplit(size_t key_bytes) {
  return [head_bytes = kRecordHeaderBytes + key_bytes](std::span<const std::byte> image) {
    const size_t cut = std::min(head_bytes, image.size());
    Image head(image.begin(), image.begin() + static_cast<ptrdiff_t>(cut));
    Image value(image.begin() + static_cast<ptrdiff_t>(cut), image.end());
    return ParseSplitRecord(head, value, kSeed).has_value();
  };
}

void ExpectSame(const std::optional<ItemView>& parsed, const ItemView& item) {
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->key, item.key);
  EXPECT_EQ(parsed->value, item.value);
  EXPECT_EQ(parsed->version, item.version);
  EXPECT_EQ(parsed->flags, item.flags);
  EXPECT_EQ(parsed->expiry, item.expiry);
}

std::string Noise(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string noise(bytes, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

const ItemView kOld{"pilaf-key", "the old value, 23 bytes", 0x101, 1, 2'000'000'000, kMask};
const ItemView kNew{"pilaf-key",   "THE NEW VALUE, 23 BYTES",   0x202, 2,
                    2'100'000'000, Mask::Of(0x1122334455667788)};

TEST(Record, Golden) {
  EXPECT_EQ(ToHex(Written(kOld)),
            "05ce4efdc94e340b 1132547698badcfe 0101000000000000 1700000009000000 "
            "11325476982ee989 605b3817fe97b79b 69463c13b8d5b09a 3044351aeddff0de "
            "22017414e1ceb98d");
}

TEST(Record, EveryItemComesBack) {
  for (const size_t key_bytes : {size_t{1}, size_t{7}, size_t{8}, kKeyBytesMax}) {
    for (const size_t value_bytes : {0u, 1u, 7u, 8u, 9u, 200u, 1000u, 100'000u}) {
      const std::string key = Noise(key_bytes, 1), value = Noise(value_bytes, 2);
      const ItemView item{key, value, ~uint64_t{0}, 0xffffffff, 0xfffffffe, kMask};
      Image image = Written(item);
      EXPECT_TRUE(IsLive(image));
      EXPECT_EQ(VersionOf(image), item.version);
      ExpectSame(ParseRecord(image, kSeed), item);
    }
  }
}

// One-shot and streaming XXH3 take different paths, which change at 16, 128 and 240 bytes and at
// each kilobyte.
TEST(Record, WholeAndSplitFormAgreeAtEverySize) {
  const std::string noise = Noise(5000, 3);
  for (size_t value_bytes = 0; value_bytes <= noise.size(); value_bytes += 1 + value_bytes / 300) {
    const std::string_view value = std::string_view(noise).substr(0, value_bytes);
    const ItemView item{"key", value, 9, 0, 0, kMask};
    Image image = Written(item), split = image;
    const std::span<std::byte> bytes(split);
    const auto head = bytes.first(kRecordHeaderBytes + 3);
    ExpectSame(ParseRecord(image, kSeed), item);
    ExpectSame(ParseSplitRecord(head, bytes.subspan(head.size()), kSeed), item);
  }
}

// Another processor checks what this one has sealed.
TEST(Record, DigestsByAvx2AreTheSameAtEverySize) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "no AVX2 here";
#endif
  const std::string noise = Noise(5000, 11);
  for (size_t bytes = 0; bytes <= noise.size(); bytes += 1 + bytes / 300) {
    EXPECT_EQ(ChecksumAvx2(noise.data(), bytes, kSeed), Checksum(noise.data(), bytes, kSeed));
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, kSeed);
    UpdateDigestAvx2(&state, noise.data(), bytes / 3);
    XXH3_64bits_update(&state, noise.data() + bytes / 3, bytes - bytes / 3);
    EXPECT_EQ(XXH3_64bits_digest(&state), Checksum(noise.data(), bytes, kSeed)) << bytes;
  }
}

TEST(Record, LargestRecordComesBackInBothForms) {
  const std::string key = Noise(kKeyBytesMax, 4), value = Noise(kValueBytesMax, 5);
  const ItemView item{key, value, 1, 0, 0, kMask};
  Image image = Written(item), split = image;
  ASSERT_EQ(image.size(), kRecordBytesMax);
  const std::span<std::byte> bytes(split);
  const size_t head_bytes = kRecordHeaderBytes + key.size();
  ExpectSame(ParseRecord(image, kSeed), item);
  ExpectSame(ParseSplitRecord(bytes.first(head_bytes), bytes.subspan(head_bytes), kSeed), item);
}

// Also by the digest that the server takes in slices.
TEST(Record, LongValuesAreWholeInEveryForm) {
  for (const size_t bytes : {kShortValueMax, kShortValueMax + 1, kShortValueMax + 4099}) {
    const std::string value(bytes, 'v');
    const ItemView item{"key", value, 7, 8, 9, kMask};
    const Image image = Written(item);
    Image whole = image, split = image;
    const auto record = std::span<std::byte>(split);
    const size_t head_bytes = kRecordHeaderBytes + item.key.size();
    ExpectSame(ParseRecord(whole, kSeed), item);
    ExpectSame(ParseSplitRecord(record.first(head_bytes), record.subspan(head_bytes), kSeed), item);
    ValueDigest digest(std::as_bytes(std::span(image)).subspan(head_bytes),
                       MaskedSeed(kSeed, kMask.word()));
    size_t slices = 1;
    while (!digest.Go(5000)) ++slices;
    EXPECT_EQ(slices, (bytes + 4999) / 5000);
    EXPECT_EQ(CheckLongRecord(image, digest.Finish()).has_value(), bytes > kShortValueMax);
  }
}

TEST(Record, EveryChangeOfALongRecordIsRejected) {
  const std::string value(kShortValueMax + 1000, 'v');
  const ItemView item{"key", value, 7, 8, 9};
  Image image = Written(item);
  for (size_t at = 16; at < image.size(); at += at < 64 ? 1 : 997) {
    image[at] ^= std::byte{1};
    EXPECT_FALSE(Parses(image)) << at;
    EXPECT_FALSE(ParsesSplit(item.key.size())(image)) << at;
    image[at] ^= std::byte{1};
  }
  EXPECT_TRUE(Parses(image));
}

TEST(Record, AnEmptyValueMayBeNull) {
  const ItemView item{"key", std::string_view(), 3, 0, 0, kMask};
  Image image = Written(item), split = image;
  ExpectSame(ParseRecord(image, kSeed), item);
  ExpectSame(ParseSplitRecord(split, {}, kSeed), item);
}

TEST(Record, ZeroMemoryIsRejected) {
  for (size_t bytes = 0; bytes <= 300; ++bytes) {
    EXPECT_FALSE(Parses(Image(bytes))) << bytes;
    EXPECT_FALSE(ParsesSplit(0)(Image(bytes))) << bytes;
  }
  Image zeros(kRecordHeaderBytes);  // its lengths add up, so that only the seal is left
  std::mt19937_64 random(6);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t seed = RecordSeed(random());
    ASSERT_FALSE(ParseRecord(zeros, seed) || ParseSplitRecord(zeros, {}, seed));
  }
}

TEST(Record, EveryByteChangeIsRejected) {
  EXPECT_TRUE(RejectsEveryByteChange(Written(kOld), Parses, kButLive));
  EXPECT_TRUE(RejectsEveryByteChange(Written(kOld), ParsesSplit(kOld.key.size()), kButLive));
  EXPECT_TRUE(RejectsEveryByteChange(Written({"k", "", 1, 0, 0}), Parses, kButLive));
}

TEST(Record, LiveIsNotUnderTheSeal) {
  Image image = Written(kOld);
  EXPECT_TRUE(IsLive(image));
  image[kMaskAt] &= ~std::byte{kLiveBit};
  EXPECT_FALSE(IsLive(image));
  EXPECT_TRUE(ParsesSplit(kOld.key.size())(image));
  ExpectSame(ParseRecord(image, kSeed), kOld);
}

// So that who wrote one record decides nothing of another: the mask alone, the bytes alone.
TEST(Record, BytesUnderAnotherMaskAreRejected) {
  const Image image = Written(kOld);
  for (size_t bit = 1; bit < 64; ++bit) {
    Image other = image;
    other[kMaskAt + bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_FALSE(Parses(other)) << bit;
  }
  ItemView masked = kOld;
  masked.mask = kNew.mask;
  EXPECT_TRUE(RejectsEverySplice(image, Written(masked), Parses));
}

// What a client sends stands nowhere as it sent it, but for a word's lowest bit: zeros show the mask.
TEST(Record, EveryWordOfAClientLiesUnderTheMask) {
  const std::string zeros(100, '\0');
  const ItemView item{std::string_view(zeros).substr(0, 13), zeros, 5, 0, 0, kMask};
  std::vector<uint64_t> shared(RoundUpToWord(RecordBytes(13, 100)) / kWordBytes, 77);
  ClearSharedWord(shared.data(), 13);
  WriteRecordValue(shared.data(), 13, zeros, kMask);
  WriteRecordHead(shared.data(), item, 100);
  for (size_t i = kRecordMaskedFrom / kWordBytes; i < shared.size(); ++i) {
    EXPECT_EQ(shared[i], kMask.word()) << i << ": the last word as well, none of its former bytes";
  }
}

TEST(Record, EverySpliceIsRejected) {
  EXPECT_TRUE(RejectsEverySplice(Written(kOld), Written(kNew), Parses));
  EXPECT_TRUE(RejectsEverySplice(Written(kOld), Written(kNew), ParsesSplit(kOld.key.size())));
}

// The memory is used again for an item whose key and value are of other lengths, same sum.
TEST(Record, EverySpliceWithAnotherItemIsRejected) {
  const std::string key(kOld.key.size() + 5, 'q'), value(kOld.value.size() - 5, 'w');
  const Image other = Written({key, value, 0x303, 3, 3});
  EXPECT_TRUE(RejectsEverySplice(Written(kOld), other, Parses));
}

TEST(Record, EveryMixOfWordsIsRejected) {
  EXPECT_TRUE(RejectsEverySubset(Written(kOld), Written(kNew), Parses));
  EXPECT_TRUE(RejectsEverySubset(Written(kOld), Written(kNew), ParsesSplit(kOld.key.size())));
}

// A reader that follows an old reference copies the old length out of memory that now holds a
// shorter record, then the rest of the old one.
TEST(Record, AShorterRecordOverALongerOneIsRejected) {
  const Image longer = Written(kOld);
  for (size_t value_bytes = 0; value_bytes < kOld.value.size(); ++value_bytes) {
    const std::string value(value_bytes, 's');
    const Image shorter = Written({kOld.key, value, 0x404, 0, 0});
    Image memory = longer;
    std::ranges::copy(shorter, memory.begin());
    EXPECT_FALSE(Parses(memory)) << value_bytes;
    EXPECT_FALSE(ParsesSplit(kOld.key.size())(memory)) << value_bytes;
  }
}

TEST(Record, RecordsOfAnotherLifeAreRejected) {
  Image image = Written(kOld);
  const std::span<std::byte> bytes(image);
  const size_t head_bytes = kRecordHeaderBytes + kOld.key.size();
  for (uint64_t other = 1; other < 1000; ++other) {
    const uint64_t seed = RecordSeed(0x1122334455667788 ^ other);
    EXPECT_FALSE(ParseRecord(image, seed));
    EXPECT_FALSE(ParseSplitRecord(bytes.first(head_bytes), bytes.subspan(head_bytes), seed));
  }
}

TEST(Record, EveryOtherLengthIsRejected) {
  EXPECT_TRUE(RejectsEveryOtherLength(Written(kOld), Parses));
  EXPECT_TRUE(RejectsEveryOtherLength(Written(kOld), ParsesSplit(kOld.key.size())));
}

TEST(Record, ASplitAtAnotherPlaceIsRejected) {
  const Image image = Written(kOld);
  for (size_t key_bytes = 0; key_bytes <= kOld.key.size() + kOld.value.size(); ++key_bytes) {
    EXPECT_EQ(ParsesSplit(key_bytes)(image), key_bytes == kOld.key.size()) << key_bytes;
  }
}

// Sealed, so that nothing but the lengths can save the reader.
TEST(Record, HostileLengthsNeverLeaveTheBuffer) {
  constexpr size_t kBytesMax = 200;
  GuardedBuffer buffer(kBytesMax), value_buffer(kBytesMax);
  std::mt19937_64 random(8);
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    Image image(kRecordHeaderBytes + random() % (kBytesMax - kRecordHeaderBytes));
    const size_t body = image.size() - kRecordHeaderBytes;
    const size_t key_bytes = random() % (body + 2);
    RecordHeader header{
        0, 1, 1, static_cast<uint32_t>(body - key_bytes), static_cast<uint16_t>(key_bytes),
        0, 0, 0};
    if (random() % 2 == 0) header.value_bytes = static_cast<uint32_t>(random());
    if (random() % 4 == 0) header.key_bytes = static_cast<uint16_t>(random());
    std::memcpy(image.data(), &header, sizeof(header));
    header.checksum = Checksum(image.data() + kRecordSealedFrom, image.size() - kRecordSealedFrom,
                               MaskedSeed(kSeed, 0));
    std::memcpy(image.data(), &header, kWordBytes);
    const auto memory = buffer.Hold(image);
    const bool adds_up = size_t{header.key_bytes} + header.value_bytes == body;
    const auto whole = CheckRecord(memory, kSeed);
    ASSERT_EQ(whole.has_value(), adds_up && header.key_bytes > 0);
    const auto head = memory.first(kRecordHeaderBytes + std::min(body, key_bytes));
    const auto value = value_buffer.Hold(memory.subspan(head.size()));
    const auto split = ParseSplitRecord(buffer.Hold(Image(head.begin(), head.end())), value, kSeed);
    ASSERT_EQ(split.has_value(), adds_up && header.key_bytes == head.size() - kRecordHeaderBytes);
    accepted += adds_up ? 1 : 0;
  }
  EXPECT_GT(accepted, 10'000) << "the other branch was not reached";
}

TEST(Record, WritingTouchesNoWordOutsideTheRecord) {
  for (size_t value_bytes = 0; value_bytes < 20; ++value_bytes) {
    const std::string value(value_bytes, 'v');
    const ItemView item{"key", value, 5, 0, 0};
    const size_t bytes = RecordBytes(3, value_bytes);
    std::array<uint64_t, 16> shared;
    std::memset(shared.data(), 0xee, sizeof(shared));
    WriteRecordHead(shared.data() + 1, item, item.value.size());
    WriteRecordValue(shared.data() + 1, 3, value, item.mask);
    SealRecord(shared.data() + 1, bytes, kSeed);
    const Image all = ImageOf(shared.data(), sizeof(shared));
    const auto is_untouched = [](std::byte b) { return b == std::byte{0xee}; };
    const auto end = all.begin() + static_cast<ptrdiff_t>(kWordBytes + RoundUpToWord(bytes));
    EXPECT_TRUE(std::all_of(all.begin(), all.begin() + kWordBytes, is_untouched));
    EXPECT_TRUE(std::all_of(end, all.end(), is_untouched));
  }
}

TEST(Record, AHeadWithoutItsSealIsRejected) {
  std::array<uint64_t, 10> shared{};
  WriteRecordHead(shared.data(), kOld, kOld.value.size());
  WriteRecordValue(shared.data(), kOld.key.size(), kOld.value, kOld.mask);
  const size_t bytes = RecordBytes(kOld.key.size(), kOld.value.size());
  EXPECT_FALSE(Parses(ImageOf(shared.data(), bytes)));
  SealRecord(shared.data(), bytes, kSeed);
  EXPECT_TRUE(Parses(ImageOf(shared.data(), bytes)));
}

// A large value is READ straight into its place after the head, so the head sees only its length.
TEST(Record, TheHeadNeedsTheValuesLengthOnly) {
  std::array<uint64_t, 10> shared{};
  const ItemView head{kOld.key, "", kOld.version, kOld.flags, kOld.expiry, kOld.mask};
  WriteRecordHead(shared.data(), head, kOld.value.size());
  WriteRecordValue(shared.data(), kOld.key.size(), kOld.value, kOld.mask);
  const Image whole = Written(kOld);
  SealRecord(shared.data(), whole.size(), kSeed);
  EXPECT_EQ(ImageOf(shared.data(), whole.size()), whole);
}

TEST(Record, TheWriterReadsItsOwnInPlace) {
  const size_t bytes = RecordBytes(kOld.key.size(), kOld.value.size());
  std::vector<uint64_t> region(4 + RoundUpToWord(bytes) / kWordBytes);
  WriteRecordHead(region.data() + 4, kOld, kOld.value.size());
  WriteRecordValue(region.data() + 4, kOld.key.size(), kOld.value, kOld.mask);
  const auto memory = std::as_bytes(std::span(region));
  const MaskedItem own = OwnRecord(memory.data(), 4 * kWordBytes);
  const std::string key = own.key(), value = own.value();
  ExpectSame(ItemView{key, value, own.version(), own.flags(), own.expiry()}, kOld);
  EXPECT_TRUE(own.HasKey(kOld.key));
  for (size_t at = 0; at < key.size(); ++at) {
    std::string other = key;
    other[at] ^= 1;
    EXPECT_FALSE(own.HasKey(other)) << at;
    EXPECT_FALSE(own.HasKey(key.substr(0, at))) << at;
  }
}

TEST(Record, DeadHeadIsNeitherWholeNorLiveAndSaysHowLongTheMemoryIs) {
  for (const size_t bytes : {kRecordHeaderBytes, size_t{41}, size_t{70'000}, kRecordBytesMax}) {
    std::vector<uint64_t> shared(RoundUpToWord(bytes) / kWordBytes, ~uint64_t{0});
    WriteDeadHead(shared.data(), bytes);
    const OwnHead head = OwnRecordHead(std::as_bytes(std::span(shared)).data(), 0);
    EXPECT_FALSE(head.live);
    EXPECT_EQ(head.version, 0u);
    EXPECT_EQ(head.record_bytes, bytes);
    EXPECT_FALSE(Parses(ImageOf(shared.data(), bytes)));
  }
}

TEST(Record, MovedRecordIsTheSameWholeOrDamaged) {
  for (const bool damaged : {false, true}) {
    Image image = Written(kOld);
    if (damaged) image[50] ^= std::byte{1};
    std::vector<uint64_t> from(RoundUpToWord(image.size()) / kWordBytes);
    CopyToShared(from.data(), 0, image.data(), image.size());
    std::vector<uint64_t> to(from.size() + 1, 5);
    MoveRecord(to.data(), from.data(), image.size());
    EXPECT_EQ(ImageOf(to.data(), image.size()), image);
    EXPECT_EQ(to.back(), 5u) << "and nothing behind it";
  }
}

// No request could name it: such a record is nobody's, whatever its checksum says.
TEST(Record, KeyThatNoRequestHasMakesNoRecord) {
  const auto with_key_bytes = [](size_t key_bytes, size_t value_bytes) {
    Image image = Written({"k", std::string(key_bytes + value_bytes - 1, 'v'), 1, 0, 0});
    const auto key = static_cast<uint16_t>(key_bytes);
    const auto value = static_cast<uint32_t>(value_bytes);
    std::memcpy(image.data() + offsetof(RecordHeader, key_bytes), &key, sizeof(key));
    std::memcpy(image.data() + offsetof(RecordHeader, value_bytes), &value, sizeof(value));
    std::vector<uint64_t> words(RoundUpToWord(image.size()) / kWordBytes);
    CopyToShared(words.data(), 0, image.data(), image.size());
    SealRecord(words.data(), image.size(), kSeed);
    return ImageOf(words.data(), image.size());
  };
  EXPECT_TRUE(Parses(with_key_bytes(1, 10)));
  EXPECT_TRUE(Parses(with_key_bytes(kKeyBytesMax, 10)));
  EXPECT_FALSE(Parses(with_key_bytes(0, 10)));
  EXPECT_FALSE(Parses(with_key_bytes(kKeyBytesMax + 1, 10)));
  EXPECT_FALSE(Parses(with_key_bytes(UINT16_MAX, 0)));
}

// An empty value may stand in a buffer of its own or in none.
TEST(Record, PartsAreJudgedLikeTheFormTheyTake) {
  const ItemView empty{"key", "", 3, 0, 0};
  Image no_value = Written(empty), whole = Written(kOld), split = whole;
  const auto parse = [](std::span<std::byte> head, std::span<std::byte> value) {
    ItemView item{};
    return ParseRecordParts(head, value, kSeed, &item) ? std::optional(item) : std::nullopt;
  };
  ExpectSame(parse(no_value, {}), empty);
  const std::span<std::byte> bytes(split);
  const size_t head_bytes = kRecordHeaderBytes + kOld.key.size();
  EXPECT_FALSE(parse(bytes.first(head_bytes), {}));
  EXPECT_FALSE(parse(bytes, bytes.subspan(head_bytes)));
  ExpectSame(parse(whole, {}), kOld);
  ExpectSame(parse(bytes.first(head_bytes), bytes.subspan(head_bytes)), kOld);
}

}  // namespace
}  // namespace plov::verify
