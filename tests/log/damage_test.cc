// A log that one thing was damaged in: it is refused, or what is read is the beginning of what was appended,
// with all that some whole part of the log still says was durable. Never another value.
//
// PLOV_SEEDS: ten times the number of logs that each test damages, 1000 unless given.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "log/folder.h"
#include "log/group_commit.h"
#include "log/segment_writer.h"
#include "log/spares.h"
#include "log/walk.h"
#include "tests/log/simulated_disk.h"
#include "tests/support/environment.h"
#include "verify/seal.h"

namespace plov::log {
namespace {

constexpr uint64_t kDamagedSegmentBytes = 48 << 10;
constexpr verify::LogId kDamagedId{.low = 1, .high = 2};

struct LoggedItem {
  uint64_t batch = 0;
  uint64_t version = 0;
  std::string key;
  std::string value;
  bool operator==(const LoggedItem&) const = default;
};

// What a reader says of a disk.
struct Reading {
  std::string refusal;  // why, or nothing
  std::vector<LoggedItem> found;
  LogEnd end;
};

std::expected<Reading, Error> ReadFound(Walk walk) {
  Reading reading;
  for (int i = 0; i < 10000; ++i) {
    const auto next = walk.Next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return Reading{.refusal = next->error().Line(), .found = {}, .end = {}};
    reading.end = walk.end();
    if (!**next) return reading;
    const Walk::Batch& batch = ***next;
    Bytes rest = batch.operations;
    for (uint32_t j = 0; j < batch.head.operations; ++j) {
      const auto logged = verify::TakeLogged(&rest);
      if (!logged) return Fail(Code::kSystem, "an operation that is none");
      reading.found.push_back({batch.head.number, logged->version, std::string(logged->key),
                               std::string(logged->value)});
    }
  }
  return Fail(Code::kSystem, "it does not end");
}

// An error is one of the system, but for a head of another format.
std::expected<Reading, Error> ReadLog(test::SimulatedDisk* disk, uint64_t needs = 0,
                                      uint32_t shard = 0) {
  auto folder = Folder::List(disk);
  if (!folder) return std::unexpected(folder.error());
  auto walk = Walk::Open(disk, folder->shards[shard],
                         {.shard = shard, .segment = 1, .batch = 1, .needs = needs});
  if (!walk) return std::unexpected(walk.error());
  if (!*walk) return Reading{.refusal = walk->error().Line(), .found = {}, .end = {}};
  return ReadFound(std::move(**walk));
}

// A batch where it lies.
struct Place {
  uint64_t segment = 0;
  uint64_t offset = 0;
  verify::BatchHead head;

  std::string file() const { return SegmentName(0, segment); }
};

std::vector<Place> PlacesIn(const test::SimulatedDisk& disk, uint64_t segment) {
  std::vector<Place> places;
  const std::vector<std::byte> bytes = disk.Get(SegmentName(0, segment));
  for (size_t at = verify::kLogBlockBytes; at < bytes.size(); at += verify::kLogBlockBytes) {
    const Bytes rest = Bytes(bytes).subspan(at);
    const auto head = verify::GuessBatchHead(rest, rest.size());
    const uint64_t seed = verify::BatchSeed(kDamagedId, segment, at);
    if (head && verify::CheckBatch(rest, *head, seed)) places.push_back({segment, at, *head});
  }
  return places;
}

// A log of one to three lives without faults, all of it durable.
class DamagedLog {
 public:
  DamagedLog(uint64_t seed, CommitMode mode, char letter = 'v')
      : seed_(seed), mode_(mode), letter_(letter), random_(seed), disk_(seed) {
    const uint64_t lives = 1 + Below(3);
    for (uint64_t life = 0; life < lives; ++life) Live();
    for (last_segment_ = 0; disk_.Has(SegmentName(0, last_segment_ + 1));) ++last_segment_;
    for (uint64_t segment = 1; segment <= last_segment_; ++segment) {
      std::ranges::copy_if(PlacesIn(disk_, segment), std::back_inserter(places_), HasNumber);
    }
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  uint64_t last_segment() const { return last_segment_; }
  // Batches that hold operations or attest.
  const std::vector<Place>& places() const { return places_; }
  const std::vector<LoggedItem>& items() const { return items_; }

  // All is synced, so a power cut leaves a copy.
  std::unique_ptr<test::SimulatedDisk> CopyOfDisk() { return disk_.Crash(&random_); }
  // The disk of a log that differs in its values alone: the same places, numbers and versions.
  std::unique_ptr<test::SimulatedDisk> DiskOfAnotherPast() const {
    return DamagedLog(seed_, mode_, 'w').CopyOfDisk();
  }
  // As the disk was at some time before.
  const test::SimulatedDisk& former() const { return *former_; }

  Place AnyPlace() { return places_[Below(places_.size())]; }
  uint64_t AnySegment() { return 1 + Below(last_segment_); }
  // In strict each batch says of the one before that it is durable, and a clean stop of the last one.
  uint64_t vouched_at_least() const {
    const uint64_t last = items_.back().batch;
    if (is_finished_) return last;
    return mode_ == CommitMode::kStrict ? last - 1 : 0;
  }

  // The greatest batch that some whole part of a damaged disk says was durable.
  static uint64_t Vouched(const test::SimulatedDisk& disk);
  // Reads a damaged disk, and checks all that is always true. True: it was refused.
  bool IsRefused(test::SimulatedDisk* disk) const;

 private:
  static bool HasNumber(const Place& place) {
    return place.head.kind != verify::BatchHead::Kind::kClosed;
  }
  LogEnd EndOfLog();
  void Live();
  void Append(GroupCommit* commit, uint64_t version);

  uint64_t seed_;
  CommitMode mode_;
  char letter_;  // that values are filled with
  std::mt19937_64 random_;
  test::SimulatedDisk disk_;
  std::unique_ptr<test::SimulatedDisk> former_;
  uint64_t last_segment_ = 0;
  std::vector<Place> places_;
  std::vector<LoggedItem> items_;
  bool is_finished_ = false;
};

LogEnd DamagedLog::EndOfLog() {
  if (!disk_.Has(SegmentName(0, 1))) return {};
  const Reading reading = ReadLog(&disk_).value();
  EXPECT_EQ(reading.refusal, "");
  return reading.end;
}

void DamagedLog::Live() {
  const LogEnd end = EndOfLog();
  Spares spares(&disk_, kDamagedSegmentBytes, {});
  SegmentWriter writer(&disk_, &spares,
                       {.id = kDamagedId, .durable_writes = mode_ != CommitMode::kAsync}, end);
  ASSERT_TRUE(writer.Begin());
  GroupCommit commit(std::move(writer), {.mode = mode_}, [] {});
  for (uint64_t i = 0, appends = 10 + Below(100); i < appends; ++i) {
    Append(&commit, end.last_version + 1 + i);
    if (Below(3) == 0) commit.PassOn();
    commit.Step(Below(4) == 0);
    if (i == appends / 2 && Below(2) == 0) former_ = disk_.Crash(&random_);
  }
  for (int i = 0; i < 100 && commit.pending(); ++i) {
    commit.PassOn();
    commit.Step(true);
  }
  EXPECT_FALSE(commit.pending());
  is_finished_ = Below(2) == 0;
  EXPECT_TRUE(!is_finished_ || commit.Finish());
  if (former_ == nullptr) former_ = CopyOfDisk();
}

void DamagedLog::Append(GroupCommit* commit, uint64_t version) {
  LoggedItem item;
  item.version = version;
  item.key = "key " + std::to_string(Below(20));
  item.value = std::to_string(version) + std::string(Below(Below(8) == 0 ? 10000 : 100), letter_);
  item.batch = commit->Append({.version = version, .key = item.key, .value = item.value});
  items_.push_back(item);
}

uint64_t DamagedLog::Vouched(const test::SimulatedDisk& disk) {
  uint64_t vouched = 0;
  for (const std::string& name : disk.Names()) {
    const auto head = verify::CheckLogHead(verify::LogFile::kSegment, disk.Get(name));
    if (!head || head->id != kDamagedId || name != SegmentName(0, head->number)) continue;
    vouched = std::max(vouched, head->first_batch - 1);
    for (const Place& place : PlacesIn(disk, head->number)) {
      vouched = std::max(vouched, place.head.attest);
    }
  }
  return vouched;
}

bool DamagedLog::IsRefused(test::SimulatedDisk* disk) const {
  const auto reading = ReadLog(disk);
  if (!reading) {
    EXPECT_EQ(reading.error().code, Code::kProtocol) << reading.error().message;
    return true;
  }
  if (!reading->refusal.empty()) return true;
  const auto& found = reading->found;
  EXPECT_TRUE(std::ranges::mismatch(found, items_).in1 == found.end())
      << "it reads what was not appended";
  EXPECT_TRUE(found.size() >= items_.size() || items_[found.size()].batch > Vouched(*disk))
      << "a batch is lost that was durable, says a whole part of the log";
  return false;
}

// Calls `damage` so many times with each of many logs, each time with a new copy of its disk.
void ForEachLog(int times,
                const std::function<void(DamagedLog*, test::SimulatedDisk* disk)>& damage) {
  const uint64_t logs = test::NumberFrom("PLOV_SEEDS", 1000) / 20;
  for (uint64_t seed = 0; seed < 2 * logs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DamagedLog log(seed, seed % 2 == 0 ? CommitMode::kStrict : CommitMode::kAsync);
    for (int i = 0; i < times && !testing::Test::HasFailure(); ++i) {
      damage(&log, log.CopyOfDisk().get());
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Damage, WithoutItAllIsRead) {
  ForEachLog(1, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const Reading reading = ReadLog(disk).value();
    EXPECT_EQ(reading.refusal, "");
    EXPECT_TRUE(reading.found == log->items());
    EXPECT_GE(DamagedLog::Vouched(*disk), log->vouched_at_least());
  });
}

// A batch is damaged: refused if it was durable for certain, else the log ends before it.
TEST(Damage, AByteOfABatchIsMissedIfAndOnlyIfItWasPromised) {
  ForEachLog(20, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const Place place = log->AnyPlace();
    const uint64_t offset = place.offset + log->Below(place.head.bytes);
    disk->Flip(place.file(), offset, std::byte{1} << log->Below(8));
    EXPECT_EQ(log->IsRefused(disk), place.head.number <= DamagedLog::Vouched(*disk))
        << place.file() << " at " << offset << ", batch " << place.head.number;
  });
}

TEST(Damage, ABatchThatASnapshotNeedsIsMissed) {
  ForEachLog(1, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const Place last = log->places().back();
    disk->Flip(last.file(), last.offset + 8, std::byte{1});
    EXPECT_FALSE(log->IsRefused(disk));
    const auto reading = ReadLog(disk, last.head.number);
    EXPECT_TRUE(reading && !reading->refusal.empty());
  });
}

TEST(Damage, AByteOfAHeadIsRefused) {
  ForEachLog(5, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const std::string name = SegmentName(0, log->AnySegment());
    disk->Flip(name, log->Below(verify::kLogBlockBytes), std::byte{1} << log->Below(8));
    EXPECT_TRUE(log->IsRefused(disk)) << name;
  });
}

TEST(Damage, AnyBytesAnywhereBringNoWrongValue) {
  ForEachLog(20, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const std::string name = SegmentName(0, log->AnySegment());
    auto bytes = disk->Get(name);
    const uint64_t begin = log->Below(bytes.size());
    const uint64_t end = std::min<uint64_t>(bytes.size(), begin + 1 + log->Below(8192));
    const uint64_t values = log->Below(2) == 0 ? 1 : 256;  // zeros, or garbage
    for (uint64_t at = begin; at < end; ++at) bytes[at] = std::byte(log->Below(values));
    disk->Put(name, std::move(bytes));
    log->IsRefused(disk);
  });
}

// Puts a batch of one disk where another has another.
void CopyBatch(const test::SimulatedDisk& source, const Place& from, test::SimulatedDisk* disk,
               const Place& to) {
  const auto copied = source.Get(from.file());
  auto bytes = disk->Get(to.file());
  const uint64_t count = std::min<uint64_t>(from.head.bytes, bytes.size() - to.offset);
  std::copy_n(copied.begin() + static_cast<ptrdiff_t>(from.offset), count,
              bytes.begin() + static_cast<ptrdiff_t>(to.offset));
  disk->Put(to.file(), std::move(bytes));
}

// A write that went to the wrong place.
TEST(Damage, ABatchInThePlaceOfAnotherIsForeign) {
  ForEachLog(10, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const Place from = log->AnyPlace();
    const Place to = log->AnyPlace();
    if (from.segment == to.segment && from.offset == to.offset) return;
    CopyBatch(*disk, from, disk, to);
    EXPECT_EQ(log->IsRefused(disk), to.head.number <= DamagedLog::Vouched(*disk));
  });
}

// The first batch does not tell one past from the other, for nothing is before it.
TEST(Damage, WhatIsOfAnotherPastIsForeign) {
  ForEachLog(2, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const auto other = log->DiskOfAnotherPast();
    const Place place = log->AnyPlace();
    if (place.head.number == 1) return;
    const bool is_file = place.segment > 1 && log->Below(2) == 0;
    if (is_file) disk->Put(place.file(), other->Get(place.file()));
    if (!is_file) CopyBatch(*other, place, disk, place);
    EXPECT_EQ(log->IsRefused(disk), is_file || place.head.number <= DamagedLog::Vouched(*disk));
  });
}

TEST(Damage, ASegmentThatIsMissingIsRefused) {
  ForEachLog(4, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const uint64_t segment = log->AnySegment();
    const uint64_t last = log->last_segment();
    if (last == 1) return;
    disk->Erase(SegmentName(0, segment));
    // Of the last one nobody knows unless the one before is closed.
    const bool is_known = segment < last || PlacesIn(*disk, last - 1).back().head.kind ==
                                                verify::BatchHead::Kind::kClosed;
    EXPECT_TRUE(log->IsRefused(disk) || !is_known) << segment << " of " << last;
  });
}

TEST(Damage, ASegmentCutShortIsRefused) {
  ForEachLog(5, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const Place place = log->AnyPlace();
    const bool is_empty = log->Below(4) == 0;
    disk->Truncate(place.file(), is_empty ? 0 : place.offset + log->Below(place.head.bytes));
    EXPECT_TRUE(log->IsRefused(disk)) << place.file();
  });
}

TEST(Damage, SegmentsUnderWrongNamesAreRefused) {
  ForEachLog(3, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const uint64_t one = log->AnySegment();
    const uint64_t other = log->Below(2) == 0 ? log->AnySegment() : log->last_segment() + 1;
    if (one == other) return;
    const bool swaps = disk->Has(SegmentName(0, other)) && log->Below(2) == 0;
    if (swaps) disk->Swap(SegmentName(0, one), SegmentName(0, other));
    if (!swaps) disk->Copy(SegmentName(0, one), SegmentName(0, other));
    EXPECT_TRUE(log->IsRefused(disk)) << one << " and " << other;
  });
}

TEST(Damage, FilesUnderAnotherShardsNamesAreRefused) {
  ForEachLog(1, [](DamagedLog* log, test::SimulatedDisk* disk) {
    for (uint64_t segment = 1; segment <= log->last_segment(); ++segment) {
      disk->Copy(SegmentName(0, segment), SegmentName(1, segment));
    }
    const auto reading = ReadLog(disk, 0, 1);
    EXPECT_TRUE(reading && !reading->refusal.empty());
  });
}

TEST(Damage, ASegmentFromABackupBringsNoLoss) {
  ForEachLog(3, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const std::string name = SegmentName(0, log->AnySegment());
    if (!log->former().Has(name)) return;
    disk->Put(name, log->former().Get(name));
    log->IsRefused(disk);
  });
}

TEST(Damage, AHeadOfAnotherFormatIsNoDamage) {
  constexpr uint64_t kSeedOfHeads = 0x706c6f766c6f6773;  // "plovlogs", as in verify/log.cc
  constexpr size_t kFormatOffset = 16;
  ForEachLog(1, [](DamagedLog* log, test::SimulatedDisk* disk) {
    const std::string name = SegmentName(0, log->AnySegment());
    auto bytes = disk->Get(name);
    bytes[kFormatOffset] = std::byte{verify::kReplicaLogFormat + 1};
    const uint64_t checksum =
        verify::Checksum(bytes.data() + 8, verify::kLogBlockBytes - 8, kSeedOfHeads);
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(checksum >> (8 * i));
    disk->Put(name, std::move(bytes));
    const auto reading = ReadLog(disk);
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::kProtocol);
  });
}

}  // namespace
}  // namespace plov::log
