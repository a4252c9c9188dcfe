// Tables: a guest makes room for who is at home, and what is fetched ahead changes nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/table_scan.h"

namespace plov::cuckoo {
namespace {

using Result = HeapShard::Result;

class Guest : public testing::TestWithParam<Form> {
 protected:
  std::string Next(uint64_t home) {
    return NextKey(&next_, [&](const auto& key) { return shard_.WaysOf(key)[0] == home; });
  }
  void Put(const std::string& key) {
    ASSERT_EQ(shard_.Put(key, "of " + key, GetParam()), Result::kDone);
    keys_.push_back(key);
  }
  // Which of its ways a key is in.
  size_t WayOf(const std::string& key) {
    const auto ways = shard_.WaysOf(key);
    Table::Slot slot;
    EXPECT_EQ(shard_.table().Find(shard_.HashOf(key), key, &slot), Table::FindResult::kFound);
    return static_cast<size_t>(std::ranges::find(ways, slot.index) - ways.begin());
  }
  void ExpectAllReadable() {
    for (const std::string& key : keys_) {
      EXPECT_EQ(HeapReader(&shard_).Get(key).value, "of " + key);
    }
    EXPECT_EQ(shard_.table().stats().items, keys_.size());
  }

  HeapShard shard_{{.bucket_count = 64}};
  uint64_t next_ = 0;
  std::vector<std::string> keys_;
};

TEST_P(Guest, MakesRoomForWhoIsAtHome) {
  const std::string native = Next(3);
  const std::string guest = Next(3);
  Put(native);
  Put(guest);
  ASSERT_NE(WayOf(guest), 0u);
  const uint64_t taken = shard_.WaysOf(guest)[WayOf(guest)];
  const std::string owner = Next(taken);
  Put(owner);
  EXPECT_EQ(WayOf(owner), 0u);
  EXPECT_NE(shard_.WaysOf(guest)[WayOf(guest)], taken);
  ExpectAllReadable();
}

// Its own home is one of the places that it can go to.
TEST_P(Guest, GoesHomeWhenThatIsEmpty) {
  const std::string native = Next(3);
  const std::string guest = Next(3);
  Put(native);
  Put(guest);
  const uint64_t taken = shard_.WaysOf(guest)[WayOf(guest)];
  ASSERT_EQ(shard_.Erase(native), Table::FindResult::kFound);
  keys_.erase(keys_.begin());
  const uint64_t displaced = shard_.table().stats().displaced;
  Put(Next(taken));
  EXPECT_EQ(WayOf(guest), 0u);
  EXPECT_EQ(shard_.table().stats().displaced, displaced - 1);
  ExpectAllReadable();
}

TEST_P(Guest, StaysWhereItHasNoOtherPlace) {
  const std::string native = Next(3);
  const std::string guest = Next(3);
  Put(native);
  Put(guest);
  const auto ways = shard_.WaysOf(guest);
  const size_t way = WayOf(guest);
  Put(Next(ways[3 - way]));  // who is at home in its last place
  const uint64_t moves = shard_.table().stats().moves;
  const std::string owner = Next(ways[way]);
  Put(owner);
  EXPECT_EQ(WayOf(guest), way);
  EXPECT_NE(WayOf(owner), 0u);
  EXPECT_EQ(shard_.table().stats().moves, moves);
  ExpectAllReadable();
}

INSTANTIATE_TEST_SUITE_P(Forms, Guest, testing::Values(Form::kInline, Form::kReference),
                         [](const auto& form) {
                           return form.param == Form::kInline ? "Inline" : "Reference";
                         });

// More keys than are fetched together, absent ones, displaced ones, and buckets of garbage, which
// lead anywhere.
TEST(PrefetchItems, ChangesNothingAndBelievesNothing) {
  HeapShard shard({.bucket_count = 256});
  std::vector<uint64_t> hashes;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (i % 3 != 0) shard.Put(key, "value", i % 2 == 0 ? Form::kInline : Form::kReference);
    hashes.push_back(shard.HashOf(key));
  }
  std::mt19937_64 random(1);
  for (uint64_t index = 0; index < 256; index += 5) {
    uint64_t* words = verify::WordsAt(shard.region(), shard.geometry().BucketOffset(index));
    for (size_t at = 2; at < 8; ++at) words[at] = random();
    words[1] = (words[1] & ~(uint64_t{3} << 32)) | uint64_t{1} << 32;  // a reference, it says
    words[2] = hashes[index % hashes.size()];
  }
  const std::vector<std::byte> before(shard.bytes().begin(), shard.bytes().end());
  const TableStats stats = shard.table().stats();
  shard.table().PrefetchItems(hashes);
  shard.table().PrefetchItems(std::span(hashes).first(1));
  shard.table().PrefetchItems({});
  EXPECT_TRUE(std::ranges::equal(before, shard.bytes()));
  EXPECT_EQ(shard.table().stats().corrupt, stats.corrupt);
}

}  // namespace
}  // namespace plov::cuckoo
