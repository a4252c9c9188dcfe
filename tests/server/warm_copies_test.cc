// A warm file with copies that no kill leaves behind, made by hand: which of two versions stays,
// and that a bucket gets no record but its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/server/warm_check.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using verify::Bucket;

class WarmCopies : public ::testing::Test {
 protected:
  StoreOptions Options() const { return WarmOptions(folder_.path() + "/memory"); }

  // Puts a bucket into the file of a server that is gone.
  void Write(const cuckoo::Geometry& geometry, uint64_t index, Bucket bucket) const {
    bucket.set_version(bucket.version() + 1);
    bucket.Seal(geometry.bucket_bytes, geometry.SeedOf(index));
    const int fd = ::open(Options().warm_path.c_str(), O_RDWR | O_CLOEXEC);
    const auto at = static_cast<off_t>(geometry.offset + index * geometry.bucket_bytes);
    EXPECT_EQ(::pwrite(fd, bucket.words(), geometry.bucket_bytes, at),
              static_cast<ssize_t>(geometry.bucket_bytes));
    ::close(fd);
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
};

TEST_F(WarmCopies, TheLaterOfTwoVersionsStaysWhereverItIs) {
  for (const bool displaced_is_later : {false, true}) {
    std::optional<StoreWorld> world(Options());
    const uint64_t version = world->Put("key", "first").version;
    const auto geometry = world->geometry();
    const auto ways = world->WaysOf("key");
    ASSERT_EQ(world->IndexOf("key"), ways[0]);
    Bucket copy = *world->BucketAt(ways[1]);
    const uint64_t other = displaced_is_later ? version + 1 : version - 1;
    copy.SetInline({"key", "other", other, 0, 0}, geometry.bucket_bytes);
    world.reset();
    Write(geometry, ways[1], copy);

    world.emplace(Options());
    EXPECT_EQ(world->store().recovery().duplicates, 1);
    const Answer answer = OneSidedReader(&*world).Get("key");
    ASSERT_TRUE(answer.hit());
    EXPECT_EQ(answer.item.value, displaced_is_later ? "other" : "first");
    EXPECT_EQ(world->IndexOf("key"), displaced_is_later ? ways[1] : ways[0]);
    ASSERT_EQ(world->Delete("key").status, Code::kOk);
    EXPECT_TRUE(OneSidedReader(&*world).Get("key").absent());
  }
}

TEST_F(WarmCopies, ABucketThatNamesTheRecordOfAnotherIsDamage) {
  std::optional<StoreWorld> world(Options());
  ASSERT_EQ(world->Put("mine", RecordValue(1)).status, Code::kOk);
  ASSERT_EQ(world->Put("other", RecordValue(2)).status, Code::kOk);
  const auto geometry = world->geometry();
  const uint64_t index = *world->IndexOf("mine");
  const verify::Reference theirs = world->ReferenceOf("other");
  for (const bool same_version : {false, true}) {
    Bucket bucket = *world->BucketAt(index);
    verify::Reference reference = bucket.reference();
    reference.offset = theirs.offset;
    reference.record_bytes = theirs.record_bytes;
    if (same_version) reference.version = theirs.version;
    bucket.SetReference(reference, geometry.bucket_bytes);
    world.reset();
    Write(geometry, index, bucket);

    world.emplace(Options());
    EXPECT_EQ(world->store().recovery().damaged, 1);
    EXPECT_TRUE(OneSidedReader(&*world).Get("mine").absent());
    const Answer answer = OneSidedReader(&*world).Get("other");
    ASSERT_TRUE(answer.hit());
    EXPECT_EQ(answer.item.value, RecordValue(2));
    ASSERT_EQ(world->Put("mine", RecordValue(1)).status, Code::kOk);
    ASSERT_EQ(world->IndexOf("mine"), index);
    // The journal has the last rewrite, and would redo it over what is written by hand.
    ASSERT_EQ(world->Put("third", "x").status, Code::kOk);
  }
}

// An extent of a stash is taken whole and committed as it is sealed; a restart commits no more.
TEST(WarmStash, ARestartTakesNoMoreMemory) {
  const test::TemporaryFolder folder{test::TemporaryFolder::Where::kTmpfs};
  StoreOptions options = WarmOptions(folder.path() + "/memory");
  options.memory_bytes = size_t{8} << 20;
  options.stashes = true;
  constexpr uint64_t kItems = 5000;
  size_t committed_bytes = 0;
  {
    StoreWorld world(options);
    for (uint64_t i = 0; i < kItems; ++i) {
      ASSERT_EQ(world.Put("key" + std::to_string(i), "v").status, Code::kOk);
    }
    committed_bytes = world.store().region().committed_bytes();
  }
  StoreWorld world(options);
  EXPECT_EQ(world.store().table().stats().items, kItems);
  EXPECT_EQ(world.store().region().committed_bytes(), committed_bytes);
}

}  // namespace
}  // namespace plov::server
