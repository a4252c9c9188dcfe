// TestLog: a shard's log on a simulated disk, which works when told to.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "log/group_commit.h"
#include "log/segment_writer.h"
#include "log/spares.h"
#include "tests/log/simulated_disk.h"

namespace plov::server {

class TestLog {
 public:
  explicit TestLog(log::CommitMode mode) : mode_(mode), spares_(&disk_, kSegmentBytes, {}) {
    log::SegmentWriter writer(
        &disk_, &spares_,
        {.id = {1, 2}, .hash_seed = 0x5eed, .durable_writes = mode != log::CommitMode::kAsync}, {});
    EXPECT_TRUE(writer.Begin());
    commit_.emplace(std::move(writer), log::GroupCommit::Options{.mode = mode}, [] {});
  }

  log::CommitMode mode() const { return mode_; }
  log::GroupCommit& commit() { return *commit_; }
  test::SimulatedDisk& disk() { return disk_; }

  // What was appended so far becomes durable, as far as the disk goes along.
  void Commit() {
    for (int i = 0; i < 1000 && commit_->pending(); ++i) {
      commit_->PassOn();
      commit_->Step(true);
    }
  }

 private:
  static constexpr uint64_t kSegmentBytes = uint64_t{1} << 20;

  log::CommitMode mode_;
  test::SimulatedDisk disk_;
  log::Spares spares_;
  std::optional<log::GroupCommit> commit_;
};

}  // namespace plov::server
