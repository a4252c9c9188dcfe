// A GroupCommit on a simulated disk, and what its tests read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "log/group_commit.h"
#include "tests/log/simulated_disk.h"

namespace plov::log::group_commit_test {

using test::SimulatedDisk;
using verify::BatchHead;
using verify::Logged;

inline constexpr verify::LogId kId{.low = 17, .high = 39};
inline constexpr size_t kSegmentBytes = size_t{256} << 10;

// An operation that owns its strings.
struct Written {
  Logged::Kind kind = Logged::Kind::kPut;
  uint64_t version = 0;
  uint64_t client_id = 0;
  uint64_t sequence = 0;
  uint32_t flags = 0;
  uint32_t expiry = 0;
  std::string key = {};
  std::string value = {};
  bool operator==(const Written&) const = default;

  static Written Of(const Logged& from) {
    return {from.kind,  from.version, from.client_id,        from.sequence,
            from.flags, from.expiry,  std::string(from.key), std::string(from.value)};
  }
  Logged View() const {
    return {.kind = kind,
            .version = version,
            .client_id = client_id,
            .sequence = sequence,
            .flags = flags,
            .expiry = expiry,
            .key = key,
            .value = value};
  }
};

struct ReadBatch {
  BatchHead head;
  std::vector<Written> operations;
};
// By number. A batch that was written again, after an error, counts as it was last.
using ReadLog = std::map<uint64_t, ReadBatch>;

// Adds a segment's whole batches and what is wrong with them.
inline void ReadSegment(const std::vector<std::byte>& file, ReadLog* log) {
  const Bytes bytes = file;
  const auto segment = verify::CheckLogHead(verify::LogFile::kSegment, bytes);
  ASSERT_TRUE(segment);
  log->erase(log->lower_bound(segment->first_batch), log->end());
  for (size_t at = verify::kLogBlockBytes; at < bytes.size();) {
    const Bytes rest = bytes.subspan(at);
    const auto head = verify::GuessBatchHead(rest, rest.size());
    if (!head || !verify::CheckBatch(rest, *head, verify::BatchSeed(kId, segment->number, at)) ||
        head->kind == BatchHead::Kind::kClosed) {
      return;
    }
    const size_t end = verify::RoundUpToBlock(head->bytes);
    for (size_t i = head->bytes; i < end; ++i) ASSERT_EQ(rest[i], std::byte{0});
    Bytes operations = rest.subspan(verify::kBatchHeadBytes, head->bytes - verify::kBatchHeadBytes);
    ReadBatch batch{.head = *head, .operations = {}};
    while (const auto operation = verify::TakeLogged(&operations)) {
      batch.operations.push_back(Written::Of(*operation));
    }
    (*log)[head->number] = std::move(batch);
    at += end;
  }
}

inline ReadLog ReadAll(const SimulatedDisk& disk) {
  ReadLog log;
  for (uint64_t n = 1; disk.Has(SegmentName(0, n)); ++n) {
    ReadSegment(disk.Get(SegmentName(0, n)), &log);
  }
  return log;
}

inline std::vector<Written> OperationsOf(const ReadLog& log) {
  std::vector<Written> all;
  for (const auto& [number, batch] : log) {
    all.insert(all.end(), batch.operations.begin(), batch.operations.end());
  }
  return all;
}

// A log on a simulated disk, with no thread of its own: a test calls Step.
class Rig {
 public:
  explicit Rig(const GroupCommit::Options& options, const LogEnd& end = {})
      : log(Begun(options.mode, end), options, [this] { Wake(); }) {}
  explicit Rig(CommitMode mode) : Rig(GroupCommit::Options{.mode = mode}) {}

  // A put of the next version.
  uint64_t Append(std::string value) {
    const Written put{.version = ++version, .key = "key", .value = std::move(value)};
    return Append(put);
  }
  uint64_t Append(const Written& operation) {
    appended.push_back(operation);
    return log.Append(operation.View());
  }
  // The same with the value in a piece.
  uint64_t AppendLong(Written operation) {
    const std::string value = std::exchange(operation.value, {});
    Piece piece = Piece::OfBytes(value.size());
    std::ranges::transform(value, piece.memory.get(), [](char c) { return std::byte(c); });
    const uint64_t batch = log.Append(operation.View(), std::move(piece));
    operation.value = value;
    appended.push_back(std::move(operation));
    return batch;
  }
  void StepAll() {
    while (log.Step(false)) {
    }
  }
  int wakes() const { return wakes_; }
  // False after half a minute. The log's thread wakes it.
  bool WaitUntil(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return woken_.wait_for(lock, std::chrono::seconds(30), condition);
  }

  SimulatedDisk disk;
  Spares spares{&disk, kSegmentBytes, {}};
  uint64_t version = 0;
  std::vector<Written> appended;

 private:
  SegmentWriter Begun(CommitMode mode, const LogEnd& end) {
    const SegmentWriter::Options options{.id = kId, .durable_writes = mode != CommitMode::kAsync};
    SegmentWriter writer(&disk, &spares, options, end);
    EXPECT_TRUE(writer.Begin());
    return writer;
  }
  void Wake() {
    const std::lock_guard lock(mutex_);
    ++wakes_;
    woken_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  int wakes_ = 0;

 public:
  GroupCommit log;
};

// A log whose thread runs.
class Running {
 public:
  explicit Running(GroupCommit* log) : log_(log), thread_([log] { log->Run(); }) {}
  ~Running() { Stop(); }
  void Stop() {
    log_->Stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  GroupCommit* log_;
  std::jthread thread_;
};

inline Written RandomOperation(uint64_t version, std::mt19937_64* random) {
  auto& r = *random;
  Written operation{.version = version, .client_id = r(), .sequence = r()};
  operation.key.assign(1 + r() % 40, static_cast<char>('a' + r() % 26));
  if (r() % 8 == 0) {
    operation.kind = Logged::Kind::kDelete;
    return operation;
  }
  operation.flags = static_cast<uint32_t>(r());
  operation.expiry = static_cast<uint32_t>(r());
  const size_t bytes = r() % (r() % 64 == 0 ? 300'000 : 200);
  operation.value.assign(bytes, static_cast<char>(r()));
  return operation;
}

}  // namespace plov::log::group_commit_test
