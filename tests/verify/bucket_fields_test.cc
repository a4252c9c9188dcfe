// Buckets as data: fields do not disturb each other, items come back as they went in, and the
// lengths of an inline item are believed only where they fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "tests/verify/guarded_buffer.h"
#include "tests/verify/tears.h"
#include "verify/bucket.h"

namespace plov::verify {
namespace {

class BucketFields : public ::testing::TestWithParam<uint32_t> {
 protected:
  uint32_t bytes() const { return GetParam(); }
  size_t room() const { return bytes() - 32; }
};

// What a bucket's two head words mean, kept apart.
struct Model {
  uint32_t version = 0;
  BucketKind kind = BucketKind::kEmpty;
  bool overflow = false;
  bool forward = false;
  std::array<DirectoryEntry, kDirectoryEntries> entries{};
};

void ExpectFields(const Bucket& bucket, const Model& model) {
  EXPECT_EQ(bucket.version(), model.version);
  EXPECT_EQ(bucket.kind(), model.kind);
  EXPECT_EQ(bucket.overflow(), model.overflow);
  EXPECT_EQ(bucket.forward(), model.forward);
  bool any = model.overflow;
  for (size_t i = 0; i < kDirectoryEntries; ++i) {
    EXPECT_EQ(bucket.entry(i), model.entries[i]) << "entry " << i;
    any |= model.entries[i] != DirectoryEntry{};
  }
  EXPECT_EQ(bucket.has_directory(), any);
}

void ChangeOneField(Bucket* bucket, Model* model, std::mt19937_64* random) {
  const auto number = static_cast<uint32_t>((*random)());
  switch ((*random)() % 5) {
    case 0:
      bucket->set_version(model->version = number);
      break;
    case 1:
      bucket->set_overflow(model->overflow = (number & 1) != 0);
      break;
    case 2:
      bucket->set_forward(model->forward = (number & 1) != 0);
      break;
    default:
      const size_t index = number % kDirectoryEntries;
      model->entries[index] = {(number >> 8) % 3, number >> 16 & kFingerprintMask};
      if (model->entries[index].way == 0) model->entries[index] = {};
      bucket->set_entry(index, model->entries[index]);
  }
}

void ChangeKind(Bucket* bucket, Model* model, std::mt19937_64* random, uint32_t bucket_bytes) {
  Bucket other;
  other.SetInline({"k", "v", 1, 0, 0}, bucket_bytes);
  other.set_overflow(true);
  other.set_forward(true);
  other.set_entry(1, {2, 99});
  other.set_version(0xdeadbeef);
  switch ((*random)() % 5) {
    case 0:
      bucket->Clear(bucket_bytes);
      model->kind = BucketKind::kEmpty;
      break;
    case 1:
      bucket->Retire(bucket_bytes);
      model->kind = BucketKind::kRetired;
      break;
    case 2:
      bucket->SetReference({1, 2, 3, 4, 0, 6}, bucket_bytes);
      model->kind = BucketKind::kReference;
      break;
    case 3:
      bucket->SetInline({"key", "value", 9, 0, 0}, bucket_bytes);
      model->kind = BucketKind::kInline;
      break;
    default:
      bucket->TakeItem(other, bucket_bytes);
      model->kind = BucketKind::kInline;
  }
}

TEST_P(BucketFields, NoSetterDisturbsAnotherField) {
  std::mt19937_64 random(7);
  Bucket bucket;
  Model model;
  for (int step = 0; step < 20'000 && !HasFailure(); ++step) {
    const Bucket before = bucket;
    ChangeOneField(&bucket, &model, &random);
    ExpectFields(bucket, model);
    EXPECT_EQ(0, std::memcmp(bucket.words() + 2, before.words() + 2, bytes() - 16));
    ChangeKind(&bucket, &model, &random, bytes());
    ExpectFields(bucket, model);
  }
}

TEST_P(BucketFields, EveryDirectoryEntryComesBack) {
  for (size_t index = 0; index < kDirectoryEntries; ++index) {
    for (uint32_t way = 1; way <= 2; ++way) {
      for (uint32_t fingerprint = 0; fingerprint <= kFingerprintMask; ++fingerprint) {
        Bucket bucket;
        bucket.set_entry(index, {way, fingerprint});
        EXPECT_EQ(bucket.entry(index), (DirectoryEntry{way, fingerprint}));
        EXPECT_TRUE(bucket.has_directory());
        EXPECT_EQ(bucket.kind(), BucketKind::kEmpty);
        EXPECT_FALSE(bucket.overflow() || bucket.forward());
        bucket.set_entry(index, {});
        EXPECT_FALSE(bucket.has_directory());
      }
    }
  }
}

TEST_P(BucketFields, KindAndForwardAreNoDirectory) {
  Bucket bucket;
  bucket.Retire(bytes());
  bucket.set_forward(true);
  EXPECT_FALSE(bucket.has_directory());
  bucket.set_overflow(true);
  EXPECT_TRUE(bucket.has_directory());
}

TEST_P(BucketFields, ReferencesComeBack) {
  Bucket bucket;
  bucket.SetReference({~uint64_t{0}, 1, uint64_t{1} << 63, 0xffffffff, 0, 0x123456789abcdef0},
                      bytes());
  EXPECT_EQ(bucket.kind(), BucketKind::kReference);
  const Reference reference = bucket.reference();
  EXPECT_EQ(reference.hash, ~uint64_t{0});
  EXPECT_EQ(reference.version, 1u);
  EXPECT_EQ(reference.offset, uint64_t{1} << 63);
  EXPECT_EQ(reference.record_bytes, 0xffffffffu);
  EXPECT_EQ(reference.reserved, 0u);
  EXPECT_EQ(reference.mask, 0x123456789abcdef0u);
  EXPECT_EQ(bucket.words()[2], ~reference.mask)
      << "a key chooses its hash, and no word of the table";
}

// Equal items make equal bytes, and a deleted item does not linger in memory that clients read.
TEST_P(BucketFields, ANewPayloadLeavesNothingOfTheOld) {
  Bucket full;
  full.SetInline({std::string(room() - 1, 'x'), "y", ~uint64_t{0}, 0, 0}, bytes());
  Bucket cleared = full;
  cleared.Clear(bytes());
  EXPECT_EQ(ImageOf(cleared.words(), bytes()), Image(bytes()));
  Bucket small = full, fresh;
  small.SetInline({"k", "v", 1, 0, 0}, bytes());
  fresh.SetInline({"k", "v", 1, 0, 0}, bytes());
  EXPECT_EQ(ImageOf(small.words(), bytes()), ImageOf(fresh.words(), bytes()));
}

TEST(Bucket, SettersStayInsideTheSmallerBucket) {
  constexpr uint32_t kBytes = kBucketBytesMin;
  Bucket bucket;
  for (size_t i = 8; i < kBucketWordsMax; ++i) bucket.words()[i] = 0xeeeeeeeeeeeeeeee;
  bucket.SetInline({std::string(31, 'x'), "y", 1, 0, 0}, kBytes);
  bucket.SetReference({1, 2, 3, 4, 5, 6}, kBytes);
  bucket.TakeItem(Bucket(), kBytes);
  bucket.Clear(kBytes);
  bucket.Retire(kBytes);
  bucket.Seal(kBytes, 1);
  for (size_t i = 8; i < kBucketWordsMax; ++i) EXPECT_EQ(bucket.words()[i], 0xeeeeeeeeeeeeeeee);
}

TEST_P(BucketFields, InlineRoomIsExact) {
  for (const uint32_t flags : {0u, 1u}) {
    for (const uint32_t expiry : {0u, 0xffffffffu}) {
      const size_t left = room() - (flags != 0 ? 4 : 0) - (expiry != 0 ? 4 : 0);
      for (size_t key_bytes = 1; key_bytes <= left; ++key_bytes) {
        const std::string key(key_bytes, 'k'), value(left - key_bytes, 'v');
        const std::string longer = value + 'v';
        EXPECT_TRUE(InlineFits({key, value, 1, flags, expiry}, bytes()));
        EXPECT_FALSE(InlineFits({key, longer, 1, flags, expiry}, bytes()));
      }
    }
  }
  EXPECT_FALSE(InlineFits({std::string(1024, 'k'), "", 1, 0, 0}, bytes()));
  EXPECT_FALSE(InlineFits({"k", std::string(1 << 20, 'v'), 1, 0, 0}, bytes()));
}

TEST_P(BucketFields, EveryInlineItemThatFitsComesBack) {
  std::mt19937_64 random(3);
  for (const uint32_t flags : {0u, 0x80000001u}) {
    for (const uint32_t expiry : {0u, 0xffffffffu}) {
      for (size_t key_bytes = 1; key_bytes <= room(); ++key_bytes) {
        for (size_t value_bytes = 0; key_bytes + value_bytes <= room(); ++value_bytes) {
          std::string key(key_bytes, '\0'), value(value_bytes, '\0');
          for (char& c : key) c = static_cast<char>(random());
          for (char& c : value) c = static_cast<char>(random());
          const ItemView item{key, value, random(), flags, expiry, Mask::Of(random())};
          if (!InlineFits(item, bytes())) continue;
          Bucket bucket;
          bucket.SetInline(item, bytes());
          const auto masked = bucket.inline_item(bytes());
          ASSERT_TRUE(masked.has_value());
          EXPECT_TRUE(masked->HasKey(key));
          EXPECT_EQ(masked->value(), value);
          Bucket copy = bucket;
          const auto back = copy.Unmask(bytes());
          ASSERT_TRUE(back.has_value());
          EXPECT_EQ(back->key, key);
          EXPECT_EQ(back->value, value);
          EXPECT_EQ(back->version, item.version);
          EXPECT_EQ(back->flags, flags);
          EXPECT_EQ(back->expiry, expiry);
        }
      }
    }
  }
}

// What a client sends stands nowhere as it sent it: zeros show the mask, in all words alike.
TEST_P(BucketFields, EveryWordOfAnInlineItemLiesUnderItsMask) {
  const Mask mask = Mask::Of(0xfedcba9876543211);
  const std::string zeros(room() - 5, '\0');
  Bucket bucket;
  bucket.SetInline(
      {std::string_view(zeros).substr(0, 3), std::string_view(zeros).substr(3), 1, 0, 0, mask},
      bytes());
  for (size_t i = 4; i < bytes() / kWordBytes; ++i) {
    EXPECT_EQ(bucket.words()[i], Mask::WordOfInline(mask.inline_bits())) << i;
  }
}

// All that hostile lengths can say.
TEST_P(BucketFields, ForeignInlineLengthsAreRejected) {
  for (uint32_t lengths = 0; lengths < 1u << 18; ++lengths) {
    const uint32_t key_bytes = lengths & 0xff, value_bytes = lengths >> 8 & 0xff;
    const uint32_t presence = lengths >> 16;
    Bucket bucket;
    bucket.words()[3] =
        uint64_t{key_bytes} << 56 | uint64_t{value_bytes} << 48 | uint64_t{presence} << 46;
    const size_t taken = (presence & 1) * 4 + (presence >> 1) * 4 + key_bytes + value_bytes;
    const auto item = bucket.Unmask(bytes());
    ASSERT_EQ(item.has_value(), key_bytes > 0 && taken <= room())
        << key_bytes << " + " << value_bytes;
    if (!item) continue;
    const auto memory = std::as_bytes(std::span(bucket.words(), bytes() / kWordBytes));
    ASSERT_TRUE(LiesInside(item->key, memory) && LiesInside(item->value, memory));
  }
}

TEST_P(BucketFields, AMovedItemBringsItsPayloadAndLeavesItsDirectory) {
  Bucket from, to;
  from.SetInline({"mover", "payload", 5, 0, 0}, bytes());
  from.set_version(1);
  from.set_entry(0, {1, 11});
  to.set_version(2);
  to.set_entry(2, {2, 22});
  to.TakeItem(from, bytes());
  EXPECT_EQ(to.inline_item(bytes())->key(), "mover");
  EXPECT_EQ(to.inline_item(bytes())->value(), "payload");
  EXPECT_EQ(to.version(), 2u);
  EXPECT_EQ(to.entry(0), DirectoryEntry{});
  EXPECT_EQ(to.entry(2), (DirectoryEntry{2, 22}));
  EXPECT_EQ(from.entry(0), (DirectoryEntry{1, 11}));
}

INSTANTIATE_TEST_SUITE_P(Bytes, BucketFields, ::testing::Values(64u, 128u));

}  // namespace
}  // namespace plov::verify
