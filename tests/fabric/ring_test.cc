// Ring: whole messages at every offset, and any garbage from the other side is a verdict.

#include "fabric/shm/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

constexpr size_t kWords = 32;
constexpr size_t kDataBytes = 8 * kWords;
constexpr size_t kLargest = kDataBytes - 8;  // a message that fills the ring

// A ring in private memory, with both of its ends and words around it that must not change.
class PrivateRing {
 public:
  PrivateRing() : words_(kWords + 2, kFence), control_(std::make_unique<RingControl>()) {
    writer_ = RingWriter(control_.get(), data());
    reader_ = RingReader(control_.get(), data());
  }

  RingControl& control() { return *control_; }
  uint64_t* words() { return words_.data() + 1; }
  RingWriter& writer() { return writer_; }
  RingReader& reader() { return reader_; }

  RingReader::Result Read() {
    buffer_.fill(std::byte{0xee});
    bytes_ = SIZE_MAX;
    return reader_.Read(std::span(buffer_).first(kLargest), &bytes_);
  }
  std::span<const std::byte> message() const { return std::span(buffer_).first(bytes_); }

  // Moves an empty ring on by whole words.
  void Advance(size_t words) {
    for (size_t i = 0; i < words; ++i) {
      ASSERT_EQ(writer_.Write({}), RingWriter::Result::kWritten);
      ASSERT_EQ(Read(), RingReader::Result::kMessage);
    }
  }

  bool FencesHold() const {
    return words_.front() == kFence && words_.back() == kFence &&
           std::ranges::all_of(std::span(buffer_).subspan(kLargest),
                               [](std::byte byte) { return byte == std::byte{0xee}; });
  }

 private:
  static constexpr uint64_t kFence = 0xfefefefefefefefe;

  std::span<std::byte> data() {
    return std::as_writable_bytes(std::span(words_).subspan(1, kWords));
  }

  std::vector<uint64_t> words_;
  std::unique_ptr<RingControl> control_;
  RingWriter writer_;
  RingReader reader_;
  std::array<std::byte, kLargest + 64> buffer_;
  size_t bytes_ = 0;
};

void Idle(uint64_t loops) {
  for (uint64_t i = 0; i < loops; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Spins, so that two threads go on together, but not for long: they may share a processor.
template <typename Done>
void SpinUntil(Done done) {
  for (uint64_t spins = 1; !done(); ++spins) {
    if (spins % 4096 == 0) std::this_thread::yield();
  }
}

}  // namespace

TEST(Ring, MessageOfEverySizeIsWholeAtEveryWordOffset) {
  for (size_t offset = 0; offset < kWords; ++offset) {
    for (size_t bytes = 0; bytes <= kLargest; ++bytes) {
      PrivateRing ring;
      ring.Advance(offset);
      const auto message = Pattern(bytes, offset * 1000 + bytes);
      ASSERT_EQ(ring.writer().Write(message), RingWriter::Result::kWritten);
      ASSERT_EQ(ring.Read(), RingReader::Result::kMessage);
      ASSERT_TRUE(Same(ring.message(), message)) << bytes << " at " << offset;
      ASSERT_TRUE(ring.FencesHold()) << bytes << " at " << offset;
      ASSERT_EQ(ring.Read(), RingReader::Result::kNone);
    }
  }
}

TEST(Ring, ManyMessagesKeepTheirOrderAtEveryWordOffset) {
  for (size_t offset = 0; offset < kWords; ++offset) {
    PrivateRing ring;
    ring.Advance(offset);
    size_t written = 0;
    while (ring.writer().Write(Pattern(written * 5 % 40, written)) ==
           RingWriter::Result::kWritten) {
      ++written;
    }
    ASSERT_GT(written, 3u);
    for (size_t i = 0; i < written; ++i) {
      ASSERT_EQ(ring.Read(), RingReader::Result::kMessage);
      ASSERT_TRUE(Same(ring.message(), Pattern(i * 5 % 40, i))) << i << " at " << offset;
    }
    ASSERT_EQ(ring.Read(), RingReader::Result::kNone);
    ASSERT_TRUE(ring.FencesHold());
  }
}

TEST(Ring, FullRingTakesNothingUntilItIsRead) {
  PrivateRing ring;
  ASSERT_EQ(ring.writer().Write(Pattern(kLargest, 1)), RingWriter::Result::kWritten);
  EXPECT_EQ(ring.writer().Write({}), RingWriter::Result::kNoRoom);
  ASSERT_EQ(ring.Read(), RingReader::Result::kMessage);
  EXPECT_TRUE(Same(ring.message(), Pattern(kLargest, 1)));
  EXPECT_EQ(ring.writer().Write(Pattern(kLargest, 2)), RingWriter::Result::kWritten);
}

TEST(Ring, MessageLargerThanTheRingHasNoRoom) {
  PrivateRing ring;
  for (const size_t bytes : {kLargest + 1, kDataBytes, 3 * kDataBytes}) {
    EXPECT_EQ(ring.writer().Write(Pattern(bytes, 1)), RingWriter::Result::kNoRoom) << bytes;
  }
}

TEST(Ring, ImpossibleTailBreaksTheReader) {
  for (const uint64_t tail :
       {uint64_t{1}, uint64_t{7}, uint64_t{12}, uint64_t{kDataBytes + 8}, uint64_t{kDataBytes * 2},
        UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63}) {
    PrivateRing ring;
    ring.control().tail.store(tail, std::memory_order_seq_cst);
    EXPECT_EQ(ring.Read(), RingReader::Result::kBroken) << tail;
  }
}

TEST(Ring, TailThatGoesBackBreaksTheReader) {
  PrivateRing ring;
  ring.Advance(5);
  ring.control().tail.store(8, std::memory_order_seq_cst);
  EXPECT_EQ(ring.Read(), RingReader::Result::kBroken);
}

TEST(Ring, ImpossibleLengthBreaksTheReader) {
  for (const uint64_t length : {uint64_t{17}, uint64_t{24}, uint64_t{kLargest + 1},
                                uint64_t{kDataBytes}, uint64_t{UINT32_MAX}, uint64_t{1} << 32,
                                (uint64_t{1} << 32) + 8, UINT64_MAX, UINT64_MAX - 7}) {
    PrivateRing ring;
    ASSERT_EQ(ring.writer().Write(Pattern(16, 1)), RingWriter::Result::kWritten);
    verify::StoreWord(ring.words(), length);
    EXPECT_EQ(ring.Read(), RingReader::Result::kBroken) << length;
    EXPECT_TRUE(ring.FencesHold());
  }
}

TEST(Ring, ImpossibleHeadBreaksTheWriter) {
  for (const uint64_t head : {uint64_t{8}, uint64_t{1} << 63, UINT64_MAX - kDataBytes}) {
    PrivateRing ring;
    ring.control().head.store(head, std::memory_order_seq_cst);
    EXPECT_EQ(ring.writer().Write(Pattern(8, 1)), RingWriter::Result::kBroken) << head;
  }
}

TEST(Ring, MessageIsBoundedByTheReadersBuffer) {
  PrivateRing ring;
  ASSERT_EQ(ring.writer().Write(Pattern(65, 1)), RingWriter::Result::kWritten);
  std::array<std::byte, 64> small;
  size_t bytes = 0;
  EXPECT_EQ(ring.reader().Read(small, &bytes), RingReader::Result::kBroken);
}

// Any words anywhere: a verdict each time, and no byte outside the ring or the buffer.
TEST(Ring, GarbageIsOnlyEverAVerdict) {
  std::mt19937_64 random(7);
  const auto garbage = [&]() -> uint64_t {
    switch (random() % 4) {
      case 0:
        return random() % (2 * kDataBytes);
      case 1:
        return random() % (2 * kWords) * 8;
      case 2:
        return UINT64_MAX - random() % (2 * kDataBytes);
      default:
        return random();
    }
  };
  for (int round = 0; round < 200'000; ++round) {
    PrivateRing ring;
    for (size_t i = 0; i < kWords; ++i) verify::StoreWord(ring.words() + i, garbage());
    for (int step = 0; step < 4; ++step) {
      ring.control().tail.store(garbage(), std::memory_order_seq_cst);
      ring.control().head.store(garbage(), std::memory_order_seq_cst);
      if (ring.Read() == RingReader::Result::kMessage) {
        ASSERT_LE(ring.message().size(), kLargest);
      }
      ring.writer().Write(Pattern(random() % 64, 1));
    }
    ASSERT_TRUE(ring.FencesHold());
  }
}

TEST(Ring, SleeperIsTakenOnce) {
  PrivateRing ring;
  EXPECT_FALSE(ring.writer().TakeSleeper());
  EXPECT_TRUE(ring.reader().Sleep());
  EXPECT_TRUE(ring.writer().TakeSleeper());
  EXPECT_FALSE(ring.writer().TakeSleeper());
  EXPECT_TRUE(ring.reader().Sleep());
  ring.reader().StayAwake();
  EXPECT_FALSE(ring.writer().TakeSleeper());
}

// Were it not woken, it would sleep for longer than a test may take.
TEST(Ring, ReaderThatSleepsHereIsWokenByTheWriter) {
  PrivateRing ring;
  for (int i = 0; i < 1000; ++i) {
    std::thread reader([&] {
      while (ring.reader().empty()) ring.reader().SleepHere(std::chrono::hours(1));
    });
    Idle(static_cast<uint32_t>(i) * 64);
    ASSERT_EQ(ring.writer().Write({}), RingWriter::Result::kWritten);
    EXPECT_FALSE(ring.writer().TakeSleeper()) << "nobody else is to wake it";
    reader.join();
    ASSERT_EQ(ring.Read(), RingReader::Result::kMessage);
  }
}

TEST(Ring, SleepHereIsBoundedAndLeavesItAwake) {
  PrivateRing ring;
  ring.reader().SleepHere(std::chrono::milliseconds(1));
  EXPECT_FALSE(ring.writer().TakeSleeper());
}

TEST(Ring, ReaderWithAMessageDoesNotSleep) {
  PrivateRing ring;
  ASSERT_EQ(ring.writer().Write({}), RingWriter::Result::kWritten);
  EXPECT_FALSE(ring.reader().Sleep());
  ring.reader().SleepHere(std::chrono::hours(1));
  EXPECT_FALSE(ring.writer().TakeSleeper());
}

// Dekker's pattern under two threads, over many rings in a row so that they meet often: never does
// the reader fall asleep while the writer of its message thinks that it is awake. A load that
// overtakes the store before it, as on x86, shows here within some ten thousand meetings; how many
// there are on a busy machine is chance, so this test may miss a defect but never invents one.
TEST(Ring, SleeperAndWriterNeverMissEachOther) {
  constexpr uint64_t kRings = 256;
  constexpr uint64_t kRounds = 60'000;
  const Deadline enough = Clock::now() + std::chrono::seconds(6);
  std::vector<PrivateRing> rings(kRings);
  std::array<bool, kRings> slept{};
  std::array<bool, kRings> taken{};
  std::atomic<uint64_t> allowed = 0;   // rings that the writer may write to
  std::atomic<uint64_t> reached = 0;   // rings that it has come to
  std::atomic<uint64_t> finished = 0;  // rings that it is done with
  std::thread writer([&] {
    std::mt19937 random(1);
    for (uint64_t at = 0;; ++at) {
      SpinUntil([&] { return allowed.load(std::memory_order_acquire) > at; });
      if (allowed.load(std::memory_order_acquire) == UINT64_MAX) return;
      reached.store(at + 1, std::memory_order_release);
      Idle(random() % 256);
      rings[at % kRings].writer().Write({});
      taken[at % kRings] = rings[at % kRings].writer().TakeSleeper();
      finished.store(at + 1, std::memory_order_release);
    }
  });
  std::mt19937 random(2);
  uint64_t missed = 0;
  for (uint64_t round = 0; round < kRounds && Clock::now() < enough; ++round) {
    const uint64_t first = round * kRings;
    allowed.store(first + kRings, std::memory_order_release);
    for (uint64_t i = 0; i < kRings; ++i) {
      SpinUntil([&] { return reached.load(std::memory_order_acquire) > first + i; });
      Idle(random() % 256);
      slept[i] = rings[i].reader().Sleep();
    }
    SpinUntil([&] { return finished.load(std::memory_order_acquire) == first + kRings; });
    for (uint64_t i = 0; i < kRings; ++i) {
      if (slept[i] && !taken[i]) ++missed;
      rings[i].reader().StayAwake();
      if (rings[i].Read() != RingReader::Result::kMessage) ++missed;
    }
  }
  allowed.store(UINT64_MAX, std::memory_order_release);
  writer.join();
  EXPECT_EQ(missed, 0u);
}

}  // namespace plov::fabric::shm
