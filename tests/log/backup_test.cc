// Backup, on a simulated disk that has both folders, while a server's log and snapshots go on.

#include "log/offline/backup.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "tests/log/served_log.h"
#include "tests/log/simulated_disk.h"
#include "tests/log/written_log.h"

namespace plov::log::offline {
namespace {

using test::kBatchesInSegment;
using test::SimulatedDisk;
using test::UpTo;
using test::WrittenLog;
using Call = SimulatedDisk::Call;

const std::string kFolder = "backup/";

// A folder on the disk of another one: its names begin with the folder's. `before` is called before each call,
// `after_read` behind each read of a file: there something else happens meanwhile.
class Folded : public Disk {
 public:
  Folded(SimulatedDisk* disk, std::string prefix) : disk_(disk), prefix_(std::move(prefix)) {}

  std::function<void()> before;
  std::function<void(const std::string& name, uint64_t end)> after_read;

  std::expected<std::unique_ptr<File>, Error> Open(const std::string& name, Mode mode) override {
    Before();
    auto file = disk_->Open(prefix_ + name, mode);
    if (!file || mode != Mode::kRead) return file;
    return std::make_unique<ReadFile>(this, name, *std::move(file));
  }
  std::expected<void, Error> Rename(const std::string& from, const std::string& to) override {
    Before();
    return disk_->Rename(prefix_ + from, prefix_ + to);
  }
  std::expected<void, Error> Remove(const std::string& name) override {
    return disk_->Remove(prefix_ + name);
  }
  std::expected<void, Error> Link(const std::string& from, const std::string& to) override {
    return disk_->Link(prefix_ + from, prefix_ + to);
  }
  std::expected<void, Error> SyncNames() override { return disk_->SyncNames(); }
  std::expected<std::vector<std::string>, Error> List() override {
    Before();
    const auto names = disk_->List();
    if (!names) return names;
    std::vector<std::string> own;
    for (const std::string& name : *names) {
      const bool is_own = prefix_.empty() ? !name.contains('/') : name.starts_with(prefix_);
      if (is_own) own.push_back(name.substr(prefix_.size()));
    }
    return own;
  }
  std::string PathOf(const std::string& name) const override { return prefix_ + name; }

  void Before() const {
    if (before) before();
  }

 private:
  class ReadFile : public File {
   public:
    ReadFile(Folded* folder, std::string name, std::unique_ptr<File> file)
        : folder_(folder), name_(std::move(name)), file_(std::move(file)) {}

    uint64_t bytes() const override { return file_->bytes(); }
    bool has_other_names() const override { return file_->has_other_names(); }
    std::expected<void, Error> Read(uint64_t offset, std::span<std::byte> to) override {
      folder_->Before();
      auto read = file_->Read(offset, to);
      if (folder_->after_read) folder_->after_read(name_, offset + to.size());
      return read;
    }
    std::expected<void, Error> Write(uint64_t offset, std::span<const Bytes>) override {
      ADD_FAILURE() << name_ << " is written at " << offset;
      return Fail(Code::kSystem, "");
    }
    std::expected<void, Error> Sync() override { return file_->Sync(); }
    void DropCache() override { file_->DropCache(); }

   private:
    Folded* folder_;
    std::string name_;
    std::unique_ptr<File> file_;
  };

  SimulatedDisk* disk_;
  std::string prefix_;
};

struct Folders {
  explicit Folders(SimulatedDisk* both) : disk(both), from(both, ""), to(both, kFolder) {}

  std::expected<std::vector<BackedUp>, Error> Run() {
    const Link link = [this](const std::string& name,
                             const std::string& as) -> std::expected<bool, Error> {
      from.Before();
      if (!links) return false;
      auto linked = disk->Link(name, kFolder + as);
      if (!linked) return std::unexpected(linked.error());
      from.Before();
      return true;
    };
    return Backup(&from, &to, link, nullptr);
  }
  std::vector<std::string> Left() { return *to.List(); }

  SimulatedDisk* disk;
  Folded from;
  Folded to;
  bool links = true;
};

// What is in the backup is all of the log from its snapshot on, at least up to a batch.
void ExpectBackup(Folders* folders, const BackedUp& backed_up, uint64_t at_least) {
  const std::vector<uint64_t> batches = BatchesIn(&folders->to);
  const uint64_t last = batches.empty() ? backed_up.last_version : batches.back();
  EXPECT_GE(last, at_least);
  EXPECT_EQ(last, backed_up.last_version);
  for (size_t i = 1; i < batches.size(); ++i) EXPECT_EQ(batches[i], batches[i - 1] + 1);
  if (!backed_up.snapshot && !batches.empty()) {
    EXPECT_EQ(batches.front(), 1u);
  }
  for (const std::string& name : folders->Left()) EXPECT_FALSE(name.ends_with(".new")) << name;
}

TEST(Backup, OfALogThatRestsIsAllOfIt) {
  for (const bool has_snapshot : {false, true}) {
    SimulatedDisk disk;
    Served server(&disk);
    server.log().PutAll(3 * kBatchesInSegment + 2);
    if (has_snapshot) server.TakeSnapshot();
    server.log().PutAll(kBatchesInSegment);
    Folders folders(&disk);
    const auto shards = folders.Run();
    ASSERT_TRUE(shards) << shards.error().message;
    ASSERT_EQ(shards->size(), 1u);
    ExpectBackup(&folders, shards->front(), server.last());
    EXPECT_EQ(shards->front().snapshot.has_value(), has_snapshot);
    EXPECT_EQ(shards->front().items, has_snapshot ? 1u : 0u);
    EXPECT_EQ(shards->front().report.segments, has_snapshot ? 2u : 5u);
  }
}

TEST(Backup, IsDurableWhenItReturns) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(2 * kBatchesInSegment + 2);
  Folders folders(&disk);
  ASSERT_TRUE(folders.Run());
  SimulatedDisk::Random random(1);
  for (int i = 0; i < 20; ++i) {
    const auto left = disk.Crash(&random);
    Folders after(left.get());
    EXPECT_EQ(BatchesIn(&after.to), UpTo(server.last()));
  }
}

// At each call that the backup makes the server writes, takes a snapshot, removes, recycles.
TEST(Backup, WhateverTheServerDoesMeanwhileItHoldsWhatWasThereBefore) {
  int with_snapshot_meanwhile = 0;
  for (const size_t keep : {1u, 2u}) {
    for (const bool links : {true, false}) {
      for (int at = 0, calls = 1; at < calls; ++at) {
        SCOPED_TRACE(testing::Message() << "keep " << keep << " links " << links << " at " << at);
        SimulatedDisk disk;
        Served server(&disk, keep);
        server.log().PutAll(2 * kBatchesInSegment);
        server.TakeSnapshot();
        server.log().PutAll(2 * kBatchesInSegment + 1);
        const uint64_t before = server.last();
        Folders folders(&disk);
        folders.links = links;
        calls = 0;
        folders.from.before = [&] {
          if (calls++ != at) return;
          server.log().PutAll(kBatchesInSegment);
          server.TakeSnapshot();
          server.log().PutAll(4 * kBatchesInSegment);  // over what was recycled
        };
        const auto shards = folders.Run();
        ASSERT_TRUE(shards) << shards.error().message;
        folders.from.before = nullptr;
        ++with_snapshot_meanwhile;
        ExpectBackup(&folders, shards->front(), before);
        // It stays as it is, whatever the server does afterwards.
        const auto batches = BatchesIn(&folders.to);
        server.TakeSnapshot();
        server.log().PutAll(6 * kBatchesInSegment);
        server.TakeSnapshot();
        server.log().PutAll(6 * kBatchesInSegment);
        EXPECT_EQ(BatchesIn(&folders.to), batches);
      }
    }
  }
  EXPECT_GT(with_snapshot_meanwhile, 4 * 15);
}

// So the number of the next segment, which closes one, is that of the next batch.
TEST(Backup, ASegmentThatIsClosedMeanwhileEndsWithItsLastBatch) {
  for (int at = 0, calls = 1; at < calls; ++at) {
    SimulatedDisk disk;
    Served server(&disk);
    constexpr size_t kMoreThanHalf = test::kSegmentBytes / 2;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(server.log().Put(kMoreThanHalf));
    Folders folders(&disk);
    calls = 0;
    folders.from.before = [&] {
      if (calls++ != at) return;
      EXPECT_TRUE(server.log().Put(kMoreThanHalf));
    };
    const auto shards = folders.Run();
    folders.from.before = nullptr;
    ASSERT_TRUE(shards) << at << ": " << shards.error().message;
    ExpectBackup(&folders, shards->front(), 3);
  }
}

// It needs what was written since, which is found because it is looked for later.
TEST(Backup, ASnapshotMayTakeThePlaceOfOneOfTheSameNumber) {
  for (int at = 0, calls = 1; at < calls; ++at) {
    SimulatedDisk disk;
    Served server(&disk);
    server.log().PutAll(2 * kBatchesInSegment + 1);
    server.TakeSnapshot();
    const uint64_t before = server.last();
    Folders folders(&disk);
    calls = 0;
    folders.from.before = [&] {
      if (calls++ != at) return;
      server.log().PutAll(1);
      server.TakeSnapshot();
    };
    const auto shards = folders.Run();
    folders.from.before = nullptr;
    ASSERT_TRUE(shards) << at << ": " << shards.error().message;
    ExpectBackup(&folders, shards->front(), before);
  }
}

// The server has looked at the links of a file, and renames it later, when it is linked.
TEST(Backup, AFileThatTheServerHadLookedAtIsNotKept) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(2 * kBatchesInSegment + 1);
  Folders folders(&disk);
  int calls = 0;
  folders.from.before = [&] {
    ++calls;
    if (calls == 2) server.NameSnapshot();  // behind the first look at the folder
    if (calls == 4) {                       // as Spares::Give does: looked at before
      EXPECT_TRUE(disk.Rename("0.1.log", "spare.9"));
    }
  };
  const auto shards = folders.Run();
  folders.from.before = nullptr;
  ASSERT_TRUE(shards) << shards.error().message;
  EXPECT_TRUE(shards->front().snapshot);
  EXPECT_FALSE(disk.Has(kFolder + "0.1.log"));
  ExpectBackup(&folders, shards->front(), server.last());
}

TEST(Backup, SnapshotsWithoutEndAreAnError) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(2);
  Folders folders(&disk);
  folders.from.before = [&] {
    server.log().PutAll(kBatchesInSegment + 1);
    server.TakeSnapshot();
  };
  const auto shards = folders.Run();
  ASSERT_FALSE(shards);
  EXPECT_EQ(shards.error().code, Code::kUnavailable);
  EXPECT_TRUE(folders.Left().empty());
}

// A batch that is half written when it is read, and whole when the one behind it is.
TEST(Backup, ABatchThatIsBeingWrittenIsNoDamage) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(kBatchesInSegment + 4);
  const std::string last = SegmentName(0, 2);
  for (const uint64_t batch : {1u, 2u, 3u}) {
    const uint64_t torn_at = batch * verify::kLogBlockBytes + 70;
    const std::byte was = disk.Get(last)[torn_at];
    const auto write = [&](std::byte byte) {
      const auto file = disk.Open(last, Disk::Mode::kWrite);
      const Bytes piece(&byte, 1);
      EXPECT_TRUE((*file)->Write(torn_at, {&piece, 1}));
    };
    for (const bool gets_whole : {false, true}) {
      write(was ^ std::byte{1});
      Folders folders(&disk);
      folders.from.after_read = [&](const std::string& name, uint64_t end) {
        if (gets_whole && name == last && end > torn_at) write(was);
      };
      const auto shards = folders.Run();
      EXPECT_EQ(shards.has_value(), gets_whole);
      if (!shards) {
        EXPECT_EQ(shards.error().code, Code::kCorrupt);
        const std::string place = "0.2.log at offset " + std::to_string(torn_at - 70) + ": batch";
        EXPECT_NE(shards.error().message.find(place), std::string::npos) << shards.error().message;
      }
      if (shards) {
        EXPECT_EQ(BatchesIn(&folders.to), UpTo(server.last()));
      }
      for (const std::string& name : folders.Left()) disk.Erase(kFolder + name);
    }
  }
}

TEST(Backup, ATornTailIsLeftOut) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(kBatchesInSegment + 2);
  disk.Flip(SegmentName(0, 2), 2 * verify::kLogBlockBytes + 70, std::byte{1});
  Folders folders(&disk);
  const auto shards = folders.Run();
  ASSERT_TRUE(shards) << shards.error().message;
  EXPECT_EQ(BatchesIn(&folders.to), UpTo(kBatchesInSegment + 1));
}

TEST(Backup, DamageOfWhatIsLinkedIsFound) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(3 * kBatchesInSegment);
  disk.Flip("0.1.log", 2 * verify::kLogBlockBytes + 70, std::byte{1});
  Folders folders(&disk);
  EXPECT_EQ(folders.Run().error().code, Code::kCorrupt);
  EXPECT_TRUE(folders.Left().empty());
  SimulatedDisk empty;
  EXPECT_EQ(Folders(&empty).Run().error().code, Code::kNotFound);
}

TEST(Backup, WhatFailsLeavesNothing) {
  for (const auto call : {Call::kCreate, Call::kWrite, Call::kSync, Call::kRename, Call::kLink,
                          Call::kSyncNames, Call::kRead, Call::kOpen, Call::kList}) {
    SimulatedDisk disk;
    Served server(&disk);
    server.log().PutAll(2 * kBatchesInSegment);
    Folders folders(&disk);
    disk.FailNext(call, Code::kNoSpace);
    const auto shards = folders.Run();
    ASSERT_FALSE(shards) << static_cast<int>(call);
    EXPECT_TRUE(folders.Left().empty()) << static_cast<int>(call);
    EXPECT_TRUE(folders.Run()) << static_cast<int>(call);
  }
}

// A server that starts on the backup itself: it shares files with the first one, and neither changes what the
// other one has.
TEST(Backup, AServerOnItDoesNotWriteToWhatItShares) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(3 * kBatchesInSegment);
  Folders folders(&disk);
  ASSERT_TRUE(folders.Run());
  const auto before = BatchesIn(&folders.from);
  std::map<std::string, std::vector<std::byte>> shared;
  for (const char* name : {"0.1.log", "0.2.log"}) shared[name] = disk.Get(name);

  const auto shards = Look(&folders.to);
  const auto ending =
      WalkLog(&folders.to, shards->present[0].files, shards->present[0].AsAServer(), nullptr);
  ASSERT_TRUE(ending);
  Spares spares(&folders.to, test::kSegmentBytes, {});
  SegmentWriter writer(&folders.to, &spares, {.id = test::kLogId, .hash_seed = test::kHashSeed},
                       ending->end);
  ASSERT_TRUE(writer.Begin());
  // It gives up what lies before its segment, as after a snapshot, and goes on.
  for (const char* name : {"0.1.log", "0.2.log"}) spares.Give(name);
  test::BatchMemory memory(ending->end.next_batch, 100);
  EXPECT_TRUE(writer.Write(memory.pending()));
  for (const auto& [name, bytes] : shared) {
    EXPECT_EQ(disk.Get(name), bytes) << name;
    EXPECT_FALSE(disk.Has(kFolder + name));
  }
  EXPECT_EQ(BatchesIn(&folders.from), before);
}

}  // namespace
}  // namespace plov::log::offline
