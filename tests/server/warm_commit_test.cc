// COMMITs over several shards whose memory is kept, killed at every store, and the restart too: all of one is there, or
// nothing. This executable compiles the store once more under an observer of shared words.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/server/warm_check.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/sanitizers.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

constexpr uint32_t kShards = 3;
constexpr size_t kKeys = 12;
constexpr uint64_t kCommits = 12;
constexpr uint64_t kStride = test::kSanitized ? 83 : 13;

struct Life {
  uint64_t stores;     // so far, in this life
  uint64_t opened_at;  // of these
  uint64_t acknowledged;
};

std::string KeyOf(size_t i) { return "key" + std::to_string(i); }
// What the commit of this number stores; some of it is deleted by every second one.
std::optional<std::string> ValueOf(uint64_t number, size_t key) {
  if (number == 0 || (number % 2 == 0 && key % 4 == 1)) return std::nullopt;
  return key % 2 == 0 ? InlineValue(number) : RecordValue(number, 100 + 10 * key);
}

class WarmCommit : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory =
        ::mmap(nullptr, sizeof(Life), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = static_cast<Life*>(memory);
  }
  void TearDown() override { ::munmap(shared_, sizeof(Life)); }

  using Worlds = std::vector<std::unique_ptr<StoreWorld>>;

  // As a server does: one after the other.
  Worlds Open() const {
    Worlds worlds;
    StoreOptions options = WarmOptions("");
    options.grows = options.stashes = true;
    options.bucket_count = 16;
    options.shard_count = kShards;
    for (uint32_t i = 0; i < kShards; ++i) {
      options.shard = i;
      options.warm_path = PathOf(i);
      auto store = Store::Create(options);
      if (!store) return {};
      options.decided.push_back((*store)->decided());
      worlds.push_back(std::make_unique<StoreWorld>(std::move(*store)));
    }
    return worlds;
  }
  std::string PathOf(uint32_t shard) const {
    return folder_.path() + "/memory" + std::to_string(shard);
  }

  // Opens the memory and commits the numbers first..last in a child, which dies at this store (0: never). Whether it did.
  bool Play(uint64_t first, uint64_t last, uint64_t kill_at) {
    *shared_ = {};
    test::Child child = test::Child::Fork([&] {
      verify::store_observer = [this, kill_at](verify::Store, const uint64_t*) {
        if (++shared_->stores == kill_at) ::kill(::getpid(), SIGKILL);
      };
      const Worlds worlds = Open();
      if (worlds.empty()) return 1;
      shared_->opened_at = shared_->stores;
      std::array<TurnLock, kShards> turns;
      std::vector<Siblings::Sibling> all;
      for (uint32_t i = 0; i < kShards; ++i) all.push_back({&worlds[i]->store(), &turns[i], [] {}});
      const Siblings siblings(std::move(all));
      for (uint64_t number = first; number <= last; ++number) {
        if (!Commit(worlds, siblings, number)) return 1;
        shared_->acknowledged = number;
      }
      verify::store_observer = nullptr;
      return 0;
    });
    const int status = child.Wait();
    EXPECT_TRUE(status == 0 || status == -SIGKILL) << status;
    return status != 0;
  }

  static bool Commit(const Worlds& worlds, const Siblings& siblings, uint64_t number) {
    std::vector<std::string> keys, values(kKeys);
    for (size_t i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i));
    verify::Transaction all;
    for (size_t i = 0; i < kKeys; ++i) {
      const auto value = ValueOf(number, i);
      values[i] = value.value_or("");
      all.writes.push_back(value ? RequestOf(verify::Operation::kPut, keys[i], values[i])
                                 : RequestOf(verify::Operation::kDelete, keys[i]));
    }
    const uint32_t own = siblings.Of(keys[number % kKeys]);
    const WriteReply reply =
        DoCommit(&worlds[own]->store(), all, kStartUs, {.sequence = number}, &siblings);
    for (const auto& world : worlds) world->store().growth().OnConfirmed(UINT64_MAX);
    return reply.status == Code::kOk;
  }

  // What a restart finds is all of this commit, or else of the next; of which, or why not.
  std::optional<uint64_t> Found(uint64_t acknowledged) const {
    const Worlds worlds = Open();
    if (worlds.empty()) return std::nullopt;
    for (const uint64_t number : {acknowledged, acknowledged + 1}) {
      if (Holds(worlds, number)) return number;
    }
    return std::nullopt;
  }
  static bool Holds(const Worlds& worlds, uint64_t number) {
    for (size_t i = 0; i < kKeys; ++i) {
      const std::string key = KeyOf(i);
      const auto of = std::ranges::find_if(
          worlds, [&key](const auto& world) { return world->store().Owns(key); });
      (*of)->Refresh();
      const Answer answer = OneSidedReader(of->get()).Get(key);
      const auto value = ValueOf(number, i);
      if (value ? !answer.hit() || answer.item.value != *value : !answer.absent()) return false;
    }
    return std::ranges::all_of(worlds, [](const auto& world) {
      return world->store().recovery().damaged == 0 && WrongDirectory(world.get()).empty();
    });
  }

  void Remove() const {
    for (uint32_t i = 0; i < kShards; ++i) std::filesystem::remove(PathOf(i));
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  Life* shared_ = nullptr;
};

TEST_F(WarmCommit, IsThereWholeOrNotAtAllWhereverAKillStrikes) {
  ASSERT_FALSE(Play(1, kCommits, 0));
  const uint64_t stores = shared_->stores;
  uint64_t kills = 0, happened = 0, killed_again = 0;
  for (uint64_t at = 1; at <= stores; at += kStride, ++kills) {
    Remove();
    ASSERT_TRUE(Play(1, kCommits, at));
    const uint64_t acknowledged = shared_->acknowledged;
    if (kills % 2 == 1) {  // the restart too, at any of its stores
      killed_again += Play(1, 0, 1 + at * 7919 % 400) ? 1 : 0;
    }
    const auto found = Found(acknowledged);
    ASSERT_TRUE(found) << "killed at store " << at << ", " << acknowledged << " acknowledged";
    happened += *found > acknowledged ? 1 : 0;
    ASSERT_FALSE(Play(*found + 1, *found + 2, 0));
    ASSERT_EQ(Found(*found + 2), *found + 2) << "after a kill at store " << at;
  }
  EXPECT_GT(happened, 0u);
  EXPECT_GT(killed_again, 0u);
  std::printf("%lu kills, %lu commits that were not acknowledged were there, %lu restarts killed\n",
              kills, happened, killed_again);
}

}  // namespace
}  // namespace plov::server
