// A server killed at every one of its stores, and the one that takes its memory over: this
// executable compiles the store once more under an observer of shared words.
//
// A child opens a store on a warm file and plays a script; at its N-th store - into table, records,
// journal or superblock - it kills itself. What it was about to do, and what was acknowledged, it
// has said in shared memory. The parent takes the file over and checks all that was promised.
//
// PLOV_KILL_ROUNDS sets how many times the short form's kills are done, each time elsewhere (1).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/server/warm_check.h"
#include "tests/server/warm_script.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/sanitizers.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

constexpr size_t kStepsMax = 4096;
// Sanitizers look at what the code does, which soon repeats; a process under them takes long to
// fork.
constexpr uint64_t kKillsPart = test::kSanitized ? 8 : 1;

struct Shared {
  uint64_t stores;  // so far, in this life
  uint64_t opened_at;
  uint64_t started;  // steps
  uint64_t acknowledged;
  std::array<WriteReply, kStepsMax> replies;
  uint64_t displacements, expired, relocations, growths;  // of a life that was not killed
  uint32_t bucket_bytes;
};

uint64_t Rounds() {
  const char* rounds = std::getenv("PLOV_KILL_ROUNDS");
  return rounds == nullptr ? 1 : std::strtoull(rounds, nullptr, 10);
}

struct World {
  const char* name;
  StoreOptions store;
  ScriptOptions script;
  uint64_t kills;  // about, in the short form
  bool grows, cleans;
};
void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

// Where the story stands: what is stored, at what time, and the greatest version ever heard of.
struct Story {
  Model model;
  uint64_t at = 0;
  uint64_t version = 0;
};

class WarmKill : public ::testing::TestWithParam<World> {
 protected:
  void SetUp() override {
    path_ = folder_.path() + "/memory";
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = static_cast<Shared*>(memory);
  }
  void TearDown() override { ::munmap(shared_, sizeof(Shared)); }

  StoreOptions Options() const {
    StoreOptions options = GetParam().store;
    options.hash_seed = 0x5eed;
    options.clock_offset_us = kClockOffsetUs;
    options.warm_path = path_;
    return options;
  }
  ScriptOptions Script(uint64_t seed) const {
    ScriptOptions script = GetParam().script;
    script.seed = seed;
    return script;
  }

  // Opens the file and plays the script in a child, which dies at store `kill_at` (0: never).
  // Returns whether it was killed.
  bool Play(const Story& story, const std::vector<Step>& steps, uint64_t kill_at) {
    *shared_ = {};
    test::Child child = test::Child::Fork([&] {
      verify::store_observer = [this, kill_at](verify::Store, const uint64_t*) {
        if (++shared_->stores == kill_at) ::kill(::getpid(), SIGKILL);
      };
      auto store = Store::Create(Options());
      if (!store) return 1;
      shared_->opened_at = shared_->stores;
      Model model = story.model;
      for (size_t i = 0; i < steps.size(); ++i) {
        shared_->started = i + 1;
        shared_->replies[i] = DoStep(store->get(), steps[i], story.at + i, model);
        shared_->acknowledged = i + 1;
        Apply(steps[i], story.at + i, shared_->replies[i], &model);
      }
      verify::store_observer = nullptr;
      shared_->displacements = (*store)->table().stats().moves;
      shared_->expired = (*store)->stats().expired;
      shared_->relocations = (*store)->records().moved_records();
      shared_->growths = (*store)->growth().growths();
      shared_->bucket_bytes = (*store)->table().current().geometry().bucket_bytes;
      return 0;
    });
    const int status = child.Wait();
    EXPECT_TRUE(status == 0 || status == -SIGKILL) << status;
    return status != 0;
  }

  // What the story came to by what was acknowledged.
  void Tell(const std::vector<Step>& steps, Story* story) {
    for (size_t i = 0; i < shared_->acknowledged; ++i) {
      Apply(steps[i], story->at + i, shared_->replies[i], &story->model);
      story->version = std::max(story->version, shared_->replies[i].version);
    }
  }

  // The step under way was applied as a whole, or not at all: takes what is there for the truth.
  std::string CheckStepUnderWay(StoreWorld* world, const Step& step, uint64_t at, Story* story) {
    const Answer answer = OneSidedReader(world).Get(step.key);
    const auto before = story->model.find(step.key);
    if (answer.hit() && before != story->model.end() && answer.item == before->second) return {};
    if (answer.absent()) {
      const bool expired = before != story->model.end() && before->second.expiry != 0 &&
                           before->second.expiry <= world->store().UnixSeconds(world->now_us);
      if (before == story->model.end() || expired || step.kind == Step::Kind::kDelete) {
        story->model.erase(step.key);
        return {};
      }
      return step.key + " is lost";
    }
    Stored expected = ItemOf(step, at);
    expected.version = answer.item.version;
    if (step.kind == Step::Kind::kDelete || step.kind == Step::Kind::kPutIfWrong ||
        step.kind == Step::Kind::kAbandon || !answer.hit() || answer.item != expected) {
      return step.key + " is neither what it was nor what was written";
    }
    if (answer.item.version <= story->version) return "an old version";
    story->model[step.key] = answer.item;
    story->version = answer.item.version;
    return {};
  }

  // Takes the file over and looks whether it is what the story says.
  std::string TakeOver(const std::vector<Step>& steps, Story* story,
                       std::unique_ptr<StoreWorld>* out) {
    auto store = Store::Create(Options());
    if (!store) return store.error().message;
    auto world = std::make_unique<StoreWorld>(std::move(*store));
    const uint64_t started = shared_->started;
    world->now_us = TimeOf(story->at + started);
    Tell(steps, story);
    if (started > shared_->acknowledged) {
      auto wrong =
          CheckStepUnderWay(world.get(), steps[started - 1], story->at + started - 1, story);
      if (!wrong.empty()) return wrong;
    }
    story->at += started;
    if (world->store().recovery().damaged != 0) return "damage is reported";
    if (auto wrong = Wrong(world.get(), story->model); !wrong.empty()) return wrong;
    *out = std::move(world);
    return {};
  }

  // Writes and deletes, and grows; the versions go on.
  std::string GoOn(StoreWorld* world, Story* story) {
    for (int i = 0; i < 3; ++i) {
      const std::string key = "after" + std::to_string(i);
      const WriteReply reply =
          world->Put(key, RecordValue(0, i == 2 ? 20'000u : 10u + 100u * static_cast<size_t>(i)));
      if (reply.status == Code::kNoSpace) continue;
      if (reply.version <= story->version) return "versions do not increase";
      if (world->Delete(key).status != Code::kOk) return "a new item cannot be deleted";
    }
    while (world->store().OnIdle()) {
    }
    world->Refresh();
    return Wrong(world, story->model);
  }

  // Fills the memory with records of one size, and again what was made free between them: whatever
  // the kill has left in a block is walked over and written into.
  std::string FillHoles(StoreWorld* world, const Story& story) {
    for (const size_t value_bytes : {40u, 150u, 700u, 3000u}) {
      const auto key = [](size_t i) { return "hole" + std::to_string(i); };
      size_t count = 0;
      while (world->Put(key(count), RecordValue(0, value_bytes)).status == Code::kOk) ++count;
      for (size_t i = 0; i < count; i += 3) world->Delete(key(i));
      for (size_t i = 0; i < count; i += 3) world->Put(key(i), RecordValue(1, value_bytes / 2));
      for (size_t i = 0; i < count; ++i) world->Delete(key(i));
    }
    world->Refresh();
    return Wrong(world, story.model);
  }

  // A fresh file, a kill at one store, everything checked.
  std::string KillAt(const std::vector<Step>& steps, uint64_t kill_at) {
    std::filesystem::remove(path_);
    Story story;
    if (!Play(story, steps, kill_at)) return "nobody was killed";
    std::unique_ptr<StoreWorld> world;
    if (auto wrong = TakeOver(steps, &story, &world); !wrong.empty()) return wrong;
    if (kill_at % 8 == 0) {
      world.reset();
      const auto more = ScriptOf(Script(kill_at));
      Play(story, more, 1 + kill_at * 7919 % shared_->stores);
      if (auto wrong = TakeOver(more, &story, &world); !wrong.empty()) {
        return "second life: " + wrong;
      }
    }
    if (auto wrong = GoOn(world.get(), &story); !wrong.empty()) return "going on: " + wrong;
    if (kill_at % 4 == 0) {
      if (auto wrong = FillHoles(world.get(), story); !wrong.empty()) return "in holes: " + wrong;
    }
    return WrongWhenEmptied(world.get());
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  std::string path_;
  Shared* shared_ = nullptr;
};

TEST_P(WarmKill, NothingAcknowledgedIsLostWhereverItStrikes) {
  uint64_t kills = 0;
  for (uint64_t round = 0; round < Rounds(); ++round) {
    const auto steps = ScriptOf(Script(round + 1));
    std::filesystem::remove(path_);
    ASSERT_FALSE(Play({}, steps, 0));
    EXPECT_GT(shared_->displacements, 0);
    EXPECT_GT(shared_->expired, 0);
    EXPECT_EQ(shared_->growths > 0, GetParam().grows);
    EXPECT_EQ(shared_->relocations > 0, GetParam().cleans);
    EXPECT_EQ(shared_->bucket_bytes == verify::kBucketBytesMax, GetParam().store.bucket_bytes == 0);
    const uint64_t stores = shared_->stores;
    const uint64_t stride = std::max<uint64_t>(1, stores * kKillsPart / GetParam().kills);
    for (uint64_t at = 1 + round % stride; at <= stores; at += stride, ++kills) {
      const std::string wrong = KillAt(steps, at);
      ASSERT_EQ(wrong, "") << "killed at store " << at << " of " << stores << ", step "
                           << shared_->started << ", script " << round + 1;
    }
  }
  std::printf("%lu kills, %lu stores in the last script\n", kills, shared_->stores);
}

// A recovery can be killed as well, and begun again.
TEST_P(WarmKill, RecoveryThatIsKilledBeginsAgain) {
  const auto steps = ScriptOf(Script(1));
  ASSERT_FALSE(Play({}, steps, 0));
  const uint64_t stores = shared_->stores;
  const std::string image = path_ + ".image";
  constexpr uint64_t kImages = 12, kKillsEach = test::kSanitized ? 4 : 20;
  uint64_t kills = 0;
  for (uint64_t i = 1; i < kImages * Rounds(); ++i) {
    std::filesystem::remove(path_);
    const uint64_t first_at = i * stores / (kImages * Rounds());
    ASSERT_TRUE(Play({}, steps, first_at));
    const Shared at_kill = *shared_;
    std::filesystem::copy_file(path_, image, std::filesystem::copy_options::overwrite_existing);
    ASSERT_FALSE(Play({}, {}, 0));
    const uint64_t recovery = shared_->opened_at;
    const uint64_t stride = std::max<uint64_t>(1, recovery / kKillsEach);
    for (uint64_t at = 1 + i % stride; at <= recovery; at += stride, ++kills) {
      std::filesystem::copy_file(image, path_, std::filesystem::copy_options::overwrite_existing);
      ASSERT_TRUE(Play({}, {}, at));
      *shared_ = at_kill;
      Story story;
      std::unique_ptr<StoreWorld> world;
      ASSERT_EQ(TakeOver(steps, &story, &world), "")
          << "killed at store " << first_at << ", then at " << at << " of recovery's " << recovery;
      ASSERT_EQ(GoOn(world.get(), &story), "");
      ASSERT_EQ(WrongWhenEmptied(world.get()), "");
    }
  }
  std::printf("%lu kills in recovery\n", kills);
}

// One superblock is torn, and the restart is killed while it writes the other.
TEST_P(WarmKill, ATornSuperblockIsMadeWholeBeforeItsMirrorIsWritten) {
  const auto steps = ScriptOf(Script(1));
  ASSERT_FALSE(Play({}, steps, 0));
  const Shared at_end = *shared_;
  const std::string image = path_ + ".image";
  std::filesystem::copy_file(path_, image);
  std::fstream(image, std::ios::in | std::ios::out | std::ios::binary).seekp(40).put('x');
  for (uint64_t at = 1; at < 400; at += 7) {
    std::filesystem::copy_file(image, path_, std::filesystem::copy_options::overwrite_existing);
    if (!Play({}, {}, at)) break;
    *shared_ = at_end;
    Story story;
    std::unique_ptr<StoreWorld> world;
    ASSERT_EQ(TakeOver(steps, &story, &world), "") << "killed at store " << at;
  }
}

// All kinds of writes, in a table so small that most items are displaced and it is often full.
const World kEveryKind{"EveryKindOfWrite",
                       {.memory_bytes = kMiB, .bucket_count = 16, .grows = false, .stashes = false},
                       {.steps = 80, .keys = 16},
                       1750,
                       false,
                       false};
// A table with a bucket for every second key.
const World kStashing{"Stashing",
                      {.memory_bytes = kMiB, .bucket_count = 16, .grows = false},
                      {.steps = 80, .keys = 36},
                      1000,
                      false,
                      false};
const World kGrowing{"Growing",
                     {.memory_bytes = 2 * kMiB, .bucket_count = 64},
                     {.steps = 200, .keys = 250, .delete_percent = 5},
                     600,
                     true,
                     false};
// Buckets that become wider, and take in what was in records.
const World kWidening{"Widening",
                      {.memory_bytes = 2 * kMiB, .bucket_bytes = 0, .bucket_count = 64},
                      {.steps = 200, .keys = 250, .value_bytes = {72, 78, 80}, .delete_percent = 5},
                      600,
                      true,
                      false};
// Records, runs too, in memory that is full: expiry and cleaning make room.
const World kCleaning{"Cleaning",
                      {.memory_bytes = 2 * kMiB, .bucket_count = 512},
                      {.steps = 900,
                       .keys = 400,
                       .value_bytes = {20, 1000, 3000, 5000, 7000, 12'000},
                       .delete_percent = 30},
                      700,
                      false,
                      true};

// Records of all lengths in memory that is full: each goes into the place of some that were deleted.
const World kHoles{"Holes",
                   {.memory_bytes = 96 << 10, .bucket_count = 256, .block_bytes = 8192},
                   {.steps = 600,
                    .keys = 250,
                    .value_bytes = {60, 75, 90, 130, 170, 210, 290, 330},
                    .delete_percent = 40},
                   1000,
                   false,
                   true};

INSTANTIATE_TEST_SUITE_P(Stores, WarmKill,
                         ::testing::Values(kEveryKind, kStashing, kGrowing, kWidening, kCleaning,
                                           kHoles),
                         [](const auto& world) { return std::string(world.param.name); });

}  // namespace
}  // namespace plov::server
