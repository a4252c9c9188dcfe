// A log as a server writes it, with its snapshots, and what the next server would have of one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "log/offline/shards.h"
#include "log/snapshots.h"
#include "tests/log/simulated_disk.h"
#include "tests/log/written_log.h"

namespace plov::log::offline {

// A server's log, whose batch n has the version n, and its snapshots, as the server writes and removes them.
class Served {
 public:
  explicit Served(test::SimulatedDisk* disk, size_t keep = 1)
      : disk_(disk),
        written_(disk),
        snapshots_(disk, &written_.spares(), {.keep = keep}, [](uint32_t, const auto&) {}) {
    EXPECT_TRUE(written_.writer().Begin());
  }

  test::WrittenLog& log() { return written_; }
  uint64_t last() { return written_.writer().written(); }

  // From the segment in use on, whose former batches' one item it has.
  void TakeSnapshot() {
    NameSnapshot();
    EXPECT_TRUE(snapshots_.RemoveNeedless(0, written_.writer().segment()));
  }
  void NameSnapshot() { test::AddSnapshot(disk_, written_.writer().segment(), last()); }

 private:
  test::SimulatedDisk* disk_;
  test::WrittenLog written_;
  Snapshots snapshots_;
};

// The versions that a server would have of the log behind its snapshot, and the least it could need.
inline std::vector<uint64_t> BatchesIn(Disk* disk) {
  std::vector<uint64_t> batches;
  const auto shards = Look(disk);
  EXPECT_TRUE(shards) << shards.error().message;
  if (!shards) return batches;
  const Shard& shard = shards->present.front();
  const auto walked = WalkLog(disk, shard.files, shard.AsAServer(),
                              [&](const verify::Logged& operation, const Place&) {
                                batches.push_back(operation.version);
                                return true;
                              });
  EXPECT_TRUE(walked);
  EXPECT_FALSE(walked->damage) << walked->damage->Line();
  EXPECT_FALSE(walked->torn);
  return batches;
}

}  // namespace plov::log::offline
