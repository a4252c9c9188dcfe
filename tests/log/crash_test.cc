// Random lives of a log on a simulated disk: operations, snapshots, faults and clean stops; each ends with a
// power cut, a killed process or a stop, and the next begins with what is on the disk. What was said to be
// durable is there; what is there was appended, in that order; and no such disk is taken for a damaged one.
//
// PLOV_SEEDS: how many lives' seeds each test runs, 1000 unless given. PLOV_SEED: this one alone.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
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

namespace plov::log {
namespace {

constexpr uint32_t kCrashShard = 3;
constexpr uint64_t kCrashSegmentBytes = 64 << 10;
constexpr uint64_t kCrashVersionsApart = uint64_t{1} << 30;  // rule D9
constexpr SegmentWriter::Options kCrashWriterOptions{
    .shard = kCrashShard, .shard_count = 8, .id = {.low = 17, .high = 4}, .hash_seed = 99};

// An operation as it was appended.
struct Appended {
  uint64_t batch = 0;
  verify::Logged::Kind kind = verify::Logged::Kind::kPut;
  uint64_t version = 0;
  uint64_t client_id = 0;
  uint64_t sequence = 0;
  uint32_t flags = 0;
  uint32_t expiry = 0;
  std::string key;
  std::string value;
  bool operator==(const Appended&) const = default;

  static Appended Of(uint64_t batch, const verify::Logged& logged) {
    return {.batch = batch,
            .kind = logged.kind,
            .version = logged.version,
            .client_id = logged.client_id,
            .sequence = logged.sequence,
            .flags = logged.flags,
            .expiry = logged.expiry,
            .key = std::string(logged.key),
            .value = std::string(logged.value)};
  }
  verify::Logged ToLogged() const {
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

void TakeAppended(const Walk::Batch& batch, std::vector<Appended>* to) {
  Bytes rest = batch.operations;
  uint32_t taken = 0;
  for (; taken < batch.head.operations; ++taken) {
    const auto logged = verify::TakeLogged(&rest);
    ASSERT_TRUE(logged) << "batch " << batch.head.number;
    to->push_back(Appended::Of(batch.head.number, *logged));
  }
  EXPECT_TRUE(rest.empty());
}

// A log's lives, one after the other, and what must be true of them.
class Lives {
 public:
  Lives(uint64_t seed, CommitMode mode)
      : random_(seed), mode_(mode), disk_(std::make_unique<test::SimulatedDisk>(seed)) {}

  // One life: a start, work and an end.
  void Live();

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // Start.
  void CutPowerInRecovery();
  void Recover();
  std::expected<ShardFiles, Error> Prepare();
  void ReadAll(const ShardFiles& files);
  void Compare(const std::vector<Appended>& found);
  void Begin();

  // Work.
  void Work();
  void Disturb();
  void Append();
  Appended Next();
  void Snapshot();
  void Watch();

  // End.
  void BecomesDurable();
  void End();

  std::mt19937_64 random_;
  CommitMode mode_;
  std::unique_ptr<test::SimulatedDisk> disk_;
  std::vector<std::string> found_spares_;
  std::optional<Spares> spares_;
  std::unique_ptr<GroupCommit> commit_;
  bool undisturbed_ = true;

  // What was appended and not lost at a power cut since, behind the snapshot.
  std::vector<Appended> appended_;
  uint64_t promised_ = 0;  // this batch was said to be durable
  uint64_t serial_ = 0;    // of operations, those that were lost too: no content is there twice
  uint64_t version_ = 0;
  LogEnd end_;
  // The snapshot: every batch up to this one is in it, and replay begins with this segment.
  uint64_t snapshot_batch_ = 0;
  uint64_t snapshot_segment_ = 0;
};

void Lives::Live() {
  if (OneIn(8)) CutPowerInRecovery();
  Recover();
  if (testing::Test::HasFailure()) return;
  undisturbed_ = true;
  if (OneIn(4)) Disturb();
  Begin();
  if (commit_ != nullptr) Work();
  End();
}

// Start.

void Lives::CutPowerInRecovery() {
  disk_->FailAllAfter(Below(12));
  (void)Prepare();
  disk_ = disk_->Crash(&random_);
}

// What a server does before it reads (rule D9): all that it reads is durable from then on. What a failed sync
// has dropped must not be read, for it is in memory alone.
std::expected<ShardFiles, Error> Lives::Prepare() {
  auto folder = Folder::List(disk_.get());
  if (!folder) return std::unexpected(folder.error());
  for (const std::string& name : folder->unfinished) {
    if (auto removed = disk_->Remove(name); !removed) return std::unexpected(removed.error());
  }
  ShardFiles& files = folder->shards[kCrashShard];
  for (const uint64_t number : files.segments) {
    auto file = disk_->Open(SegmentName(kCrashShard, number), test::SimulatedDisk::Mode::kWrite);
    if (!file) return std::unexpected(file.error());
    if (auto synced = (*file)->Sync(); !synced) return std::unexpected(synced.error());
    (*file)->DropCache();
  }
  if (auto synced = disk_->SyncNames(); !synced) return std::unexpected(synced.error());
  found_spares_ = folder->spares;
  return files;
}

void Lives::Recover() {
  const auto files = Prepare();
  ASSERT_TRUE(files) << files.error().message;
  if (!files->segments.empty()) return ReadAll(*files);
  EXPECT_EQ(promised_, 0U) << "the log is gone";
  appended_.clear();
  end_ = {};
}

void Lives::ReadAll(const ShardFiles& files) {
  auto opened = Walk::Open(disk_.get(), files,
                           {.shard = kCrashShard,
                            .segment = snapshot_segment_,
                            .batch = snapshot_batch_ + 1,
                            .needs = snapshot_batch_});
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(*opened) << "false alarm: " << opened->error().Line();
  Walk& walk = **opened;
  std::vector<Appended> found;
  for (size_t i = 0; i <= appended_.size(); ++i) {
    const auto next = walk.Next();
    ASSERT_TRUE(next) << next.error().message;
    ASSERT_TRUE(*next) << "false alarm: " << next->error().Line();
    if (!**next) {
      end_ = walk.end();
      return Compare(found);
    }
    TakeAppended(***next, &found);
  }
  FAIL() << "more batches than were appended";
}

// What was found is the beginning of what was appended, with all that was promised.
void Lives::Compare(const std::vector<Appended>& found) {
  ASSERT_LE(found.size(), appended_.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i] == appended_[i]) << "operation " << i << " of batch " << found[i].batch;
  }
  if (found.size() < appended_.size()) {
    ASSERT_GT(appended_[found.size()].batch, promised_) << "a promised batch is lost";
    ASSERT_TRUE(found.empty() || found.back().batch < appended_[found.size()].batch);
  }
  ASSERT_GT(end_.next_batch, promised_);
  ASSERT_GE(end_.last_version, found.empty() ? 0 : found.back().version);
  appended_.resize(found.size());
  // It is served from now on, so it is a promise.
  promised_ = end_.next_batch - 1;
}

void Lives::Begin() {
  version_ = end_.last_version + kCrashVersionsApart;
  spares_.emplace(disk_.get(), kCrashSegmentBytes, found_spares_);
  SegmentWriter::Options options = kCrashWriterOptions;
  options.durable_writes = mode_ != CommitMode::kAsync;
  SegmentWriter writer(disk_.get(), &*spares_, options, end_);
  const auto begun = writer.Begin();
  EXPECT_TRUE(begun || !undisturbed_) << begun.error().message;
  if (!begun) return;
  const size_t buffer_bytes = size_t{4096} << Below(8);
  commit_ = std::make_unique<GroupCommit>(
      std::move(writer), GroupCommit::Options{.mode = mode_, .buffer_bytes = buffer_bytes}, [] {});
}

// Work.

void Lives::Work() {
  const uint64_t steps = 1 + Below(80);
  const uint64_t disturbed_at = OneIn(2) ? Below(steps) : steps;
  for (uint64_t i = 0; i < steps; ++i) {
    if (i == disturbed_at) Disturb();
    const uint64_t what = Below(32);
    if (what < 14) Append();
    if (what >= 14 && what < 20) commit_->PassOn();
    if (what >= 20 && what < 28) commit_->Step(OneIn(3));
    if (what == 28) commit_->Attest();
    if (what == 29) (void)commit_->RequestSync();
    if (what == 30) (void)spares_->Make();
    if (what == 31 && OneIn(2)) Snapshot();
    Watch();
  }
  if (!OneIn(3)) BecomesDurable();
}

void Lives::Disturb() {
  undisturbed_ = false;
  switch (Below(4)) {
    case 0:
      return disk_->FailAtRandom(std::array{0.01, 0.1, 0.5}[Below(3)]);
    case 1:
      return disk_->SetFull(true);
    case 2:
      return disk_->FailAllAfter(Below(25));
    default:
      disk_->FailNext(static_cast<test::SimulatedDisk::Call>(Below(test::SimulatedDisk::kCalls)),
                      OneIn(2) ? Code::kSystem : Code::kNoSpace, Below(4));
  }
}

Appended Lives::Next() {
  Appended entry;
  entry.kind = OneIn(4) ? verify::Logged::Kind::kDelete : verify::Logged::Kind::kPut;
  entry.version = version_ += 1 + Below(3);
  entry.client_id = Below(3);
  entry.sequence = Below(1000);
  entry.key = "key " + std::to_string(Below(50));
  if (entry.kind == verify::Logged::Kind::kDelete) return entry;
  entry.flags = static_cast<uint32_t>(random_());
  entry.expiry = static_cast<uint32_t>(random_());
  entry.value = std::to_string(++serial_) + std::string(Below(200), 'v');
  // Some do not fit in a batch of one block, a few not in a segment.
  if (OneIn(20)) entry.value += std::string(Below(20000), 'w');
  if (OneIn(400)) entry.value += std::string(Below(2 * kCrashSegmentBytes), 'x');
  return entry;
}

void Lives::Append() {
  // A server takes no writes while the disk fails, but those that it has taken are appended.
  if (commit_->failure() != Code::kOk && !OneIn(4)) return;
  Appended entry = Next();
  if (!commit_->HasRoom(verify::LoggedBytes(entry.key.size(), entry.value.size()))) return;
  verify::Logged logged = entry.ToLogged();
  Piece piece;
  if (entry.value.size() >= 4096 && OneIn(2)) {
    piece = Piece::OfBytes(entry.value.size());
    std::memcpy(piece.memory.get(), entry.value.data(), piece.bytes);
    logged.value = {};
  }
  entry.batch = commit_->Append(logged, std::move(piece));
  ASSERT_GE(entry.batch, appended_.empty() ? promised_ + 1 : appended_.back().batch);
  appended_.push_back(std::move(entry));
}

// Of all that is durable, so nothing before the segment of now is needed any more.
void Lives::Snapshot() {
  if (commit_->failure() != Code::kOk) return;
  snapshot_batch_ = commit_->durable();
  snapshot_segment_ = commit_->segment();
  std::erase_if(appended_,
                [this](const Appended& entry) { return entry.batch <= snapshot_batch_; });
  for (const std::string& name : disk_->Names()) {
    for (uint64_t number = 1; number < snapshot_segment_; ++number) {
      if (name == SegmentName(kCrashShard, number)) spares_->Give(name);
    }
  }
}

void Lives::Watch() {
  ASSERT_GE(commit_->durable(), promised_);
  promised_ = commit_->durable();
}

// End.

// Without faults everything is durable after a while, whatever failed before.
void Lives::BecomesDurable() {
  if (!undisturbed_ && OneIn(2)) return;
  disk_->ClearFaults();
  for (int i = 0; i < 100 && (commit_->pending() || commit_->failure() != Code::kOk); ++i) {
    commit_->PassOn();
    commit_->Step(true);
    Watch();
  }
  EXPECT_FALSE(commit_->pending());
  EXPECT_EQ(commit_->failure(), Code::kOk);
}

void Lives::End() {
  const bool was_stopped = commit_ != nullptr && OneIn(3);
  if (was_stopped) {
    const auto finished = commit_->Finish();
    EXPECT_TRUE(finished || !undisturbed_) << finished.error().message;
    Watch();
    EXPECT_FALSE(finished && commit_->pending());
  }
  commit_.reset();
  spares_.reset();
  // The power is cut, or the process was killed or has stopped.
  if (!OneIn(4)) disk_ = disk_->Crash(&random_);
  disk_->ClearFaults();
}

void LiveManyTimes(CommitMode mode) {
  constexpr int kLives = 5;
  const uint64_t first = test::NumberFrom("PLOV_SEED", 0);
  const uint64_t seeds = std::getenv("PLOV_SEED") ? 1 : test::NumberFrom("PLOV_SEEDS", 1000);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("PLOV_SEED=" + std::to_string(seed));
    Lives lives(seed, mode);
    for (int life = 0; life < kLives; ++life) {
      SCOPED_TRACE("life " + std::to_string(life));
      lives.Live();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Crash, AStrictLogKeepsItsPromises) { LiveManyTimes(CommitMode::kStrict); }
TEST(Crash, AnAsyncLogKeepsItsPromises) { LiveManyTimes(CommitMode::kAsync); }

}  // namespace
}  // namespace plov::log
