// Cleaning: blocks that are sparse are emptied by moving what lives in them.
#include <gtest/gtest.h>

#include <random>

#include "tests/server/area_world.h"

namespace plov::server {
namespace {

constexpr size_t kAll = 1000 * kMiB;

class Cleaning : public ::testing::Test {
 protected:
  static constexpr size_t kBytes = 1000;

  // Full of records, every `step`th of which is freed then.
  void FillAndThin(size_t step) {
    const std::vector<uint64_t> versions = world.Fill(kBytes);
    for (size_t i = 0; i < versions.size(); i += step) world.Remove(versions[i]);
  }
  size_t block() { return world.area().block_bytes(); }

  AreaWorld world;
};

TEST_F(Cleaning, DeadMemoryServesNewRecords) {
  FillAndThin(4);
  ASSERT_FALSE(world.Put(kBytes));
  const size_t dead = 16 * kMiB - world.area().allocated_bytes();
  size_t added = 0;
  while (world.Clean(64 << 10)) {
    while (world.Put(kBytes)) ++added;
  }
  EXPECT_TRUE(world.IsSound());
  EXPECT_GE(added * kBytes, dead * 8 / 10);
  EXPECT_GT(world.area().moved_records(), 0u);
  EXPECT_GE(world.area().moved_bytes(), world.area().moved_records() * kBytes);
  EXPECT_EQ(world.area().damaged_blocks(), 0u);
}

// The safeguard is the spare block: with all memory taken there is a place to move to.
TEST_F(Cleaning, CleaningGoesOnHoweverFullTheMemoryIs) {
  std::mt19937_64 random(2);
  world.Fill(kBytes);
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 60; ++i) {
      world.Remove(world.owned().lower_bound(random() % world.owned().rbegin()->first)->first);
    }
    while (world.Put(100 + random() % 9000) || world.Clean(64 << 10)) continue;
  }
  EXPECT_TRUE(world.IsSound());
  EXPECT_GT(world.area().moved_bytes(), 16 * kMiB);
  EXPECT_GE(world.area().allocated_bytes(), 16 * kMiB * 88 / 100);
}

TEST_F(Cleaning, SparsestBlockIsCleanedFirst) {
  const std::vector<uint64_t> versions = world.Fill(kBytes);
  const uint64_t third = world.owned().at(versions[versions.size() / 3]).offset / block();
  for (const uint64_t version : versions) {
    const bool sparse = world.owned().at(version).offset / block() == third;
    if (version % (sparse ? 2 : 10) == 0) world.Remove(version);
  }
  ASSERT_TRUE(world.Clean(1));
  ASSERT_FALSE(world.asked().empty());
  EXPECT_EQ(world.asked()[0] / block(), third);
}

TEST_F(Cleaning, BlockThatIsNearlyAliveIsLeftAlone) {
  FillAndThin(20);  // less than a sixteenth is dead
  EXPECT_FALSE(world.Clean(kAll));
  EXPECT_EQ(world.area().moved_records(), 0u);
}

// A block's end that no record fitted into is no reason to clean it: it would be so again.
TEST_F(Cleaning, EndsOfBlocksThatNoRecordFittedIntoAreNoReason) {
  world.Fill(block() / 16 - 500);
  ASSERT_LT(world.area().allocated_bytes(), 16 * kMiB * 97 / 100);
  EXPECT_FALSE(world.Clean(kAll));
  EXPECT_FALSE(world.Clean(kAll, 100));
}

TEST_F(Cleaning, FullMemoryTakesARecordForOneOfItsSizeThatWasFreed) {
  for (const size_t bytes : {block() / 32, block() / 25, block() / 16}) {
    AreaWorld full;
    const std::vector<uint64_t> versions = full.Fill(bytes);
    for (size_t i = 0; i < 20; ++i) {
      full.Remove(versions[i * versions.size() / 20]);
      while (!full.Put(bytes)) ASSERT_TRUE(full.Clean(64 << 10, bytes)) << bytes << " " << i;
      ASSERT_LE(full.area().moved_bytes(), (i + 1) * 2 * block()) << "for a block at most";
    }
    EXPECT_TRUE(full.IsSound());
  }
}

TEST_F(Cleaning, MemoryWithoutDeadRecordsHasNothingToClean) {
  world.Fill(kBytes);
  EXPECT_FALSE(world.Clean(kAll));
  EXPECT_FALSE(world.area().wants_cleaning());
}

TEST_F(Cleaning, WorkOfOneCallIsBounded) {
  FillAndThin(3);
  for (int i = 0; i < 100; ++i) {
    const size_t before = world.asked().size();
    ASSERT_TRUE(world.Clean(3 * kBytes));
    ASSERT_LE(world.asked().size(), before + 4);
  }
}

TEST_F(Cleaning, IsWantedOnlyWhileMemoryIsShort) {
  world.Put(kBytes);
  EXPECT_FALSE(world.area().wants_cleaning());
  FillAndThin(3);
  EXPECT_TRUE(world.area().wants_cleaning());
  while (world.area().wants_cleaning()) world.Clean(10'000);
  EXPECT_GE(world.memory().available_bytes(), 4 * block());
  EXPECT_LE(world.memory().available_bytes(), 6 * block()) << "no more than needed";
  world.area().set_reserve(3 * kMiB);
  EXPECT_TRUE(world.area().wants_cleaning());
  while (world.area().wants_cleaning()) world.Clean(10'000);
  EXPECT_GE(world.memory().available_bytes(), 3 * kMiB);
  EXPECT_TRUE(world.IsSound());
}

TEST_F(Cleaning, SearchInVainIsNotRepeatedUntilMoreIsFreed) {
  FillAndThin(20);
  ASSERT_FALSE(world.Clean(kAll));
  EXPECT_FALSE(world.area().wants_cleaning());
  size_t freed = 0;
  while (!world.area().wants_cleaning()) {
    world.Remove(world.owned().begin()->first);
    freed += RecordArea::PlacedBytes(kBytes);
    ASSERT_LE(freed, block() / 16 + RecordArea::PlacedBytes(kBytes));
  }
  EXPECT_GE(freed, block() / 16);
  EXPECT_TRUE(world.Clean(kAll));
}

TEST_F(Cleaning, PinnedRecordsStayWhereTheyAre) {
  FillAndThin(2);
  std::map<uint64_t, AreaWorld::Owned> pinned;
  for (const auto& [version, owned] : world.owned()) {
    if (version % 1000 == 2) pinned[version] = owned;
  }
  for (const auto& [version, owned] : pinned) {
    world.area().Pin(owned.offset, owned.bytes);
    world.area().Pin(owned.offset, owned.bytes);
  }
  ASSERT_GT(pinned.size(), 10u);
  while (world.Clean(kAll)) continue;
  EXPECT_GT(world.area().moved_records(), 100u);
  for (const auto& [version, owned] : pinned) {
    EXPECT_EQ(world.owned().at(version).offset, owned.offset);
    world.area().Unpin(owned.offset, owned.bytes);
  }
  EXPECT_FALSE(world.Clean(kAll)) << "they nest";
  for (const auto& [version, owned] : pinned) world.area().Unpin(owned.offset, owned.bytes);
  EXPECT_TRUE(world.Clean(kAll)) << "and end";
  EXPECT_TRUE(world.IsSound());
}

TEST_F(Cleaning, RecordPinnedInTheMiddleOfAWalkStays) {
  FillAndThin(2);
  ASSERT_TRUE(world.Clean(5 * kBytes));
  const uint64_t victim = world.asked().back() / block();
  std::vector<std::pair<uint64_t, AreaWorld::Owned>> rest;
  for (const auto& [version, owned] : world.owned()) {
    if (owned.offset / block() == victim) rest.emplace_back(version, owned);
  }
  ASSERT_GT(rest.size(), 10u);
  world.area().Pin(rest[5].second.offset, kBytes);
  while (world.Clean(kAll)) continue;
  for (const auto& [version, owned] : rest) {
    EXPECT_EQ(world.owned().at(version).offset, owned.offset);
  }
  world.area().Unpin(rest[5].second.offset, kBytes);
  EXPECT_TRUE(world.Clean(kAll));
  EXPECT_EQ(world.area().damaged_blocks(), 0u);
}

TEST_F(Cleaning, VictimThatIsFreedMeanwhileIsForgotten) {
  FillAndThin(2);
  ASSERT_TRUE(world.Clean(5 * kBytes));
  const uint64_t victim = world.asked().back() / block();
  std::vector<uint64_t> rest;
  for (const auto& [version, owned] : world.owned()) {
    if (owned.offset / block() == victim) rest.push_back(version);
  }
  for (const uint64_t version : rest) world.Remove(version);
  while (world.Clean(kAll)) continue;
  EXPECT_TRUE(world.IsSound());
  EXPECT_EQ(world.area().damaged_blocks(), 0u);
}

// What is freed under a pin is given back by the unpin.
TEST_F(Cleaning, PinnedBlockIsGivenBackByTheUnpin) {
  const std::vector<uint64_t> versions = world.Fill(kBytes);
  const auto first = world.owned().at(versions[0]);
  world.area().Pin(first.offset, kBytes);
  const size_t used = world.area().used_bytes();
  for (const uint64_t version : versions) {
    if (world.owned().at(version).offset / block() == first.offset / block()) world.Remove(version);
  }
  EXPECT_EQ(world.area().used_bytes(), used);
  world.area().Unpin(first.offset, kBytes);
  EXPECT_EQ(world.area().used_bytes(), used - block());
}

TEST_F(Cleaning, RecordThatNobodyOwnsUpToStopsTheCleaningOfItsBlock) {
  const uint64_t orphan = *world.area().Allocate(kBytes);  // its dead head is skipped
  FillAndThin(2);
  while (world.Clean(kAll)) continue;
  EXPECT_EQ(world.area().damaged_blocks(), 1u);
  while (world.Clean(kAll)) continue;
  EXPECT_EQ(world.area().damaged_blocks(), 1u) << "and is not cleaned again";
  world.RemoveAll();
  EXPECT_GT(world.area().used_bytes(), 0u);
  world.area().Free(orphan, kBytes);
  EXPECT_EQ(world.area().used_bytes(), 0u) << "but freed as any other";
}

TEST_F(Cleaning, DamagedLengthsNeverCrashNorLoseWhatCanBeFound) {
  for (const uint64_t seed : {1u, 2u, 3u, 4u}) {
    AreaWorld damaged;
    std::mt19937_64 random(seed);
    const std::vector<uint64_t> versions = damaged.Fill(kBytes);
    std::vector<uint64_t> offsets;
    for (const uint64_t version : versions) offsets.push_back(damaged.owned().at(version).offset);
    for (size_t i = 0; i < versions.size(); i += 2) damaged.Remove(versions[i]);
    for (int i = 0; i < 40; ++i) {
      const uint64_t offset = offsets[random() % offsets.size()];
      uint64_t* lengths = verify::WordsAt(damaged.region().data(), offset) + 3;
      const uint64_t whole = verify::LoadWord(lengths);
      verify::StoreWord(lengths, i % 3 == 0 ? random() : whole ^ (uint64_t{1} << (random() % 64)));
    }
    while (damaged.Clean(kAll)) continue;
    EXPECT_GT(damaged.area().damaged_blocks(), 0u);
    EXPECT_GT(damaged.area().moved_records(), 100u);
    damaged.RemoveAll();
    EXPECT_EQ(damaged.area().used_bytes(), 0u);
  }
}

// 2^32 bytes, which 32 bits take for none: a walk over the heads would not go on.
TEST_F(Cleaning, LengthBeyondAllOthersEndsTheWalk) {
  const std::vector<uint64_t> versions = world.Fill(kBytes);
  const AreaWorld::Owned first = world.owned().at(versions[0]);
  for (size_t i = 0; i < 8; ++i) world.Remove(versions[i]);
  verify::StoreWord(verify::WordsAt(world.region().data(), first.offset) + 3,
                    UINT32_MAX - verify::kRecordHeaderBytes + 1);
  EXPECT_FALSE(world.area().AllocateInHole(kBytes));
  EXPECT_EQ(world.area().damaged_blocks(), 1u);
}

// Behind the last record of an adopted block lies whatever was there before it.
TEST_F(Cleaning, AdoptedBlocksAreCleanedWhateverLiesBehindTheirRecords) {
  for (const size_t garbage : {size_t{0}, size_t{1}, size_t{2}}) {
    AreaWorld former;
    const std::vector<uint64_t> versions = former.Fill(kBytes);
    std::mt19937_64 random(3);
    Memory memory(&former.region(), kPageBytes);
    RecordArea area(&former.region(), &memory);
    const size_t half = block() / 2;
    std::map<uint64_t, uint64_t> kept;
    for (const uint64_t version : versions) {
      const uint64_t offset = former.owned().at(version).offset;
      const bool behind = offset % block() > half;
      uint64_t* words = verify::WordsAt(former.region().data(), offset);
      if (behind && garbage > 0) {
        for (size_t i = 0; i < kBytes / 8; ++i) words[i] = garbage == 1 ? ~uint64_t{0} : random();
      }
      if (behind || version % 2 == 0) continue;
      kept[offset] = version;
      ASSERT_TRUE(area.Adopt(offset, kBytes));
    }
    const size_t before = area.used_bytes();
    uint64_t asked = 0;
    const auto relocate = [&](uint64_t offset, size_t record_bytes) {
      ++asked;
      if (!kept.contains(offset)) return;
      const auto to = area.MoveTo(record_bytes);
      if (!to) return;
      verify::MoveRecord(verify::WordsAt(former.region().data(), *to),
                         verify::WordsAt(former.region().data(), offset), record_bytes);
      kept[*to] = kept.at(offset);
      kept.erase(offset);
      area.Free(offset, record_bytes);
    };
    while (area.Clean(kAll, relocate)) continue;
    EXPECT_LE(area.used_bytes(), before / 3);
    EXPECT_EQ(area.damaged_blocks(), 0u) << garbage;
    for (const auto& [offset, version] : kept) {
      const auto item = verify::CheckRecord({former.region().data() + offset, kBytes}, kAreaSeed);
      ASSERT_TRUE(item && item->version() == version);
    }
  }
}

}  // namespace
}  // namespace plov::server
