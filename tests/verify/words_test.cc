#include "verify/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "tests/verify/guarded_buffer.h"

namespace plov::verify {
namespace {

constexpr size_t kLengthMax = 200;  // more than three blocks of eight words
constexpr std::byte kUntouched{0xee};

std::array<std::byte, kLengthMax> Counting() {
  std::array<std::byte, kLengthMax> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i + 1);
  return bytes;
}

TEST(Words, RoundUpToWordCoversEveryByteAndNoWordMore) {
  for (size_t bytes = 0; bytes < 1000; ++bytes) {
    const size_t rounded = RoundUpToWord(bytes);
    EXPECT_EQ(rounded % kWordBytes, 0u);
    EXPECT_GE(rounded, bytes);
    EXPECT_LT(rounded, bytes + kWordBytes);
  }
}

TEST(Words, EachNamedStoreIsSeenByLoadWord) {
  uint64_t word = 0;
  StoreWord(&word, 0x0102030405060708);
  EXPECT_EQ(LoadWord(&word), 0x0102030405060708u);
  PublishSeal(&word, 0xf1f2f3f4f5f6f7f8);
  EXPECT_EQ(LoadWord(&word), 0xf1f2f3f4f5f6f7f8u);
  RetractLive(&word);
  EXPECT_EQ(LoadWord(&word), 0xf1f2f3f4f5f6f7f8u) << "it was not live";
  StoreWord(&word, 0x0102030405060709);
  RetractLive(&word);
  EXPECT_EQ(LoadWord(&word), 0x0102030405060708u) << "the mask stays";
}

TEST(Words, CopyFromSharedWritesExactlyItsBytesAtAnyAlignment) {
  std::array<uint64_t, kLengthMax / kWordBytes> shared;
  const auto content = Counting();
  std::memcpy(shared.data(), content.data(), content.size());
  for (size_t shift = 0; shift < kWordBytes; ++shift) {
    for (size_t bytes = 0; bytes <= kLengthMax; ++bytes) {
      std::vector<std::byte> to(shift + bytes + kWordBytes, kUntouched);
      CopyFromShared(to.data() + shift, shared.data(), bytes);
      std::vector<std::byte> expected(to.size(), kUntouched);
      std::copy_n(content.begin(), bytes, expected.begin() + static_cast<ptrdiff_t>(shift));
      EXPECT_EQ(to, expected) << "shift " << shift << ", bytes " << bytes;
    }
  }
}

// Around the length from which loads are wider.
TEST(Words, CopySealedFromSharedCopiesItsBytesAndReadsNoFurther) {
  constexpr size_t kFirst = 1000, kLast = 1200;
  GuardedBuffer buffer(kLast);
  for (size_t bytes = kFirst; bytes <= kLast; ++bytes) {
    const auto shared = buffer.Last(RoundUpToWord(bytes));
    for (size_t i = 0; i < shared.size(); ++i) shared[i] = std::byte(i * 7 + i / 256);
    std::vector<std::byte> to(bytes + 2, kUntouched);
    CopySealedFromShared(to.data() + 1, shared.data(), bytes);
    EXPECT_TRUE(std::ranges::equal(std::span(to).subspan(1, bytes), shared.first(bytes))) << bytes;
    EXPECT_EQ(to.front(), kUntouched);
    EXPECT_EQ(to.back(), kUntouched) << bytes;
  }
}

TEST(Words, CopyFromSharedReadsNoWordThatItsBytesDoNotTouch) {
  GuardedBuffer buffer(kLengthMax);
  for (size_t bytes = 0; bytes <= kLengthMax; ++bytes) {
    const auto shared = buffer.Last(RoundUpToWord(bytes));
    std::ranges::fill(shared, kUntouched);
    std::vector<std::byte> to(bytes);
    CopyFromShared(to.data(), shared.data(), bytes);
    EXPECT_EQ(to, std::vector<std::byte>(bytes, kUntouched));
  }
}

TEST(Words, CopyFromSharedInTwoPartsAtEveryHeadLength) {
  std::array<uint64_t, kLengthMax / kWordBytes> shared;
  const auto content = Counting();
  std::memcpy(shared.data(), content.data(), content.size());
  for (size_t bytes = 0; bytes <= kLengthMax; ++bytes) {
    for (size_t head_bytes = 0; head_bytes <= bytes; ++head_bytes) {
      std::vector<std::byte> head(head_bytes + 1, kUntouched),
          tail(bytes - head_bytes + 1, kUntouched);
      CopyFromSharedInTwo(head.data(), head_bytes, tail.data(), shared.data(), bytes);
      EXPECT_TRUE(std::equal(head.begin(), head.end() - 1, content.begin()));
      EXPECT_TRUE(std::equal(tail.begin(), tail.end() - 1,
                             content.begin() + static_cast<ptrdiff_t>(head_bytes)));
      EXPECT_TRUE(head.back() == kUntouched && tail.back() == kUntouched)
          << bytes << " bytes, of which in the head " << head_bytes;
    }
  }
}

// A copy that looked twice at the word where head and tail meet would be seen when it changes
// between the looks, so this one looks often at a word that changes as fast as it can.
TEST(Words, BothPartsOfASplitWordAreOfOneInstant) {
  uint64_t word = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
      StoreWord(&word, (round & 0xff) * 0x0101010101010101);
    }
  });
  for (int round = 0; round < 200'000; ++round) {
    std::array<std::byte, kWordBytes> bytes;
    CopyFromSharedInTwo(bytes.data(), 3, bytes.data() + 3, &word, kWordBytes);
    if (std::ranges::count(bytes, bytes[0]) != kWordBytes) {
      ADD_FAILURE() << "a torn word in round " << round;
      break;
    }
  }
  stop.store(true, std::memory_order_relaxed);
  writer.join();
}

TEST(Words, CopyToSharedPatchesOnlyItsBytes) {
  const auto content = Counting();
  for (size_t offset = 0; offset <= kWordBytes; ++offset) {
    for (size_t bytes = 0; bytes <= kLengthMax; ++bytes) {
      std::array<uint64_t, kLengthMax / kWordBytes + 3> shared;
      std::memset(shared.data(), std::to_integer<int>(kUntouched), sizeof(shared));
      CopyToShared(shared.data(), offset, content.data(), bytes);
      std::vector<std::byte> expected(sizeof(shared), kUntouched);
      std::copy_n(content.begin(), bytes, expected.begin() + static_cast<ptrdiff_t>(offset));
      EXPECT_EQ(std::memcmp(shared.data(), expected.data(), sizeof(shared)), 0)
          << "offset " << offset << ", bytes " << bytes;
    }
  }
}

// An empty string_view has a null pointer, and records with empty values are written through here.
TEST(Words, CopyToSharedOfNothingMayComeFromNowhere) {
  std::array<uint64_t, 2> shared = {1, 2};
  for (size_t offset = 0; offset <= kWordBytes; ++offset) {
    CopyToShared(shared.data(), offset, nullptr, 0);
    EXPECT_EQ(shared, (std::array<uint64_t, 2>{1, 2}));
  }
}

TEST(Words, CopyToSharedTouchesNoWordPastItsBytes) {
  const auto content = Counting();
  GuardedBuffer buffer(kLengthMax + kWordBytes);
  for (size_t offset = 0; offset < kWordBytes; ++offset) {
    for (size_t bytes = 1; bytes <= kLengthMax; ++bytes) {
      const auto memory = buffer.Last(RoundUpToWord(offset + bytes));
      auto* shared = static_cast<uint64_t*>(static_cast<void*>(memory.data()));
      CopyToShared(shared, offset, content.data(), bytes);
      EXPECT_EQ(std::memcmp(memory.data() + offset, content.data(), bytes), 0);
    }
  }
}

// At every alignment of the destination.
TEST(Words, MaskToSharedMasksItsBytesAndTheRestOfTheLastWord) {
  constexpr uint64_t kMask = 0xfedcba9876543210;
  std::array<uint64_t, 1300> from;
  for (size_t i = 0; i < from.size(); ++i) from[i] = i * 0x0101010101010101 + 0x0706050403020100;
  const auto content = std::as_bytes(std::span(from));
  for (size_t offset = 0; offset <= kWordBytes; ++offset) {
    for (const size_t bytes : {0u, 1u, 7u, 8u, 9u, 40u, 4095u, 4096u, 4097u, 8192u, 10'001u}) {
      std::vector<uint64_t> shared(from.size() + 2, 0xeeeeeeeeeeeeeeee);
      MaskToShared(shared.data(), offset, content.first(bytes), kMask);
      std::vector<std::byte> expected(shared.size() * kWordBytes, kUntouched);
      const size_t end =
          bytes == 0 && offset % kWordBytes == 0 ? offset : RoundUpToWord(offset + bytes);
      for (size_t at = offset; at < end; ++at) {
        expected[at] = (at - offset < bytes ? content[at - offset] : std::byte{0}) ^
                       std::byte(kMask >> 8 * (at % kWordBytes) & 0xff);
      }
      EXPECT_EQ(std::memcmp(shared.data(), expected.data(), expected.size()), 0)
          << "offset " << offset << ", bytes " << bytes;
    }
  }
}

TEST(Words, WordsAtCountsBytesFromTheRegionsStart) {
  std::array<uint64_t, 4> region = {10, 11, 12, 13};
  EXPECT_EQ(*WordsAt(std::as_writable_bytes(std::span(region)).data(), 16), 12u);
}

// The payload is deliberately not atomic: if PublishSeal lost its release or LoadWord its acquire,
// ThreadSanitizer reports a race here, and a weakly ordered machine shows a zero.
TEST(Words, WhoSeesTheSealSeesEverythingStoredBeforeIt) {
  constexpr uint64_t kSteps = 100'000;
  std::vector<uint64_t> payload(kSteps + 1, 0);
  uint64_t seal = 0;
  std::atomic<bool> started = false;
  std::thread writer([&] {
    started.wait(false, std::memory_order_acquire);
    for (uint64_t step = 1; step <= kSteps; ++step) {
      payload[step] = step;
      PublishSeal(&seal, step);
    }
  });
  started.store(true, std::memory_order_release);
  started.notify_all();
  uint64_t wrong = 0;
  for (uint64_t read = 0; read < kSteps; ++read) {
    const uint64_t seen = LoadWord(&seal);
    wrong += payload[seen] != seen ? 1 : 0;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(LoadWord(&seal), kSteps);
}

}  // namespace
}  // namespace plov::verify
