#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "log/snapshot_writer.h"
#include "tests/log/simulated_disk.h"

namespace plov::log {
namespace {

using test::SimulatedDisk;
using SnapshotItems = std::map<std::string, std::string>;

const verify::LogHead kSnapshotHead = {.shard = 1,
                                       .shard_count = 2,
                                       .id = {0x1111, 0x2222},
                                       .number = 7,
                                       .first_batch = 70,
                                       .chain = 0xc4a1,
                                       .floor = 9,
                                       .hash_seed = 0x5eed};
constexpr uint64_t kNeedsBatch = 99;
constexpr uint64_t kLastVersion = 1000;
constexpr uint64_t kTime = 0x6470000000000;
const std::string kName = SnapshotName(1, 7);

// A block of items whose versions are 1, 2 and so on.
std::vector<std::byte> BlockOf(const SnapshotItems& items) {
  std::vector<std::byte> block(verify::kSnapshotBlockHeadBytes);
  uint64_t version = 0;
  for (const auto& [key, value] : items) {
    const size_t at = block.size();
    block.resize(at + verify::LoggedBytes(key.size(), value.size()));
    const verify::Logged item{.version = ++version, .key = key};
    const size_t used = verify::EncodeLoggedHead(item, value.size(), block.data() + at);
    std::memcpy(block.data() + at + used, value.data(), value.size());
  }
  return block;
}

verify::SnapshotFooter TotalOf(const std::vector<SnapshotItems>& blocks) {
  verify::SnapshotFooter total;
  total.needs_batch = kNeedsBatch;
  total.last_version = kLastVersion;
  total.bucket_bytes = 128;
  total.time_us = kTime;
  for (const auto& block : blocks) {
    total.items += block.size();
    for (const auto& [key, value] : block) total.payload_bytes += key.size() + value.size();
  }
  return total;
}

using Sessions = std::vector<verify::LoggedSession>;

std::expected<void, Error> Finish(SnapshotWriter* writer, const verify::SnapshotFooter& total,
                                  const Sessions& sessions = {}) {
  if (auto closed = writer->Close(total, sessions); !closed) return closed;
  std::expected<bool, Error> more = true;
  while (more && *more) more = writer->ReadBack();
  if (more) return {};
  return std::unexpected(more.error());
}

// Writes them under a total that need not be theirs. What fails first, unfinished.
std::expected<void, Error> WriteAll(Disk* disk, const std::vector<SnapshotItems>& blocks,
                                    const verify::SnapshotFooter& total,
                                    const Sessions& sessions = {}) {
  auto writer = SnapshotWriter::Begin(disk, kSnapshotHead);
  if (!writer) return std::unexpected(writer.error());
  for (const auto& items : blocks) {
    auto block = BlockOf(items);
    const auto written = writer->Write(block, static_cast<uint32_t>(items.size()));
    if (!written) return written;
  }
  const auto finished = Finish(&*writer, total, sessions);
  if (!finished) writer->Abandon();
  return finished;
}
std::expected<void, Error> WriteAll(Disk* disk, const std::vector<SnapshotItems>& blocks) {
  return WriteAll(disk, blocks, TotalOf(blocks));
}

struct ReadResult {
  bool is_whole = false;
  Damage damage;
  SnapshotItems items;
  Sessions sessions;
  uint64_t blocks = 0;
};

// Until the end or damage; an Error is a failed test.
ReadResult ReadAll(Disk* disk, const std::string& name = kName) {
  ReadResult result;
  auto reader = SnapshotReader::Open(disk, name);
  if (!reader) {
    ADD_FAILURE() << reader.error().message;
    return result;
  }
  if (!*reader) return {.damage = reader->error(), .items = {}, .sessions = {}};
  while (true) {
    const auto block = (*reader)->Next();
    if (!block) {
      ADD_FAILURE() << block.error().message;
      return result;
    }
    if (!*block) return {.damage = block->error(), .items = {}, .sessions = {}};
    if (!**block) break;
    ++result.blocks;
    Bytes rest = ***block;
    while (const auto item = verify::TakeLogged(&rest))
      result.items.emplace(item->key, item->value);
  }
  EXPECT_EQ((*reader)->bytes_read(), (*reader)->bytes_total());
  result.sessions = (*reader)->sessions();
  result.is_whole = true;
  return result;
}

const std::vector<SnapshotItems> kThreeBlocks = {
    {{"a", "1"}, {"b", "22"}}, {{"c", ""}, {"d", "4444444"}}, {{"e", "55"}, {"f", "6"}}};

TEST(Snapshot, WhatWasWrittenIsRead) {
  SimulatedDisk disk;
  ASSERT_TRUE(WriteAll(&disk, kThreeBlocks).has_value());
  const ReadResult result = ReadAll(&disk);
  EXPECT_TRUE(result.is_whole) << result.damage.what;
  SnapshotItems all;
  for (const auto& block : kThreeBlocks) all.insert(block.begin(), block.end());
  EXPECT_EQ(result.items, all);
  EXPECT_EQ(result.blocks, 3);
}

TEST(Snapshot, HeadAndFooterAreKnownBeforeTheBlocks) {
  SimulatedDisk disk;
  ASSERT_TRUE(WriteAll(&disk, kThreeBlocks).has_value());
  const auto reader = SnapshotReader::Open(&disk, kName);
  ASSERT_TRUE(reader.has_value() && reader->has_value());
  EXPECT_EQ((*reader)->head(), kSnapshotHead);
  verify::SnapshotFooter footer = (*reader)->footer();
  footer.digest = 0;  // of the blocks
  EXPECT_EQ(footer, (verify::SnapshotFooter{0, 6, 19, 70, kNeedsBatch, kLastVersion, 128, kTime, 0,
                                            false}));
}

const Sessions kTwoSessions = {{0xc11e, 5, 100}, {0xf00d, 0, 0}};

TEST(Snapshot, SessionsAreReadWithTheItemsAndInTheirOrder) {
  SimulatedDisk disk;
  verify::SnapshotFooter total = TotalOf(kThreeBlocks);
  total.sessions_are_all = true;
  for (const size_t count : {1u, 2u, 43'690u, 43'691u, 100'000u}) {
    Sessions sessions;
    for (size_t i = 0; i < count; ++i) sessions.push_back({i + 1, 2 * i + 1, 3 * i + 1});
    ASSERT_TRUE(WriteAll(&disk, kThreeBlocks, total, sessions).has_value());
    const ReadResult result = ReadAll(&disk);
    EXPECT_TRUE(result.is_whole) << result.damage.what;
    EXPECT_EQ(result.sessions, sessions);
    EXPECT_EQ(result.blocks, 3u) << "of items";
    EXPECT_EQ(result.items.size(), 6u);
    const auto reader = SnapshotReader::Open(&disk, kName);
    EXPECT_EQ((*reader)->footer().sessions, count);
    EXPECT_TRUE((*reader)->footer().sessions_are_all);
  }
  ASSERT_TRUE(WriteAll(&disk, {}, TotalOf({}), kTwoSessions).has_value());
  EXPECT_EQ(ReadAll(&disk).sessions, kTwoSessions) << "without an item";
}

TEST(Snapshot, AnEmptyOneIsWholeAndNoneIsAnError) {
  SimulatedDisk disk;
  EXPECT_FALSE(SnapshotReader::Open(&disk, kName).has_value());
  ASSERT_TRUE(WriteAll(&disk, {}).has_value());
  const ReadResult result = ReadAll(&disk);
  EXPECT_TRUE(result.is_whole) << result.damage.what;
  EXPECT_EQ(result.blocks, 0);
}

TEST(Snapshot, HasItsNameWhenItIsFinished) {
  SimulatedDisk disk;
  auto writer = SnapshotWriter::Begin(&disk, kSnapshotHead);
  ASSERT_TRUE(writer.has_value());
  auto block = BlockOf(kThreeBlocks[0]);
  ASSERT_TRUE(writer->Write(block, 2).has_value());
  EXPECT_EQ(disk.Names(), std::vector{Unfinished(kName)});
  EXPECT_EQ(writer->bytes_written(), disk.Get(Unfinished(kName)).size());
  ASSERT_TRUE(Finish(&*writer, TotalOf({kThreeBlocks[0]})).has_value());
  EXPECT_EQ(disk.Names(), std::vector{kName});
  EXPECT_EQ(writer->bytes_written(), disk.Get(kName).size());
}

TEST(Snapshot, AnUnfinishedOneIsReplacedOrAbandoned) {
  SimulatedDisk disk;
  disk.Put(Unfinished(kName), std::vector<std::byte>(100'000, std::byte{1}));
  auto writer = SnapshotWriter::Begin(&disk, kSnapshotHead);
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(disk.Get(Unfinished(kName)).size(), verify::kLogBlockBytes);
  writer->Abandon();
  EXPECT_TRUE(disk.Names().empty());
  EXPECT_FALSE(Finish(&*writer, {}).has_value());
}

TEST(Snapshot, ALargeOneIsSyncedWhileItIsWritten) {
  SimulatedDisk disk;
  const SnapshotItems megabyte = {{"key", std::string((1 << 20) - 80, 'v')}};
  const std::vector<SnapshotItems> blocks(33, megabyte);
  ASSERT_TRUE(WriteAll(&disk, blocks).has_value());
  EXPECT_EQ(disk.calls(SimulatedDisk::Call::kSync), 3);  // after 16, after 32, and at the end
}

// A whole snapshot on a disk of its own, changed, is read as damaged.
template <typename Change>
Damage DamageAfter(Change change) {
  SimulatedDisk disk;
  EXPECT_TRUE(WriteAll(&disk, kThreeBlocks).has_value());
  change(&disk);
  const ReadResult result = ReadAll(&disk);
  EXPECT_FALSE(result.is_whole);
  EXPECT_EQ(result.damage.file, "sim/" + kName);
  EXPECT_FALSE(result.damage.what.empty());
  return result.damage;
}

TEST(Snapshot, EveryByteChangeIsDamage) {
  SimulatedDisk disk;
  ASSERT_TRUE(WriteAll(&disk, kThreeBlocks, TotalOf(kThreeBlocks), kTwoSessions).has_value());
  const size_t bytes = disk.Get(kName).size();
  for (size_t at = 0; at < bytes; ++at) {
    for (const std::byte change : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      disk.Flip(kName, at, change);
      const ReadResult result = ReadAll(&disk);
      EXPECT_FALSE(result.is_whole) << at;
      EXPECT_LE(result.damage.offset, at) << result.damage.what;
      disk.Flip(kName, at, change);
    }
  }
  EXPECT_TRUE(ReadAll(&disk).is_whole);
}

TEST(Snapshot, EveryOtherLengthIsDamage) {
  SimulatedDisk disk;
  ASSERT_TRUE(WriteAll(&disk, kThreeBlocks, TotalOf(kThreeBlocks), kTwoSessions).has_value());
  const auto whole = disk.Get(kName);
  for (size_t bytes = 0; bytes < whole.size() + 100; ++bytes) {
    if (bytes == whole.size()) continue;
    auto other = whole;
    other.resize(bytes);
    disk.Put(kName, other);
    EXPECT_FALSE(ReadAll(&disk).is_whole) << bytes;
  }
}

// Of the blocks of kThreeBlocks, which are of one size.
constexpr size_t kBlockBytes = 128;

TEST(Snapshot, DamageSaysWhereItIs) {
  ASSERT_EQ(BlockOf(kThreeBlocks[0]).size(), kBlockBytes);
  for (const uint64_t block : {0u, 1u, 2u}) {
    const uint64_t at = verify::kLogBlockBytes + block * kBlockBytes;
    const Damage damage =
        DamageAfter([at](auto* disk) { disk->Flip(kName, at + 100, std::byte{1}); });
    EXPECT_EQ(damage.offset, at);
    EXPECT_EQ(damage.what, "block " + std::to_string(block) + " fails its checksum");
  }
}

TEST(Snapshot, BlocksInAnotherOrderAreDamage) {
  const Damage damage = DamageAfter([](auto* disk) {
    auto bytes = disk->Get(kName);
    const auto first = bytes.begin() + verify::kLogBlockBytes;
    std::swap_ranges(first, first + kBlockBytes, first + kBlockBytes);
    disk->Put(kName, bytes);
  });
  EXPECT_EQ(damage.offset, verify::kLogBlockBytes);
}

TEST(Snapshot, ABlockThatIsMissingIsDamage) {
  for (const size_t block : {0u, 1u, 2u}) {
    DamageAfter([block](auto* disk) {
      auto bytes = disk->Get(kName);
      const auto at =
          bytes.begin() + static_cast<ptrdiff_t>(verify::kLogBlockBytes + block * kBlockBytes);
      bytes.erase(at, at + kBlockBytes);
      disk->Put(kName, bytes);
    });
  }
}

// It is whole, where it belongs and of this log; the digest alone tells.
TEST(Snapshot, ABlockOfAnotherSnapshotIsDamage) {
  const Damage damage = DamageAfter([](auto* disk) {
    SimulatedDisk other;
    auto blocks = kThreeBlocks;
    blocks[1]["c"] = "";
    blocks[1]["d"] = "changed";
    ASSERT_TRUE(WriteAll(&other, blocks).has_value());
    auto bytes = disk->Get(kName);
    const auto from = other.Get(kName);
    ASSERT_EQ(from.size(), bytes.size());
    const auto at = verify::kLogBlockBytes + kBlockBytes;
    std::memcpy(bytes.data() + at, from.data() + at, kBlockBytes);
    disk->Put(kName, bytes);
  });
  EXPECT_EQ(damage.what, "its blocks are whole but not those of its footer");
}

TEST(Snapshot, ABlockUnderAnotherNumberIsDamage) {
  const Damage damage = DamageAfter([](auto* disk) {
    auto bytes = disk->Get(kName);
    const uint64_t at = verify::kLogBlockBytes + kBlockBytes;
    verify::SealSnapshotBlock(std::span(bytes).subspan(at, kBlockBytes),
                              {.number = 5, .operations = 2},
                              verify::SnapshotSeed(kSnapshotHead.id, at));
    disk->Put(kName, bytes);
  });
  EXPECT_EQ(damage.what, "block 1 says that it is block 5");
}

// What is told of a snapshot whose footer was changed and sealed again.
template <typename Change>
std::string WrongAfter(Change change) {
  return DamageAfter([change](auto* disk) {
           auto bytes = disk->Get(kName);
           const uint64_t at = bytes.size() - verify::kSnapshotFooterBytes;
           const uint64_t seed = verify::SnapshotSeed(kSnapshotHead.id, at);
           const auto end = std::span(bytes).subspan(at);
           auto footer = *verify::CheckSnapshotFooter(end, 3, seed);
           uint64_t blocks = 3;
           change(&footer, &blocks);
           std::ranges::copy(verify::SealSnapshotFooter(footer, blocks, seed), end.begin());
           disk->Put(kName, bytes);
         })
      .what;
}

TEST(Snapshot, AFooterOfOtherNumbersIsDamage) {
  EXPECT_EQ(WrongAfter([](auto*, auto* blocks) { *blocks = 4; }),
            "it has 3 blocks, and its footer says 4");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->items = 5; }),
            "it has 6 items, and its footer says 5");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->payload_bytes = 0; }),
            "it has 19 payload bytes, and its footer says 0");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->sessions = 1; }),
            "it has 0 sessions, and its footer says 1");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->digest ^= 1; }),
            "its blocks are whole but not those of its footer");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->start_batch = 71; }),
            "its footer says that replay begins with batch 71, and its head with batch 70");
  EXPECT_EQ(WrongAfter([](auto* footer, auto*) { footer->last_version = 1; }),
            "block 0 holds version 2, and the footer says that 1 is the last");
}

TEST(Snapshot, AFileUnderAnotherNameOrOfAnotherKindIsDamage) {
  SimulatedDisk disk;
  ASSERT_TRUE(WriteAll(&disk, kThreeBlocks).has_value());
  for (const std::string& other : {SnapshotName(1, 8), SnapshotName(0, 7)}) {
    disk.Copy(kName, other);
    EXPECT_FALSE(ReadAll(&disk, other).is_whole);
  }
  auto bytes = disk.Get(kName);
  const auto segment = verify::SealLogHead(verify::LogFile::kSegment, kSnapshotHead);
  std::ranges::copy(segment, bytes.begin());
  disk.Put(kName, bytes);
  EXPECT_EQ(ReadAll(&disk).damage.what, "this is another kind of file");
}

TEST(Snapshot, ATotalThatIsWrongIsFoundWhenItIsReadBack) {
  const auto finishes = [](auto change) {
    SimulatedDisk disk;
    auto total = TotalOf(kThreeBlocks);
    change(&total);
    const auto finished = WriteAll(&disk, kThreeBlocks, total);
    if (finished) return true;
    EXPECT_EQ(finished.error().code, Code::kCorrupt);
    EXPECT_TRUE(disk.Names().empty());
    return false;
  };
  EXPECT_TRUE(finishes([](auto*) {}));
  EXPECT_TRUE(finishes([](auto* total) { total->last_version = 2; }));
  EXPECT_FALSE(finishes([](auto* total) { total->last_version = 1; }));
  EXPECT_FALSE(finishes([](auto* total) { ++total->items; }));
  EXPECT_FALSE(finishes([](auto* total) { --total->payload_bytes; }));
}

// A disk that keeps something else than what was written.
class ForgetfulDisk : public SimulatedDisk {
 public:
  std::expected<std::unique_ptr<File>, Error> Open(const std::string& name, Mode mode) override {
    if (mode == Mode::kRead && !has_forgotten_) {
      Flip(name, verify::kLogBlockBytes + kBlockBytes, std::byte{4});
      has_forgotten_ = true;
    }
    return SimulatedDisk::Open(name, mode);
  }

 private:
  bool has_forgotten_ = false;
};

TEST(Snapshot, DamageIsFoundWhenItIsReadBack) {
  ForgetfulDisk disk;
  const auto finished = WriteAll(&disk, kThreeBlocks);
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code, Code::kCorrupt);
  EXPECT_TRUE(disk.Names().empty());
}

TEST(Snapshot, AnErrorIsFinal) {
  using Call = SimulatedDisk::Call;
  for (const auto& [call, after] : std::vector<std::pair<Call, uint64_t>>{
           {Call::kWrite, 0}, {Call::kWrite, 1}, {Call::kSync, 0}, {Call::kRename, 0}}) {
    SimulatedDisk disk;
    auto writer = SnapshotWriter::Begin(&disk, kSnapshotHead);
    ASSERT_TRUE(writer.has_value());
    disk.FailNext(call, Code::kNoSpace, after);
    auto block = BlockOf(kThreeBlocks[0]);
    const bool is_written = writer->Write(block, 2).has_value();
    for (int i = 0; i < 2; ++i) {
      const auto finished = Finish(&*writer, TotalOf({kThreeBlocks[0]}));
      ASSERT_FALSE(finished.has_value()) << is_written;
      EXPECT_EQ(finished.error().code, Code::kNoSpace);
      EXPECT_FALSE(disk.Has(kName));
    }
    writer->Abandon();
    EXPECT_TRUE(disk.Names().empty());
  }
}

TEST(Snapshot, AtAPowerCutItIsWholeOrUnfinished) {
  SimulatedDisk::Random random(1);
  bool is_done = false;
  for (uint64_t after = 0; !is_done; ++after) {
    SimulatedDisk disk(after + 1);
    disk.FailAllAfter(after);
    is_done = WriteAll(&disk, kThreeBlocks).has_value();
    for (int times = 0; times < 20; ++times) {
      const auto left = disk.Crash(&random);
      EXPECT_TRUE(left->Has(kName) || !is_done);
      EXPECT_TRUE(!left->Has(kName) || ReadAll(left.get()).is_whole) << after;
    }
  }
}

}  // namespace
}  // namespace plov::log
