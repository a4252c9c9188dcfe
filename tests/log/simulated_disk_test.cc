#include "tests/log/simulated_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace plov::test {
namespace {

using Call = SimulatedDisk::Call;
using Mode = log::Disk::Mode;

constexpr size_t kSector = SimulatedDisk::kSectorBytes;
constexpr int kCuts = 200;  // each of few outcomes comes up many times

std::expected<void, Error> Write(log::File* file, uint64_t offset, size_t bytes, char what) {
  const std::vector<std::byte> memory(bytes, static_cast<std::byte>(what));
  const log::Bytes piece = memory;
  return file->Write(offset, std::span(&piece, 1));
}

// "aab": each letter is a sector that holds it alone, '.' one of zeros, '?' any other.
std::string SectorsOf(const SimulatedDisk& disk, const std::string& name) {
  if (!disk.Has(name)) return "none";
  const auto bytes = disk.Get(name);
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += kSector) {
    const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
    const auto end = begin + static_cast<ptrdiff_t>(std::min(kSector, bytes.size() - at));
    const bool same = std::all_of(begin, end, [begin](std::byte b) { return b == *begin; });
    const char letter = *begin == std::byte{0} ? '.' : static_cast<char>(*begin);
    text += same ? letter : '?';
  }
  return text;
}

std::set<std::string> AfterPowerCuts(const SimulatedDisk& disk, const std::string& name) {
  std::set<std::string> seen;
  SimulatedDisk::Random random(7);
  for (int i = 0; i < kCuts; ++i) seen.insert(SectorsOf(*disk.Crash(&random), name));
  return seen;
}

// A file of two durable sectors "aa" under a durable name.
void MakeDurable(SimulatedDisk* disk, const std::string& name) {
  const auto file = disk->Open(name, Mode::kCreate).value();
  ASSERT_TRUE(Write(file.get(), 0, 2 * kSector, 'a'));
  ASSERT_TRUE(file->Sync());
  ASSERT_TRUE(disk->SyncNames());
}

TEST(SimulatedDisk, WhatAKilledProcessHasWrittenIsReadByTheNextAndNotDurable) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto file = disk.Open("f", Mode::kWrite).value();
  ASSERT_TRUE(Write(file.get(), kSector, kSector, 'b'));
  ASSERT_TRUE(disk.Rename("f", "g"));
  SimulatedDisk::Random random(7);
  const auto after = disk.AfterKill(&random);
  EXPECT_EQ(SectorsOf(*after, "g"), "ab");
  EXPECT_EQ(AfterPowerCuts(*after, "g"), (std::set<std::string>{"none", "aa", "ab"}));
  ASSERT_TRUE(after->Open("g", Mode::kWrite).value()->Sync());
  ASSERT_TRUE(after->SyncNames());
  EXPECT_EQ(AfterPowerCuts(*after, "g"), (std::set<std::string>{"ab"}));
  EXPECT_EQ(SectorsOf(disk, "g"), "ab");
  EXPECT_EQ(AfterPowerCuts(disk, "g"), (std::set<std::string>{"none", "aa", "ab"}));
}

TEST(SimulatedDisk, WhatIsSyncedOutlivesAPowerCut) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  EXPECT_EQ(AfterPowerCuts(disk, "f"), (std::set<std::string>{"aa"}));
}

TEST(SimulatedDisk, EverySubsetOfUnsyncedSectorsIsThereAfterAPowerCut) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto file = disk.Open("f", Mode::kWrite).value();
  ASSERT_TRUE(Write(file.get(), 0, 2 * kSector, 'b'));
  EXPECT_EQ(SectorsOf(disk, "f"), "bb");
  EXPECT_EQ(AfterPowerCuts(disk, "f"), (std::set<std::string>{"aa", "ab", "ba", "bb"}));
}

TEST(SimulatedDisk, AnUnsyncedSectorMayHoldAnyOfItsWrites) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto file = disk.Open("f", Mode::kWrite).value();
  ASSERT_TRUE(Write(file.get(), 0, kSector, 'b'));
  ASSERT_TRUE(Write(file.get(), 0, kSector, 'c'));
  EXPECT_EQ(AfterPowerCuts(disk, "f"), (std::set<std::string>{"aa", "ba", "ca"}));
}

TEST(SimulatedDisk, AnUnsyncedFileIsAsLongAsBeforeOrAfter) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto file = disk.Open("f", Mode::kWrite).value();
  ASSERT_TRUE(Write(file.get(), 2 * kSector, kSector, 'b'));
  EXPECT_EQ(AfterPowerCuts(disk, "f"), (std::set<std::string>{"aa", "aa.", "aab"}));
}

TEST(SimulatedDisk, ADurableWriteNeedsNoSync) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto plain = disk.Open("f", Mode::kWrite).value();
  ASSERT_TRUE(Write(plain.get(), 0, kSector, 'b'));
  const auto durable = disk.Open("f", Mode::kDurable).value();
  ASSERT_TRUE(Write(durable.get(), kSector, 2 * kSector, 'c'));
  EXPECT_EQ(AfterPowerCuts(disk, "f"), (std::set<std::string>{"acc", "bcc"}));
}

TEST(SimulatedDisk, NamesChangeInTheirOrder) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  ASSERT_TRUE(disk.Link("f", "g"));
  ASSERT_TRUE(disk.Rename("f", "h"));
  ASSERT_TRUE(disk.Remove("g"));
  std::set<std::vector<std::string>> seen;
  SimulatedDisk::Random random(7);
  for (int i = 0; i < kCuts; ++i) seen.insert(disk.Crash(&random)->Names());
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"f"}, {"f", "g"}, {"g", "h"}, {"h"}}));
  ASSERT_TRUE(disk.SyncNames());
  EXPECT_EQ(disk.Crash(&random)->Names(), (std::vector<std::string>{"h"}));
}

TEST(SimulatedDisk, AFailedWriteHasWrittenAnyPart) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kCuts; ++seed) {
    SimulatedDisk disk(seed);
    MakeDurable(&disk, "f");
    const auto file = disk.Open("f", Mode::kDurable).value();
    disk.FailNext(Call::kWrite, Code::kSystem);
    EXPECT_EQ(Write(file.get(), 0, 2 * kSector, 'b').error().code, Code::kSystem);
    seen.insert(SectorsOf(disk, "f"));
    ASSERT_TRUE(Write(file.get(), 0, 2 * kSector, 'b'));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"aa", "ab", "ba", "bb"}));
}

TEST(SimulatedDisk, ASyncAfterAFailedOneDoesNotBringBackWhatWasDropped) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < kCuts; ++seed) {
    SimulatedDisk disk(seed);
    MakeDurable(&disk, "f");
    const auto file = disk.Open("f", Mode::kWrite).value();
    ASSERT_TRUE(Write(file.get(), 0, 2 * kSector, 'b'));
    disk.FailNext(Call::kSync, Code::kSystem);
    EXPECT_FALSE(file->Sync());
    EXPECT_TRUE(file->Sync());
    EXPECT_EQ(SectorsOf(disk, "f"), "bb");
    const auto after = AfterPowerCuts(disk, "f");
    EXPECT_EQ(after.size(), 1U);
    seen.insert(*after.begin());
    file->DropCache();
    EXPECT_EQ(SectorsOf(disk, "f"), *after.begin());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"aa", "ab", "ba", "bb"}));
}

TEST(SimulatedDisk, AFaultComesAtItsCall) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  disk.FailNext(Call::kRename, Code::kNoSpace, 1);
  EXPECT_TRUE(disk.Rename("f", "g"));
  EXPECT_EQ(disk.Rename("g", "h").error().code, Code::kNoSpace);
  EXPECT_TRUE(disk.Rename("g", "h"));
}

TEST(SimulatedDisk, NothingWorksOnceThePowerGoes) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  disk.FailAllAfter(1);
  const auto file = disk.Open("f", Mode::kDurable);
  ASSERT_TRUE(file);
  EXPECT_FALSE(Write(file->get(), 0, kSector, 'b'));
  EXPECT_FALSE(Write(file->get(), kSector, kSector, 'c'));
  EXPECT_FALSE((*file)->Sync());
  EXPECT_FALSE(disk.Open("f", Mode::kRead));
  EXPECT_FALSE(disk.List());
  EXPECT_EQ(SectorsOf(disk, "f").substr(1), "a");
}

TEST(SimulatedDisk, AFullDiskTakesWhatMakesNoFileLonger) {
  SimulatedDisk disk;
  MakeDurable(&disk, "f");
  const auto file = disk.Open("f", Mode::kWrite).value();
  disk.SetFull(true);
  EXPECT_TRUE(Write(file.get(), 0, 2 * kSector, 'b'));
  EXPECT_EQ(Write(file.get(), kSector, 2 * kSector, 'c').error().code, Code::kNoSpace);
  EXPECT_EQ(SectorsOf(disk, "f"), "bb");
  disk.SetFull(false);
  EXPECT_TRUE(Write(file.get(), kSector, 2 * kSector, 'c'));
}

TEST(SimulatedDisk, TheSameSeedFailsTheSameCalls) {
  const auto run = [](uint64_t seed) {
    SimulatedDisk disk(seed);
    disk.FailAtRandom(0.3);
    std::string failed;
    for (int i = 0; i < 100; ++i) failed += disk.SyncNames() ? '1' : '0';
    return failed;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace plov::test
