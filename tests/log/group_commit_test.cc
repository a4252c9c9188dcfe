#include "log/group_commit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "tests/log/group_commit_rig.h"
#include "tests/log/simulated_disk.h"

namespace plov::log::group_commit_test {
namespace {

using namespace std::chrono_literals;

// What is durable, as the log says, is on the disk after every possible power cut.
void ExpectDurableSurvives(const Rig& rig, std::mt19937_64* random) {
  const auto after = rig.disk.Crash(random);
  const ReadLog log = ReadAll(*after);
  for (uint64_t n = 1; n <= rig.log.durable(); ++n) EXPECT_TRUE(log.contains(n)) << n;
}

TEST(GroupCommit, ANewLogHasNothingToDo) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAcked, CommitMode::kAsync}) {
    Rig rig(mode);
    EXPECT_EQ(rig.log.last_batch(), 0u);
    EXPECT_EQ(rig.log.durable(), 0u);
    EXPECT_FALSE(rig.log.pending());
    rig.log.PassOn();
    EXPECT_FALSE(rig.log.Attest());
    EXPECT_FALSE(rig.log.Step(true));
    EXPECT_EQ(rig.log.failure(), Code::kOk);
    EXPECT_EQ(rig.log.segment(), 1u);
    EXPECT_EQ(rig.wakes(), 0);
  }
}

TEST(GroupCommit, AfterRecoveryNumbersGoOn) {
  Rig rig({.mode = CommitMode::kStrict}, {.next_batch = 8, .next_segment = 4, .last_version = 100});
  EXPECT_EQ(rig.log.last_batch(), 7u);
  EXPECT_FALSE(rig.log.pending());
  EXPECT_FALSE(rig.log.Attest());  // the new segment says that batch 7 was durable
  rig.version = 100;
  EXPECT_EQ(rig.Append("x"), 8u);
  EXPECT_EQ(rig.log.segment(), 4u);
}

TEST(GroupCommit, NothingIsDurableBeforeTheDiskSaysSo) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAcked}) {
    Rig rig(mode);
    EXPECT_EQ(rig.Append("x"), 1u);
    EXPECT_EQ(rig.log.last_batch(), 1u);
    EXPECT_FALSE(rig.log.Step(false));  // not passed on
    rig.log.PassOn();
    EXPECT_EQ(rig.log.durable(), 0u);
    EXPECT_TRUE(rig.log.pending());
    EXPECT_TRUE(ReadAll(rig.disk).empty());
    EXPECT_TRUE(rig.log.Step(false));
    EXPECT_EQ(rig.log.durable(), 1u);
    EXPECT_FALSE(rig.log.pending());
    EXPECT_EQ(rig.wakes(), 1);
    std::mt19937_64 random(1);
    ExpectDurableSurvives(rig, &random);
    EXPECT_FALSE(rig.log.Step(false));
  }
}

TEST(GroupCommit, InAsyncAWriteIsNotDurableBeforeASync) {
  Rig rig(CommitMode::kAsync);
  rig.Append("x");
  rig.log.PassOn();
  EXPECT_TRUE(rig.log.Step(false));
  EXPECT_EQ(ReadAll(rig.disk).size(), 1u);
  EXPECT_EQ(rig.log.durable(), 0u);
  EXPECT_TRUE(rig.log.pending());
  EXPECT_FALSE(rig.log.Step(false));
  EXPECT_TRUE(rig.log.Step(true));
  EXPECT_EQ(rig.log.durable(), 1u);
  EXPECT_EQ(rig.wakes(), 1);
  std::mt19937_64 random(1);
  ExpectDurableSurvives(rig, &random);
}

TEST(GroupCommit, WhatComesWhileTheDiskIsBusyIsOneBatch) {
  Rig rig(CommitMode::kStrict);
  EXPECT_EQ(rig.Append("a"), 1u);
  rig.log.PassOn();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rig.Append("b"), 2u);
    rig.log.PassOn();
  }
  EXPECT_EQ(rig.log.last_batch(), 2u);
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 1u);
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 2u);
  const ReadLog log = ReadAll(rig.disk);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log.at(1).operations.size(), 1u);
  EXPECT_EQ(log.at(2).operations.size(), 5u);
  EXPECT_EQ(log.at(2).head.attest, 1u);
  EXPECT_EQ(OperationsOf(log), rig.appended);
}

TEST(GroupCommit, WhoCouldNotPassOnIsWokenWhenTheLogIsIdle) {
  Rig rig(CommitMode::kAsync);
  rig.Append("a");
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.wakes(), 0);  // nobody waited
  rig.Append("b");
  rig.log.PassOn();
  rig.Append("c");
  rig.log.PassOn();  // in vain
  rig.StepAll();
  EXPECT_EQ(rig.wakes(), 1);
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.wakes(), 1);
  EXPECT_EQ(OperationsOf(ReadAll(rig.disk)), rig.appended);
}

TEST(GroupCommit, EveryOperationIsOnTheDiskAsItWasAppended) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::mt19937_64 random(seed);
      Rig rig(mode);
      for (int i = 0; i < 1500; ++i) {
        Written operation = RandomOperation(rig.version += 1 + random() % 3, &random);
        if (random() % 4 == 0 && !operation.value.empty()) {
          rig.AppendLong(std::move(operation));
        } else {
          rig.Append(operation);
        }
        if (random() % 8 == 0) rig.log.PassOn();
        if (random() % 8 == 0) rig.log.Step(random() % 4 == 0);
      }
      ASSERT_TRUE(rig.log.Finish());
      EXPECT_EQ(rig.log.durable(), rig.log.last_batch() + 1);  // and the batch that attests it
      std::mt19937_64 crash(seed);
      const ReadLog log = ReadAll(*rig.disk.Crash(&crash));
      EXPECT_TRUE(OperationsOf(log) == rig.appended);
      uint64_t next = 1;
      for (const auto& [number, batch] : log) EXPECT_EQ(number, next++);
    }
  }
}

TEST(GroupCommit, LongValuesOfAnyLengthKeepWhatFollowsInPlace) {
  Rig rig(CommitMode::kStrict);
  for (size_t bytes = 1; bytes < 40; ++bytes) {
    rig.AppendLong({.version = ++rig.version, .key = "long", .value = std::string(bytes, 'v')});
    rig.Append("short");
  }
  rig.log.PassOn();
  rig.StepAll();
  const ReadLog log = ReadAll(rig.disk);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(OperationsOf(log), rig.appended);
  EXPECT_EQ(log.at(1).head.first_version, 1u);
  EXPECT_EQ(log.at(1).head.last_version, 78u);
}

TEST(GroupCommit, AValueLongerThanAnyBufferIsCopiedOrTaken) {
  Rig rig({.mode = CommitMode::kStrict, .buffer_bytes = 4096});
  const std::string value(size_t{5} << 20, 'x');
  EXPECT_TRUE(rig.log.HasRoom(value.size() + 64));
  rig.Append(value);
  EXPECT_FALSE(rig.log.HasRoom(64));
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_TRUE(rig.log.HasRoom(value.size() + 64));
  rig.AppendLong({.version = ++rig.version, .key = "k", .value = value});
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_TRUE(OperationsOf(ReadAll(rig.disk)) == rig.appended);
}

TEST(GroupCommit, NoMoreWaitsThanTheBufferHolds) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    constexpr size_t kBuffer = size_t{64} << 10;
    Rig rig({.mode = mode, .buffer_bytes = kBuffer});
    const std::string value(1000, 'x');
    const size_t bytes = verify::LoggedBytes(3, value.size());
    for (int round = 0; round < 20; ++round) {
      size_t taken = 0;
      while (rig.log.HasRoom(bytes)) {
        rig.Append(value);
        taken += bytes;
        ASSERT_LE(taken, kBuffer);
        rig.log.PassOn();
      }
      EXPECT_GT(taken, kBuffer / 2);
      const int wakes = rig.wakes();
      rig.StepAll();  // the rest of the interval is not waited for
      rig.log.PassOn();
      rig.StepAll();
      EXPECT_FALSE(rig.log.pending());
      EXPECT_GT(rig.wakes(), wakes);
    }
    EXPECT_TRUE(OperationsOf(ReadAll(rig.disk)) == rig.appended);
  }
}

TEST(GroupCommit, HalfABufferIsSyncedBeforeTheInterval) {
  Rig rig({.mode = CommitMode::kAsync, .buffer_bytes = size_t{64} << 10});
  for (int i = 0; i < 31; ++i) rig.Append(std::string(1000, 'x'));
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 0u);
  rig.Append(std::string(1000, 'x'));
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 2u);
}

TEST(GroupCommit, WhoFindsNoRoomInAsyncDoesNotWaitForTheInterval) {
  Rig rig({.mode = CommitMode::kAsync, .buffer_bytes = size_t{64} << 10});
  rig.Append("x");
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 0u);
  EXPECT_FALSE(rig.log.HasRoom(size_t{64} << 10));
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 1u);
  EXPECT_TRUE(rig.log.HasRoom(size_t{64} << 10));
}

TEST(GroupCommit, ARequestedSyncDoesNotWaitForTheInterval) {
  Rig rig(CommitMode::kAsync);
  EXPECT_EQ(rig.log.RequestSync(), 0u);
  rig.Append("a");
  rig.log.PassOn();
  rig.Append("b");
  EXPECT_EQ(rig.log.RequestSync(), 2u);
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 0u);  // batch 2 is still open
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.durable(), 2u);
  EXPECT_EQ(rig.log.RequestSync(), 2u);
  EXPECT_FALSE(rig.log.Step(false));
}

TEST(GroupCommit, RequestsThatNeverEndDoNotPutASyncOff) {
  Rig rig(CommitMode::kAsync);
  rig.Append("a");
  rig.log.PassOn();
  for (int i = 0; i < 100; ++i) {
    rig.Append("b");
    rig.log.RequestSync();  // of a batch that is open, while the one before it is under way
    rig.log.Step(false);
    rig.log.PassOn();
    EXPECT_GE(rig.log.durable() + 4, rig.log.last_batch());
  }
  EXPECT_GT(rig.log.durable(), 20u);
}

TEST(GroupCommit, AnAttestSaysOnceThatTheLastOperationIsDurable) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    Rig rig(mode);
    rig.Append("x");
    EXPECT_FALSE(rig.log.Attest());  // open
    rig.log.PassOn();
    EXPECT_FALSE(rig.log.Attest());  // under way
    rig.log.Step(false);
    if (mode == CommitMode::kAsync) {
      EXPECT_FALSE(rig.log.Attest());  // not durable
    }
    rig.log.Step(true);
    EXPECT_TRUE(rig.log.Attest());
    EXPECT_EQ(rig.log.open_batch(), 2u);  // it may be lost, and its number given to what comes next
    EXPECT_EQ(rig.log.last_batch(), 1u);
    EXPECT_FALSE(rig.log.pending());
    EXPECT_FALSE(rig.log.Attest());
    rig.StepAll();
    EXPECT_FALSE(rig.log.Attest());
    rig.log.Step(true);
    EXPECT_FALSE(rig.log.Attest());
    EXPECT_EQ(rig.log.durable(), 2u);
    EXPECT_EQ(rig.Append("y"), 3u);
    rig.log.PassOn();
    rig.StepAll();
    const ReadLog log = ReadAll(rig.disk);
    ASSERT_EQ(log.size(), 3u);
    EXPECT_EQ(log.at(2).head.kind, BatchHead::Kind::kAttest);
    EXPECT_EQ(log.at(2).head.attest, 1u);
    EXPECT_EQ(log.at(2).head.operations, 0u);
    EXPECT_EQ(OperationsOf(log), rig.appended);
  }
}

TEST(GroupCommit, ABatchThatAttestsTheOneBeforeIsNoReasonForSilence) {
  Rig rig(CommitMode::kStrict);
  for (int i = 0; i < 2; ++i) {
    rig.Append("x");
    rig.log.PassOn();
    rig.StepAll();
  }
  EXPECT_TRUE(rig.log.Attest());
  rig.StepAll();
  EXPECT_EQ(ReadAll(rig.disk).at(3).head.attest, 2u);
}

TEST(GroupCommit, FinishWritesSyncsAndAttestsWhatIsOpen) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAcked, CommitMode::kAsync}) {
    Rig rig(mode);
    rig.Append("a");
    rig.log.PassOn();
    rig.Append("b");  // cannot be passed on before Finish
    ASSERT_TRUE(rig.log.Finish());
    EXPECT_EQ(rig.log.durable(), 3u);
    EXPECT_EQ(rig.wakes(), 0);
    ASSERT_TRUE(rig.log.Finish());  // nothing is left to do
    std::mt19937_64 random(1);
    const ReadLog log = ReadAll(*rig.disk.Crash(&random));
    ASSERT_EQ(log.size(), 3u);
    EXPECT_EQ(log.at(3).head.attest, 2u);
    EXPECT_EQ(OperationsOf(log), rig.appended);
  }
}

TEST(GroupCommit, FinishOfALogWithoutOperationsWritesNothing) {
  Rig rig(CommitMode::kStrict);
  const uint64_t writes = rig.disk.calls(SimulatedDisk::Call::kWrite);
  ASSERT_TRUE(rig.log.Finish());
  EXPECT_EQ(rig.disk.calls(SimulatedDisk::Call::kWrite), writes);
}

TEST(GroupCommit, FinishTellsThatTheDiskFails) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    Rig rig(mode);
    rig.Append("a");
    rig.disk.FailAllAfter(0);
    const auto finished = rig.log.Finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Code::kSystem);
    EXPECT_FALSE(finished.error().message.empty());
    EXPECT_EQ(rig.log.durable(), 0u);
    rig.disk.ClearFaults();
    ASSERT_TRUE(rig.log.Finish());
    EXPECT_EQ(OperationsOf(ReadAll(rig.disk)), rig.appended);
  }
}

TEST(GroupCommit, OneFailedWriteIsNobodysConcern) {
  Rig rig(CommitMode::kStrict);
  rig.Append("a");
  rig.disk.FailNext(SimulatedDisk::Call::kWrite, Code::kSystem);
  rig.log.PassOn();
  rig.StepAll();
  EXPECT_EQ(rig.log.failure(), Code::kOk);
  EXPECT_EQ(rig.log.durable(), 1u);
  EXPECT_EQ(rig.log.segment(), 2u);
  EXPECT_EQ(OperationsOf(ReadAll(rig.disk)), rig.appended);
}

TEST(GroupCommit, AFullDiskRefusesWritesUntilThereIsRoomAndLosesNothing) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    Rig rig(mode);
    rig.Append("a");
    rig.log.PassOn();
    rig.StepAll();
    rig.disk.SetFull(true);
    rig.Append(std::string(2 * kSegmentBytes, 'b'));  // needs a segment
    rig.log.PassOn();
    int wakes = rig.wakes();
    EXPECT_TRUE(rig.log.Step(false));
    EXPECT_EQ(rig.log.failure(), Code::kNoSpace);
    EXPECT_EQ(rig.log.failures(), 1u);
    EXPECT_FALSE(rig.log.failure_message().empty());
    EXPECT_GT(rig.wakes(), wakes);
    rig.Append("c");
    rig.log.PassOn();
    EXPECT_FALSE(rig.log.Attest());
    EXPECT_FALSE(rig.log.Step(false));  // not tried again yet
    EXPECT_TRUE(rig.log.Step(true));
    EXPECT_EQ(rig.log.failures(), 2u);
    EXPECT_EQ(rig.log.durable(), 1u);

    rig.disk.SetFull(false);
    wakes = rig.wakes();
    EXPECT_TRUE(rig.log.Step(true));
    EXPECT_EQ(rig.log.failure(), Code::kOk);
    EXPECT_EQ(rig.log.failures(), 2u);
    EXPECT_GT(rig.wakes(), wakes);
    ASSERT_TRUE(rig.log.Finish());
    EXPECT_TRUE(OperationsOf(ReadAll(rig.disk)) == rig.appended);
  }
}

TEST(GroupCommit, AfterAFailedSyncTheSameBatchesBecomeDurable) {
  Rig rig(CommitMode::kAsync);
  for (int i = 0; i < 5; ++i) {
    rig.Append("x");
    rig.log.PassOn();
    rig.StepAll();
  }
  rig.disk.SetFull(true);  // no new segment either
  rig.disk.FailNext(SimulatedDisk::Call::kSync, Code::kSystem);
  EXPECT_TRUE(rig.log.Step(true));
  EXPECT_NE(rig.log.failure(), Code::kOk);
  EXPECT_EQ(rig.log.durable(), 0u);
  rig.Append("y");
  rig.log.PassOn();  // waits until the disk is well
  EXPECT_FALSE(rig.log.Step(false));
  rig.disk.SetFull(false);
  EXPECT_TRUE(rig.log.Step(true));
  EXPECT_EQ(rig.log.failure(), Code::kOk);
  EXPECT_EQ(rig.log.durable(), 0u);
  EXPECT_TRUE(rig.log.Step(true));
  EXPECT_EQ(rig.log.durable(), 5u);
  rig.StepAll();
  rig.log.Step(true);
  EXPECT_EQ(rig.log.durable(), 6u);
  EXPECT_EQ(OperationsOf(ReadAll(rig.disk)), rig.appended);
}

TEST(GroupCommit, WhatIsNotDurableKeepsItsMemory) {
  Rig rig({.mode = CommitMode::kAsync, .buffer_bytes = size_t{1} << 20});
  const auto append = [&rig](char content) {
    rig.AppendLong({.version = ++rig.version, .key = "k", .value = std::string(200'000, content)});
  };
  append('a');
  rig.log.PassOn();
  rig.StepAll();
  append('b');
  rig.log.PassOn();
  rig.StepAll();  // in another segment, so that the first batch became durable, and the second did not
  EXPECT_EQ(rig.log.segment(), 2u);
  EXPECT_EQ(rig.log.durable(), 1u);
  EXPECT_FALSE(rig.log.HasRoom(900'000));
  append('c');  // would find the memory of 'b' if that were free
  rig.disk.FailNext(SimulatedDisk::Call::kSync, Code::kSystem);
  rig.log.Step(true);
  ASSERT_TRUE(rig.log.Finish());
  EXPECT_TRUE(OperationsOf(ReadAll(rig.disk)) == rig.appended);
}

TEST(GroupCommit, WhatIsDurableSurvivesEveryPowerCutOfADiskThatFails) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAsync}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      std::mt19937_64 random(seed);
      Rig rig({.mode = mode, .buffer_bytes = size_t{256} << 10});
      for (int i = 0; i < 60; ++i) {
        rig.disk.FailAtRandom(random() % 3 == 0 ? 0.2 : 0);
        const std::string value(random() % 20'000, 'v');
        if (rig.log.HasRoom(verify::LoggedBytes(3, value.size()))) rig.Append(value);
        if (random() % 2 == 0) rig.log.PassOn();
        if (random() % 16 == 0) rig.log.Attest();
        if (random() % 16 == 0) rig.log.RequestSync();
        rig.log.Step(random() % 4 == 0);
        if (i % 8 == 0) ExpectDurableSurvives(rig, &random);
      }
      rig.disk.ClearFaults();
      ASSERT_TRUE(rig.log.Finish());
      EXPECT_TRUE(OperationsOf(ReadAll(rig.disk)) == rig.appended);
      ExpectDurableSurvives(rig, &random);
    }
  }
}

TEST(GroupCommit, WhatIsToldOfTheDiskAddsUp) {
  Rig rig(CommitMode::kStrict);
  const uint64_t before = rig.log.bytes_written();
  for (int i = 0; i < 100; ++i) {
    rig.Append(std::string(10'000, 'x'));
    rig.log.PassOn();
    rig.StepAll();
  }
  EXPECT_GE(rig.log.bytes_written() - before, 100u * 12'288);
  EXPECT_GE(rig.log.segment(), 4u);
  EXPECT_GE(rig.log.times().max_us(), rig.log.times().Quantile(0.5));
}

// With the log's thread.

// What a shard does in a turn: takes what there is room for, passes it on, sleeps until it is woken.
void AppendAll(Rig* rig, int operations) {
  std::mt19937_64 random(9);
  for (int i = 0; i < operations;) {
    const Written operation = RandomOperation(rig->version + 1, &random);
    const size_t bytes = verify::LoggedBytes(operation.key.size(), operation.value.size());
    ASSERT_TRUE(rig->WaitUntil([rig, bytes] {
      if (rig->log.HasRoom(bytes)) return true;
      rig->log.PassOn();  // the turn's end
      return false;
    }));
    ++rig->version;
    if (operation.value.size() > 100) {
      rig->AppendLong(operation);
    } else {
      rig->Append(operation);
    }
    if (++i % 7 == 0) rig->log.PassOn();
  }
}

void ExpectAllBecomesDurable(Rig* rig) {
  ASSERT_TRUE(rig->WaitUntil([rig] {
    rig->log.PassOn();
    return !rig->log.pending();
  }));
}

TEST(GroupCommit, AShardAndTheLogsThreadLoseNothing) {
  for (const auto mode : {CommitMode::kStrict, CommitMode::kAcked, CommitMode::kAsync}) {
    Rig rig({.mode = mode, .interval = 2ms, .buffer_bytes = size_t{512} << 10});
    {
      const Running running(&rig.log);
      AppendAll(&rig, 5000);
      ExpectAllBecomesDurable(&rig);
    }
    ASSERT_TRUE(rig.log.Finish());
    std::mt19937_64 random(1);
    EXPECT_TRUE(OperationsOf(ReadAll(*rig.disk.Crash(&random))) == rig.appended);
  }
}

TEST(GroupCommit, ARequestWakesTheLogsThread) {
  Rig rig({.mode = CommitMode::kAsync, .interval = 1h});
  const Running running(&rig.log);
  for (int i = 0; i < 50; ++i) {
    rig.Append("x");
    const uint64_t batch = rig.log.RequestSync();
    ASSERT_TRUE(rig.WaitUntil([&] {
      rig.log.PassOn();
      return rig.log.durable() >= batch;
    }));
  }
}

TEST(GroupCommit, ARequestWakesTheLogsThreadThatHasWrittenAll) {
  Rig rig({.mode = CommitMode::kAsync, .interval = 1h});
  const uint64_t before = rig.log.bytes_written();
  const Running running(&rig.log);
  rig.Append("x");
  rig.log.PassOn();
  for (int i = 0; i < 10'000 && rig.log.bytes_written() == before; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(10ms);  // and sleeps again
  EXPECT_EQ(rig.log.RequestSync(), 1u);
  EXPECT_TRUE(rig.WaitUntil([&rig] { return rig.log.durable() == 1; }));
}

TEST(GroupCommit, AThreadWithoutWorkAsksTheDiskForNothing) {
  Rig rig({.mode = CommitMode::kAsync, .interval = 1ms});
  const Running running(&rig.log);
  rig.Append("x");
  rig.log.PassOn();
  ExpectAllBecomesDurable(&rig);
  const uint64_t calls = rig.disk.calls();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(rig.disk.calls(), calls);
}

TEST(GroupCommit, StopWritesAndSyncsWhatWasPassedOn) {
  Rig rig({.mode = CommitMode::kAsync, .interval = 1h});
  rig.Append("a");
  rig.log.PassOn();
  rig.log.Stop();
  rig.log.Run();  // ends by itself
  EXPECT_EQ(rig.log.durable(), 1u);
}

TEST(GroupCommit, StopEndsTheThreadWhileTheDiskFails) {
  Rig rig(CommitMode::kStrict);
  rig.Append("a");
  rig.disk.FailAllAfter(0);
  rig.log.PassOn();
  Running running(&rig.log);
  ASSERT_TRUE(rig.WaitUntil([&rig] { return rig.log.failure() != Code::kOk; }));
  running.Stop();
  EXPECT_EQ(rig.log.durable(), 0u);
  EXPECT_FALSE(rig.log.Finish());
}

TEST(GroupCommit, AFailedDiskIsTriedAgainByItself) {
  Rig rig(CommitMode::kStrict);
  const Running running(&rig.log);
  rig.disk.FailAllAfter(0);
  rig.Append("a");
  rig.log.PassOn();
  ASSERT_TRUE(rig.WaitUntil([&rig] { return rig.log.failure() != Code::kOk; }));
  EXPECT_FALSE(rig.log.failure_message().empty());
  rig.disk.ClearFaults();
  ASSERT_TRUE(rig.WaitUntil([&rig] { return rig.log.failure() == Code::kOk; }));
  ExpectAllBecomesDurable(&rig);
  EXPECT_EQ(OperationsOf(ReadAll(rig.disk)), rig.appended);
}

}  // namespace
}  // namespace plov::log::group_commit_test
