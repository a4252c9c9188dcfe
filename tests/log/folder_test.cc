// The folder: a shard's files go together.
#include "log/folder.h"

#include <gtest/gtest.h>

#include "tests/log/written_log.h"

namespace plov::test {
namespace {

// Whatever fails, and whenever the power goes.
TEST(Folder, AShardGoesAsAWholeOrNotAtAll) {
  int gone = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SimulatedDisk disk;
    WrittenLog log(&disk);
    ASSERT_TRUE(log.writer().Begin());
    log.PutAll(20);
    const size_t segments = log::Folder::List(&disk)->shards.at(0).segments.size();
    ASSERT_GT(segments, 2u);
    disk.FailNext(SimulatedDisk::Call::kRemove, Code::kSystem, seed % (segments + 2));
    const auto removed = log::RemoveShard(&disk, 0);
    SimulatedDisk::Random random(seed);
    const auto after = disk.Crash(&random);
    const auto folder = log::Folder::List(after.get());
    ASSERT_TRUE(folder);
    const auto found = folder->shards.find(0);
    if (found != folder->shards.end()) {
      ASSERT_EQ(found->second.segments.size(), segments) << seed;
      ASSERT_FALSE(removed) << "it was told that they are gone";

      continue;
    }
    ++gone;
    for (const std::string& name : folder->unfinished) ASSERT_TRUE(after->Remove(name));
    const auto rest = log::Folder::List(after.get());
    EXPECT_TRUE(rest->unfinished.empty() && !rest->shards.contains(0)) << seed;
  }
  EXPECT_GT(gone, 0);
}

TEST(Folder, WhatIsNotThereIsRemoved) {
  SimulatedDisk disk;
  EXPECT_TRUE(log::RemoveShard(&disk, 3));
  EXPECT_TRUE(disk.List()->empty());
}

}  // namespace
}  // namespace plov::test
