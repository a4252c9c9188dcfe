// The writer's rules W1 and W3, between any two stores of the real writer: this executable compiles
// the store once more under an observer of shared words.
#include <gtest/gtest.h>

#include "tests/server/store_world.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

using verify::Store;

// Looks at one key as a client would, after every store. Its truth is the pair of old and new item.
class Watch {
 public:
  Watch(StoreWorld* world, std::string key) : world_(world), key_(std::move(key)) {
    if (world_->IndexOf(key_)) {
      before_ = OneSidedReader(world_).Get(key_).item;
      const auto bucket = world_->BucketAt(*world_->IndexOf(key_));
      if (bucket->kind() == verify::BucketKind::kReference) old_record_ = bucket->reference();
    }
    verify::store_observer = [this](Store, const uint64_t*) { Look(); };
  }
  ~Watch() { verify::store_observer = nullptr; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::string& wrong() const { return wrong_; }
  uint64_t looks() const { return looks_; }
  uint64_t new_seen() const { return new_seen_; }

 private:
  void Look() {
    ++looks_;
    if (!wrong_.empty()) return;
    const Answer fresh = OneSidedReader(world_).Get(key_);
    if (!fresh.hit() && !fresh.absent()) return;  // torn: it will ask again
    const std::optional<Stored> seen = fresh.hit() ? std::optional(fresh.item) : std::nullopt;
    if (seen == before_) {
      if (new_seen_ > 0) wrong_ = "the old item came back";
      return;
    }
    ++new_seen_;
    CheckNew(seen);
  }

  // R4: once the new state can be seen, a remembered location never gives the old one.
  void CheckNew(const std::optional<Stored>& seen) {
    if (new_ && seen != *new_) wrong_ = "two new states";
    new_ = seen;
    if (!old_record_.version) return;
    if (world_->IsLiveAt(old_record_.offset, old_record_.version)) {
      wrong_ = "the old record is live beside the new item";
    }
    OneSidedReader remembering(world_, size_t{1} << 12);
    remembering.cache().Remember(
        old_record_.hash, cuckoo::Location::Record(old_record_.offset, old_record_.record_bytes,
                                                   old_record_.version));
    const Answer known = remembering.Get(key_);
    if (known.hit() && known.item.version == before_->version) wrong_ = "stale by memory";
  }

  StoreWorld* world_;
  std::string key_;
  std::optional<Stored> before_;
  std::optional<std::optional<Stored>> new_;
  verify::Reference old_record_ = {};
  std::string wrong_;
  uint64_t looks_ = 0;
  uint64_t new_seen_ = 0;
};

struct Change {
  const char* name;
  size_t old_bytes;  // 0: absent
  size_t new_bytes;  // 0: deleted
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

std::string ValueOf(size_t bytes, uint64_t seed) {
  return bytes < 20 ? InlineValue(seed) : RecordValue(seed, bytes);
}

class StoreOrder : public ::testing::TestWithParam<Change> {};

TEST_P(StoreOrder, ReadersSeeTheOldItemThenTheNewOneAndNothingElse) {
  StoreWorld world;
  // Displaced keys too: a table that is 85 % full.
  for (uint64_t i = 0; i < 850; ++i) world.Put("filler" + std::to_string(i), "v");
  for (uint64_t i = 0; i < 60; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (GetParam().old_bytes > 0) world.Put(key, ValueOf(GetParam().old_bytes, i));
    Watch watch(&world, key);
    const WriteReply reply = GetParam().new_bytes > 0
                                 ? world.Put(key, ValueOf(GetParam().new_bytes, i + 1000))
                                 : world.Delete(key);
    ASSERT_EQ(reply.status, Code::kOk);
    ASSERT_EQ(watch.wrong(), "") << key;
    ASSERT_GT(watch.looks(), 5u);
    ASSERT_GT(watch.new_seen(), 0u) << "acknowledged before it can be seen";
    verify::store_observer = nullptr;
    world.Delete(key);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Store, StoreOrder,
    ::testing::Values(Change{"InsertInline", 0, 8}, Change{"InsertRecord", 0, 200},
                      Change{"RecordByRecord", 200, 200}, Change{"RecordByLargerRecord", 200, 2000},
                      Change{"RecordByInline", 200, 8}, Change{"InlineByRecord", 8, 200},
                      Change{"InlineByInline", 8, 8}, Change{"DeleteRecord", 200, 0},
                      Change{"DeleteInline", 8, 0}),
    [](const auto& change) { return std::string(change.param.name); });

TEST(StoreOrder, OverwrittenRecordIsNoLongerLive) {
  StoreWorld world;
  const uint64_t version = world.Put("key", RecordValue(1)).version;
  const uint64_t offset = world.ReferenceOf("key").offset;
  ASSERT_TRUE(world.IsLiveAt(offset, version));
  world.Put("key", RecordValue(2));
  ASSERT_NE(world.ReferenceOf("key").offset, offset) << "values are never changed in place";
  EXPECT_FALSE(world.IsLiveAt(offset));
}

TEST(StoreOrder, DeletedRecordIsNoLongerLive) {
  StoreWorld world;
  world.Put("key", RecordValue(1));
  const uint64_t offset = world.ReferenceOf("key").offset;
  world.Delete("key");
  EXPECT_FALSE(world.IsLiveAt(offset));
}

// W1, and the free after: until the bucket names the new record, nothing but it is written.
TEST(StoreOrder, OldRecordStaysWholeUntilTheBucketNamesTheNew) {
  StoreWorld world;
  OneSidedReader reader(&world);
  world.Put("key", RecordValue(1));
  const uint64_t index = world.IndexOf("key").value();
  const verify::Reference old = world.ReferenceOf("key");
  std::string wrong;
  verify::store_observer = [&](Store, const uint64_t*) {
    const auto bucket = world.BucketAt(index);
    if (bucket && bucket->reference().version != old.version) return;
    const auto item = verify::CheckRecord({world.memory() + old.offset, old.record_bytes},
                                          world.view().record_seed);
    if (!item || item->version() != old.version) wrong = "the old record is gone";
  };
  world.Put("key", RecordValue(2));
  verify::store_observer = nullptr;
  EXPECT_EQ(wrong, "");
}

// Cleaning moves a record while clients read it. Memory is full of records, two thirds of which are
// deleted then; writes of another key make cleaning go on until it has moved the watched one.
class StoreMove : public ::testing::Test {
 protected:
  static StoreOptions Options() {
    StoreOptions options = StoreWorld::SmallOptions();
    options.memory_bytes = 4 * kMiB;
    options.bucket_count = 8192;
    return options;
  }

  void SetUp() override {
    uint64_t count = 0;
    while (world.Put("k" + std::to_string(count), RecordValue(count)).status == Code::kOk) ++count;
    for (uint64_t i = 0; i < count; ++i) {
      if (i % 3 != 0) world.Delete("k" + std::to_string(i));
    }
    old = world.ReferenceOf(key);
    index = world.IndexOf(key).value();
    item = OneSidedReader(&world).Get(key).item;
  }
  void TearDown() override { verify::store_observer = nullptr; }

  // True when the watched record has been moved.
  bool MoveIt() {
    for (uint64_t i = 0; i < 2000 && world.ReferenceOf(key).offset == old.offset; ++i) {
      if (world.Put("other" + std::to_string(i), RecordValue(i, 1000)).status != Code::kOk) break;
    }
    verify::store_observer = nullptr;
    return world.ReferenceOf(key).offset != old.offset;
  }
  Answer GetRemembering(const verify::Reference& known) {
    OneSidedReader reader(&world, size_t{1} << 12);
    reader.cache().Remember(
        known.hash, cuckoo::Location::Record(known.offset, known.record_bytes, known.version));
    return reader.Get(key);
  }
  bool IsWholeAt(uint64_t offset) {
    const auto record =
        verify::CheckRecord({world.memory() + offset, old.record_bytes}, world.view().record_seed);
    return record && record->version() == old.version;
  }

  StoreWorld world{Options()};
  const std::string key = "k999";
  verify::Reference old;
  uint64_t index = 0;
  Stored item;
};

TEST_F(StoreMove, ReadersFindTheValueAtEveryInstant) {
  std::string wrong;
  uint64_t hits = 0, unanswered = 0;
  verify::store_observer = [&](Store, const uint64_t*) {
    for (const Answer& answer : {OneSidedReader(&world).Get(key), GetRemembering(old)}) {
      unanswered += answer.hit() || answer.absent() ? 0 : 1;  // torn: it will ask again
      if (answer.absent()) wrong = "absent";
      if (answer.hit() && answer.item != item) wrong = "another value";
      hits += answer.hit() ? 1 : 0;
    }
  };
  ASSERT_TRUE(MoveIt());
  EXPECT_EQ(wrong, "");
  EXPECT_GT(hits, 10'000u);
  EXPECT_LT(unanswered, 100u) << "only while its bucket is rewritten";
  EXPECT_EQ(OneSidedReader(&world).Get(key).item, item) << "with the version it had";
}

// The copy is whole, then the old record's `live` turns 0, then the bucket names the copy.
TEST_F(StoreMove, StepsComeInTheirOrder) {
  std::string wrong;
  bool retracted = false, moved = false;
  verify::store_observer = [&](Store, const uint64_t*) {
    const auto bucket = world.BucketAt(index);
    if (!bucket) return;
    const uint64_t at = bucket->reference().offset;
    if (!IsWholeAt(at)) wrong = "the bucket leads to bytes that are not whole";
    if (at == old.offset) {
      retracted |= !world.IsLiveAt(old.offset);
      return;
    }
    moved = true;
    if (!world.IsLiveAt(at, old.version)) wrong = "the copy is not live";
    if (world.IsLiveAt(old.offset, old.version)) wrong = "the old record is live beside it";
  };
  ASSERT_TRUE(MoveIt());
  EXPECT_EQ(wrong, "");
  EXPECT_TRUE(retracted && moved);
}

// R4 for a client that remembers the place from before the move.
TEST_F(StoreMove, OldPlaceIsRefusedFromTheOverwriteOn) {
  ASSERT_TRUE(MoveIt());
  const verify::Reference now = world.ReferenceOf(key);
  EXPECT_EQ(GetRemembering(now).item, item);
  std::string wrong;
  uint64_t new_seen = 0;
  verify::store_observer = [&](Store, const uint64_t*) {
    if (OneSidedReader(&world).Get(key).item.version <= item.version) return;
    ++new_seen;
    for (const verify::Reference& known : {old, now}) {
      const Answer answer = GetRemembering(known);
      if (answer.hit() && answer.item.version == item.version) wrong = "stale by memory";
    }
  };
  const uint64_t version = world.Put(key, InlineValue(5)).version;
  verify::store_observer = nullptr;
  EXPECT_EQ(wrong, "");
  EXPECT_GT(new_seen, 0u);
  ASSERT_TRUE(IsWholeAt(old.offset) && IsWholeAt(now.offset)) << "nothing to be misled by";
  for (const verify::Reference& known : {old, now}) {
    EXPECT_EQ(GetRemembering(known).item, (Stored{InlineValue(5), version}));
  }
}

TEST_F(StoreMove, HeldRecordIsNotMoved) {
  world.store().Hold(old.offset, old.record_bytes);
  EXPECT_FALSE(MoveIt());
  EXPECT_GT(world.store().records().moved_records(), 100u);
  world.store().Release(old.offset);
  EXPECT_TRUE(MoveIt());
}

}  // namespace
}  // namespace plov::server
