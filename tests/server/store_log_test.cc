// A store whose writes are logged: what readers see of a write, and when; and what a log gives back.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include "log/folder.h"
#include "log/walk.h"
#include "tests/server/store_world.h"
#include "tests/server/test_log.h"

namespace plov::server {
namespace {

using log::CommitMode;

StoreOptions LoggedOptions() {
  StoreOptions options = StoreWorld::SmallOptions();
  options.grows = true;
  options.stashes = true;
  return options;
}

// A store and its log.
class LoggedWorld : public StoreWorld {
 public:
  explicit LoggedWorld(CommitMode mode) : StoreWorld(LoggedOptions()), log(mode) {}

  void Begin() { store().LogTo(&log.commit(), log.mode()); }
  void CommitAndPublish() {
    log.Commit();
    while (store().PublishDurable(1)) {
    }
  }
  std::optional<std::string> Get(std::string_view key) {
    Refresh();
    const Answer answer = OneSidedReader(this).Get(key);
    return answer.hit() ? std::optional(answer.item.value) : std::nullopt;
  }

  TestLog log;
};

// What a store that starts with this disk has.
std::map<std::string, Stored> RestoredFrom(test::SimulatedDisk* disk, uint64_t now_us) {
  LoggedWorld world(CommitMode::kStrict);
  world.now_us = now_us;
  const auto folder = log::Folder::List(disk);
  auto walk = log::Walk::Open(disk, folder->shards.at(0), {});
  EXPECT_TRUE(walk && *walk);
  while (true) {
    const auto batch = (*walk)->Next();
    EXPECT_TRUE(batch && *batch);
    if (!**batch) break;
    log::Bytes rest = (**batch)->operations;
    while (const auto operation = verify::TakeLogged(&rest)) {
      EXPECT_EQ(world.store().Restore(*operation, now_us), Code::kOk);
    }
  }
  std::map<std::string, Stored> items;
  world.VisitBuckets([&](const std::optional<verify::Bucket>& bucket, uint64_t) {
    ASSERT_TRUE(bucket);
    const bool has_item = bucket->kind() == verify::BucketKind::kInline ||
                          bucket->kind() == verify::BucketKind::kReference;
    if (!has_item) return;
    const auto item = world.ItemOf(*bucket);
    ASSERT_TRUE(item);
    items[item->key()] = {item->value(), item->version(), item->flags(), item->expiry()};
  });
  return items;
}

TEST(StoreLog, StrictShowsNothingThatIsNotDurable) {
  LoggedWorld world(CommitMode::kStrict);
  world.Begin();
  for (const std::string& value : {std::string("inline"), std::string(5000, 'r')}) {
    const std::string key = "key" + std::to_string(value.size());
    EXPECT_EQ(world.Put(key, value).status, Code::kOk);
    EXPECT_FALSE(world.Get(key));
    EXPECT_FALSE(world.store().Get(key, world.now_us));
    EXPECT_FALSE(world.store().PublishDurable(100));
    EXPECT_FALSE(world.Get(key));
    world.CommitAndPublish();
    EXPECT_EQ(world.Get(key), value);
    EXPECT_EQ(world.Delete(key).status, Code::kOk);
    EXPECT_FALSE(world.store().PublishDurable(100));
    EXPECT_EQ(world.Get(key), value);
    world.CommitAndPublish();
    EXPECT_FALSE(world.Get(key));
  }
}

TEST(StoreLog, AckedShowsAWriteAtOnce) {
  LoggedWorld world(CommitMode::kAcked);
  world.Begin();
  EXPECT_EQ(world.Put("key", "value").status, Code::kOk);
  EXPECT_EQ(world.Get("key"), "value");
  EXPECT_TRUE(world.log.commit().pending());
}

// What GETs see stays behind, write by write.
TEST(StoreLog, AWriteIsDecidedByTheOneBeforeItThoughNobodySeesThatYet) {
  LoggedWorld world(CommitMode::kStrict);
  world.Begin();
  const WriteReply first = world.Put("key", "1");
  EXPECT_EQ(world.Add("key", "2"), (WriteReply{Code::kExists, first.version}));
  const WriteReply second = world.Put("key", std::string(500, '2'));
  EXPECT_EQ(world.Delete("key"), (WriteReply{Code::kOk, second.version}));
  EXPECT_EQ(world.Delete("key").status, Code::kNotFound);
  EXPECT_EQ(world.Add("key", "3", {.ttl_seconds = 10}).status, Code::kOk);
  const auto may = [&](verify::Operation operation) {
    return world.store().MayWrite(RequestOf(operation, "key", "4"));
  };
  EXPECT_TRUE(may(verify::Operation::kPut)) << "whether that has expired is nothing to it";
  world.Put("key", "4");
  EXPECT_TRUE(may(verify::Operation::kDelete));
  const WriteReply last = world.Put("key", "5", {.ttl_seconds = 10});
  EXPECT_FALSE(may(verify::Operation::kDelete)) << "it may have expired when it is there";
  EXPECT_FALSE(may(verify::Operation::kPut)) << "else the DELETE would wait for ever";
  world.log.Commit();
  EXPECT_FALSE(world.Get("key"));
  const auto publish = [&] {
    EXPECT_TRUE(world.store().PublishDurable(1));
    return world.Get("key");
  };
  EXPECT_EQ(publish(), "1");
  EXPECT_EQ(world.Add("key", "6"), (WriteReply{Code::kExists, last.version})) << "still the last";
  EXPECT_EQ(publish(), std::string(500, '2'));
  EXPECT_FALSE(publish()) << "deleted";
  EXPECT_EQ(publish(), "3");
  EXPECT_EQ(publish(), "4");
  EXPECT_EQ(publish(), "5");
  EXPECT_TRUE(may(verify::Operation::kDelete));
  EXPECT_FALSE(world.store().PublishDurable(1));
  EXPECT_EQ(world.store().table().stats().items, 1u);
}

TEST(StoreLog, ADiskThatFailsPublishesNothing) {
  LoggedWorld world(CommitMode::kStrict);
  world.Begin();
  world.Put("key", "value");
  world.log.disk().SetFull(true);
  world.log.disk().FailNext(test::SimulatedDisk::Call::kWrite, Code::kSystem);
  world.log.commit().PassOn();
  world.log.commit().Step(false);
  EXPECT_NE(world.log.commit().failure(), Code::kOk);
  EXPECT_FALSE(world.store().PublishDurable(100));
  EXPECT_FALSE(world.Get("key"));
  world.log.disk().ClearFaults();
  for (int i = 0; i < 10 && world.log.commit().pending(); ++i) world.log.commit().Step(true);
  EXPECT_EQ(world.log.commit().failure(), Code::kOk);
  world.store().PublishDurable(100);
  EXPECT_EQ(world.Get("key"), "value");
}

// Far more than there is room for, a thousand at a time: what was taken is there, whatever finds no bucket.
TEST(StoreLog, EveryWriteThatWasTakenCanBePublished) {
  LoggedWorld world(CommitMode::kStrict);
  world.Begin();
  std::map<std::string, std::string> taken;
  bool is_full = false;
  for (int i = 0; i < 300'000 && !is_full; ++i) {
    const std::string key = "key" + std::to_string(i);
    const std::string value = i % 3 == 0 ? std::string(100, 'v') : std::to_string(i);
    const WriteReply reply = world.Put(key, value);
    is_full = reply.status == Code::kNoSpace;
    if (!is_full) {
      ASSERT_EQ(reply.status, Code::kOk);
      taken[key] = value;
    }
    if (i % 1000 == 999 || is_full) {
      world.CommitAndPublish();
      world.store().growth().OnConfirmed(UINT64_MAX);
    }
  }
  EXPECT_TRUE(is_full);
  EXPECT_GT(taken.size(), 20'000u);
  EXPECT_EQ(world.store().stats().corrupt, 0u);
  for (const auto& [key, value] : taken) ASSERT_EQ(world.Get(key), value) << key;
}

// What expired makes room for it, as for a write that is not deferred.
TEST(StoreLog, AFullTableOfExpiredItemsTakesAWrite) {
  LoggedWorld world(CommitMode::kStrict);
  world.Begin();
  bool is_full = false;
  for (int i = 0; i < 300'000 && !is_full; ++i) {
    is_full = world.Put("key" + std::to_string(i), "v", {.ttl_seconds = 10}).status != Code::kOk;
    if (i % 1000 == 999 || is_full) {
      world.CommitAndPublish();
      world.store().growth().OnConfirmed(UINT64_MAX);
    }
  }
  ASSERT_TRUE(is_full);
  world.now_us += 100'000'000;
  EXPECT_EQ(world.Put("another", "v").status, Code::kOk);
  world.CommitAndPublish();
  EXPECT_EQ(world.Get("another"), "v");
}

// Random writes with conditions, times to live and deletes, in each mode: what was durable comes back as the
// table had it, version and all.
void ExpectRestored(CommitMode mode) {
  LoggedWorld world(mode);
  world.Begin();
  std::mt19937_64 random(static_cast<uint64_t>(mode) + 1);
  std::map<std::string, Stored> model;
  for (int i = 0; i < 5000; ++i) {
    const std::string key = "key" + std::to_string(random() % 300);
    // Its deletes and adds ask whether it is there.
    const bool may_go_on = world.store().MayWrite(RequestOf(verify::Operation::kDelete, key, {}));
    if (!may_go_on || random() % 20 == 0) world.CommitAndPublish();
    const std::string value(random() % (random() % 50 == 0 ? 100'000 : 200),
                            static_cast<char>('a' + random() % 26));
    const Extras extras{.flags = static_cast<uint32_t>(random()),
                        .ttl_seconds = random() % 4 == 0 ? 1000u : 0u};
    if (random() % 4 == 0) {
      if (world.Delete(key).status == Code::kOk) model.erase(key);
      continue;
    }
    const WriteReply reply =
        random() % 2 == 0 ? world.Put(key, value, extras) : world.Add(key, value, extras);
    if (reply.status != Code::kOk) continue;
    model[key] = {value, reply.version, extras.flags,
                  ExpiryAfter(world.now_us, extras.ttl_seconds)};
  }
  world.CommitAndPublish();
  EXPECT_EQ(RestoredFrom(&world.log.disk(), world.now_us), model);
  std::erase_if(model, [](const auto& item) { return item.second.expiry != 0; });
  EXPECT_EQ(RestoredFrom(&world.log.disk(), world.now_us + 2'000'000'000), model);
}

TEST(StoreLog, StrictIsRestored) { ExpectRestored(CommitMode::kStrict); }
TEST(StoreLog, AckedIsRestored) { ExpectRestored(CommitMode::kAcked); }
TEST(StoreLog, AsyncIsRestored) { ExpectRestored(CommitMode::kAsync); }

TEST(StoreLog, VersionsGoOnBeyondTheLog) {
  LoggedWorld world(CommitMode::kStrict);
  const uint64_t beyond = world.store().last_version() + (uint64_t{1} << 40);
  world.store().GoOnBeyond(beyond);
  world.Begin();
  const WriteReply reply = world.Put("key", "value");
  EXPECT_GT(reply.version, beyond);
  EXPECT_GE(world.ReadSuperblock().version_limit, reply.version);
}

}  // namespace
}  // namespace plov::server
