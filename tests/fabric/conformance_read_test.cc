// Conformance: READs, by what they deliver (guarantees 1, 2 and 6 of fabric/fabric.h).

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

constexpr std::byte kUntouched{0xee};
constexpr size_t kMarginBytes = 16;

// A destination with margins that show whether more was written than was asked for.
class Destination {
 public:
  // misalignment: bytes by which the memory misses a word boundary.
  explicit Destination(size_t bytes, size_t misalignment = 0)
      : memory_(bytes + misalignment + 2 * kMarginBytes, kUntouched),
        bytes_(std::span(memory_).subspan(kMarginBytes + misalignment, bytes)) {}

  std::byte* data() const { return bytes_.data(); }
  bool Holds(std::span<const std::byte> expected) const { return Same(bytes_, expected); }
  bool MarginsUntouched() const {
    const std::span all(memory_);
    const size_t before = static_cast<size_t>(bytes_.data() - memory_.data());
    return std::ranges::all_of(all.first(before), IsUntouched) &&
           std::ranges::all_of(all.subspan(before + bytes_.size()), IsUntouched);
  }
  bool Untouched() const { return std::ranges::all_of(memory_, IsUntouched); }

 private:
  static bool IsUntouched(std::byte byte) { return byte == kUntouched; }

  std::vector<std::byte> memory_;
  std::span<std::byte> bytes_;
};

// Rewrites words of a region from another thread until it is destroyed.
class Rewriter {
 public:
  // store: gets the round's number, from 1.
  explicit Rewriter(std::function<void(uint64_t round)> store)
      : thread_([this, store = std::move(store)] {
          for (uint64_t round = 1; !stop_.load(std::memory_order_relaxed); ++round) store(round);
        }) {}
  ~Rewriter() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// A word of eight equal bytes.
uint64_t Repeat(uint64_t byte) { return (byte & 0xff) * 0x0101010101010101; }

bool IsRepeated(const std::byte* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [&](std::byte byte) { return byte == bytes[0]; });
}

}  // namespace

TEST_P(FabricConformance, ReadOfAnyLengthDeliversItsBytesAndNoMore) {
  TestServer server = Serve();
  const auto content = Pattern(TestServer::kRegionBytes, 1);
  server.Fill(content);
  const auto client = server.Connect();
  for (uint32_t bytes = 0; bytes <= 300; ++bytes) {
    const uint64_t offset = 8 * (bytes % 7);
    Destination to(bytes, bytes % 8);
    const ReadOp op{.offset = offset, .bytes = bytes, .to = to.data()};
    ASSERT_EQ(ReadOne(client.get(), op), Status::kDone);
    EXPECT_TRUE(to.Holds(std::span(content).subspan(offset, bytes))) << bytes;
    EXPECT_TRUE(to.MarginsUntouched()) << bytes;
  }
}

TEST_P(FabricConformance, ReadOfTheWholeRegionDeliversIt) {
  TestServer server = Serve();
  const auto content = Pattern(TestServer::kRegionBytes, 2);
  server.Fill(content);
  const auto client = server.Connect();
  Destination to(content.size());
  const ReadOp op{.bytes = TestServer::kRegionBytes, .to = to.data()};
  ASSERT_EQ(ReadOne(client.get(), op), Status::kDone);
  EXPECT_TRUE(to.Holds(content) && to.MarginsUntouched());
}

TEST_P(FabricConformance, BatchIsPostedUpToTheReadDepth) {
  TestServer server = Serve();
  const auto content = Pattern(TestServer::kRegionBytes, 6);
  server.Fill(content);
  const auto client = server.Connect();
  const uint32_t depth = client->limits().read_depth;
  std::vector<std::array<std::byte, 24>> to(depth + 5);
  std::vector<ReadOp> ops;
  for (size_t i = 0; i < to.size(); ++i) {
    ops.push_back({.offset = 24 * i, .bytes = 24, .to = to[i].data(), .tag = i});
  }
  EXPECT_EQ(client->Read({}), 0u);
  EXPECT_EQ(client->Read(ops), depth);
  EXPECT_EQ(client->Read(std::span(ops).subspan(depth)), 0u);
  // Room for as many as completed, no more.
  std::array<Completion, 3> few;
  size_t done = 0;
  ASSERT_TRUE(Eventually([&] { return (done += client->Poll(std::span(few).first(1))) == 1; }));
  EXPECT_EQ(client->Read(std::span(ops).subspan(depth)), 1u);
  EXPECT_EQ(client->Read(std::span(ops).subspan(depth)), 0u);
  ASSERT_TRUE(Eventually([&] { return (done += client->Poll(few)) == depth + 1; }));
  EXPECT_EQ(client->Poll(few), 0u);
  for (size_t i = 0; i <= depth; ++i) {
    EXPECT_TRUE(Same(to[i], std::span(content).subspan(24 * i, 24))) << i;
  }
}

TEST_P(FabricConformance, EveryReadCompletesOnceUnderItsTag) {
  TestServer server = Serve();
  const auto content = Pattern(TestServer::kRegionBytes, 7);
  server.Fill(content);
  const auto client = server.Connect();
  const size_t count = 5 * client->limits().read_depth + 3;
  std::vector<std::array<std::byte, 40>> to(count);
  std::vector<ReadOp> ops;
  for (size_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<uint32_t>(i % 41);
    ops.push_back({.offset = 8 * i, .bytes = bytes, .to = to[i].data()});
  }
  const auto statuses = ReadAll(client.get(), ops);  // throws when a tag comes twice
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(statuses[i], Status::kDone);
    EXPECT_EQ(std::memcmp(to[i].data(), content.data() + 8 * i, i % 41), 0) << i;
  }
}

TEST_P(FabricConformance, ReadOutsideTheRegionTouchesNothing) {
  TestServer server = Serve();
  const auto client = server.Connect();
  constexpr uint64_t kEnd = TestServer::kRegionBytes;
  const std::pair<uint64_t, uint32_t> ranges[] = {{kEnd, 1},
                                                  {kEnd, 8},
                                                  {kEnd - 8, 9},
                                                  {kEnd - 8, 16},
                                                  {kEnd - 64, 72},
                                                  {kEnd + 8, 8},
                                                  {kEnd + 4096, 1},
                                                  {0, kEnd + 1},
                                                  {8, kEnd},
                                                  {0, UINT32_MAX},
                                                  {UINT64_MAX - 7, 8},
                                                  {UINT64_MAX - 7, 16},
                                                  {UINT64_MAX - 63, 64},
                                                  {uint64_t{1} << 63, 8},
                                                  {uint64_t{1} << 32, 8},
                                                  {UINT64_MAX - 4095, 100}};
  Destination to(256);
  std::vector<ReadOp> ops;
  for (const auto& [offset, bytes] : ranges) ops.push_back({offset, bytes, to.data()});
  for (const Status status : ReadAll(client.get(), ops)) EXPECT_EQ(status, Status::kOutOfRange);
  EXPECT_TRUE(to.Untouched());
  // The last word is inside.
  const ReadOp inside{.offset = kEnd - 8, .bytes = 8, .to = to.data()};
  EXPECT_EQ(ReadOne(client.get(), inside), Status::kDone);
}

TEST_P(FabricConformance, MisalignedReadTouchesNothing) {
  TestServer server = Serve();
  const auto client = server.Connect();
  Destination to(64);
  for (uint64_t misalignment = 1; misalignment < 8; ++misalignment) {
    for (const uint32_t bytes : {1u, 8u, 17u}) {
      const ReadOp op{.offset = 64 + misalignment, .bytes = bytes, .to = to.data()};
      EXPECT_EQ(ReadOne(client.get(), op), Status::kOutOfRange) << misalignment;
    }
  }
  EXPECT_TRUE(to.Untouched());
}

TEST_P(FabricConformance, BadReadInABatchLeavesTheOthersGood) {
  TestServer server = Serve();
  const auto content = Pattern(64, 8);
  server.Fill(content);
  const auto client = server.Connect();
  std::array<Destination, 3> to{Destination(32), Destination(32), Destination(32)};
  const ReadOp ops[] = {{.offset = 0, .bytes = 32, .to = to[0].data()},
                        {.offset = TestServer::kRegionBytes, .bytes = 32, .to = to[1].data()},
                        {.offset = 32, .bytes = 32, .to = to[2].data()}};
  const auto statuses = ReadAll(client.get(), ops);
  EXPECT_EQ(statuses, (std::vector{Status::kDone, Status::kOutOfRange, Status::kDone}));
  EXPECT_TRUE(to[0].Holds(std::span(content).first(32)));
  EXPECT_TRUE(to[1].Untouched());
  EXPECT_TRUE(to[2].Holds(std::span(content).subspan(32, 32)));
  EXPECT_TRUE(client->alive());
}

TEST_P(FabricConformance, WordIsNeverTorn) {
  constexpr size_t kWords = 16;
  TestServer server = Serve();
  const auto client = server.Connect();
  uint64_t* words = server.words();
  const Rewriter rewriter([words](uint64_t round) {
    for (size_t i = 0; i < kWords; ++i) verify::StoreWord(words + i, Repeat(round));
  });
  std::array<std::byte, 8 * kWords + 8> to;
  std::byte* misaligned = to.data() + 3;
  for (uint32_t round = 0; round < static_cast<uint32_t>(Rounds(20'000)); ++round) {
    const ReadOp op{.bytes = 8 * kWords, .to = misaligned};
    ASSERT_EQ(ReadOne(client.get(), op), Status::kDone);
    for (size_t i = 0; i < kWords; ++i) {
      ASSERT_TRUE(IsRepeated(misaligned + 8 * i, 8)) << "word " << i;
    }
  }
}

TEST_P(FabricConformance, LaterReadIsNeverOlder) {
  constexpr uint64_t kFirst = 0;
  constexpr uint64_t kSecond = 4096;
  TestServer server = Serve();
  const auto client = server.Connect();
  uint64_t* words = server.words();
  // kFirst is ahead of kSecond at every instant.
  const Rewriter rewriter([words](uint64_t round) {
    verify::PublishSeal(words + kFirst / 8, round);
    verify::PublishSeal(words + kSecond / 8, round);
  });
  uint64_t newest = 0;
  for (int round = 0; round < Rounds(50'000); ++round) {
    const uint64_t second = ReadWord(client.get(), kSecond);
    const uint64_t first = ReadWord(client.get(), kFirst);
    ASSERT_GE(second, newest) << "the word went back";
    ASSERT_GE(first, second) << "a later READ saw an older state";
    newest = second;
  }
}

}  // namespace plov::fabric
