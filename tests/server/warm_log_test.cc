// A server with warm memory and a log, killed at any of its stores, and the one that goes on with both; and then
// one that has the log alone, as after a power cut.
//
// A child plays a script of writes and dies at its N-th store - into memory or tail, while it starts too. What
// is found must be the state after some prefix of the script that has all that was acknowledged, and the sessions
// must know of exactly that prefix.
//
// PLOV_KILL_ROUNDS sets how many scripts are played (1).
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "server/durable_log.h"
#include "server/warm_start.h"
#include "tests/server/store_world.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/sanitizers.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

using log::CommitMode;

constexpr uint64_t kClients = 3;
constexpr size_t kWritesMax = 512;
constexpr uint64_t kKills = test::kSanitized ? 20 : 150;  // of each script

struct ScriptedWrite {
  uint64_t client = 1;
  uint64_t sequence = 1;
  std::string key;
  std::optional<std::string> value;  // none: a DELETE
  uint32_t ttl_seconds = 0;
  bool has_more = false;  // of its COMMIT
};

// Each write is a second. The log's thread has its turns between the writes, by chance.
struct WarmScript {
  uint64_t seed = 1;
  std::vector<ScriptedWrite> writes;

  explicit WarmScript(uint64_t seed_of) : seed(seed_of) {
    std::mt19937_64 random(seed);
    std::map<uint64_t, uint64_t> sequences;
    const uint64_t keys = 8 + random() % 60;
    for (uint64_t i = 0; i < 60 + random() % 200; ++i) {
      ScriptedWrite write{.client = 1 + random() % kClients,
                          .key = "key" + std::to_string(random() % keys),
                          .value = {}};
      const bool goes_on = !writes.empty() && writes.back().has_more;
      if (goes_on) write.client = writes.back().client;
      write.sequence = goes_on ? writes.back().sequence : ++sequences[write.client];
      write.has_more = random() % (goes_on ? 2 : 6) == 0;
      if (random() % 4 != 0) {
        write.value = std::to_string(i) + std::string(random() % 3 == 0 ? 300 : 20, 'v');
        if (random() % 4 == 0) write.ttl_seconds = 1 + static_cast<uint32_t>(random() % 20);
      }
      writes.push_back(std::move(write));
    }
    writes.back().has_more = false;
  }
};

// What a child says of itself.
struct Told {
  uint64_t stores;  // so far, those of its start among them
  uint64_t opened_at;
  uint64_t started;  // writes
  uint64_t applied;  // of these, in memory: acknowledged in async
  uint64_t settled;  // acknowledged in acked and strict
  std::array<uint64_t, kWritesMax> batches;
};

// One life of store, tail and log.
class WarmLife {
 public:
  WarmLife(const std::string& folder, CommitMode mode) {
    if (const auto opened = Open(folder, mode); !opened) error_ = opened.error().message;
  }

  const std::string& error() const { return error_; }
  Store& store() { return *store_; }
  Sessions& sessions() { return *sessions_; }
  log::GroupCommit& commit() { return *log_->of_shard(0); }

  bool Apply(const ScriptedWrite& write, uint64_t now_us) {
    const std::string value = write.value.value_or("");
    auto request = RequestOf(write.value ? verify::Operation::kPut : verify::Operation::kDelete,
                             write.key, value, {.ttl_seconds = write.ttl_seconds});
    request.sequence = write.sequence;
    while (!store_->MayWrite(request) || !store_->TailHasRoom()) Commit(true);
    if (!write.value) return store_->Delete(request, now_us, write.client).status == Code::kOk;
    Store::Writing writing;
    writing.client_id = write.client;
    auto reply = store_->Write(request, now_us, &writing);
    while (!reply) reply = store_->Write(request, now_us, &writing);
    return reply->status == Code::kOk;
  }
  void ApplyTogether(std::span<const ScriptedWrite> writes, uint64_t now_us) {
    verify::Transaction all;
    for (const ScriptedWrite& write : writes) {
      all.writes.push_back(RequestOf(
          write.value ? verify::Operation::kPut : verify::Operation::kDelete, write.key,
          write.value ? std::string_view(*write.value) : "", {.ttl_seconds = write.ttl_seconds}));
      while (!store_->MayWrite(all.writes.back()) || !store_->TailHasRoom()) Commit(true);
    }
    DoCommit(store_.get(), all, now_us, {writes[0].client, writes[0].sequence});
  }
  void Commit(bool interval_is_over) {
    commit().PassOn();
    commit().Step(interval_is_over);
    store_->PublishDurable(64);
  }

 private:
  std::expected<void, Error> Open(const std::string& folder, CommitMode mode) {
    const std::string memory = folder + "/memory";
    auto warm = WarmStart::Open(memory);
    if (!warm) return std::unexpected(warm.error());
    warm_.emplace(std::move(*warm));
    auto log = DurableLog::Open({.folder = folder + "/log",
                                 .mode = mode,
                                 .segment_bytes = 64 << 10,
                                 .buffer_bytes = 1 << 20},
                                ShardSet::Of(1));
    if (!log) return std::unexpected(log.error());
    log_ = std::move(*log);
    warm_->Prepare();
    auto store = Store::Create({.memory_bytes = 2 * kMiB,
                                .hash_seed = 0x5eed,
                                .clock_offset_us = kClockOffsetUs,
                                .bucket_count = 64,
                                .warm_path = memory,
                                .discards_warm = warm_->discards()});
    if (!store) return std::unexpected(store.error());
    store_ = std::move(*store);
    sessions_.emplace(store_->recovery().warm);
    auto done = warm_->Check(*store_, *log_);
    if (done) done = warm_->Recover(log_.get(), store_.get(), &*sessions_);
    if (done) done = log_->Begin(0x5eed, {[] {}});
    if (done) done = warm_->Finish(log_.get(), *store_);
    if (done) store_->LogTo(log_->of_shard(0), mode, warm_->tail());
    return done;
  }

  std::string error_;
  std::optional<WarmStart> warm_;
  std::unique_ptr<DurableLog> log_;
  std::unique_ptr<Store> store_;
  std::optional<Sessions> sessions_;
};

uint64_t WriteTime(uint64_t write) { return kStartUs + write * 1'000'000; }

class WarmLog : public ::testing::TestWithParam<CommitMode> {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    void* memory =
        ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    told_ = static_cast<Told*>(memory);
  }
  void TearDown() override {
    ::munmap(told_, sizeof(Told));
    spdlog::set_level(spdlog::level::info);
  }

  void BeginAnew() {
    std::filesystem::remove_all(path());
    std::filesystem::create_directories(path() + "/log");
  }
  void CutPower() {
    for (const char* name : {"/memory", "/memory.tail"}) std::filesystem::remove(path() + name);
  }
  std::string path() const { return folder_.path() + "/server"; }

  // A life that dies at this store; 0: at its end, all the same. Whether it was killed.
  bool Play(const WarmScript& script, uint64_t kill_at) {
    *told_ = {};
    test::Child child = test::Child::Fork([&] {
      const auto kill = [] { ::kill(::getpid(), SIGKILL); };
      verify::store_observer = [this, kill, kill_at](verify::Store, const uint64_t*) {
        if (++told_->stores == kill_at) kill();
      };
      WarmLife life(path(), GetParam());
      if (!life.error().empty()) return 1;
      told_->opened_at = told_->stores;
      std::mt19937_64 random(script.seed);
      const uint64_t commits = 1 + random() % 40;
      for (size_t i = 0; i < script.writes.size(); ++i) {
        const size_t first = i;
        while (script.writes[i].has_more) ++i;
        told_->started = i + 1;
        if (i == first) {
          life.Apply(script.writes[i], WriteTime(i));
        } else {
          life.ApplyTogether(std::span(script.writes).subspan(first, i - first + 1), WriteTime(i));
        }
        for (size_t of = first; of <= i; ++of) told_->batches[of] = life.commit().last_batch();
        told_->applied = i + 1;
        if (random() % commits == 0) life.Commit(random() % 8 == 0);
        Settle(&life);
      }
      verify::store_observer = nullptr;
      if (kill_at == 0) kill();
      return 0;
    });
    const int status = child.Wait();
    EXPECT_TRUE(status == 0 || status == -SIGKILL) << status;
    return status != 0;
  }

  // A life that does this and is killed.
  void LiveAndDie(const std::function<void(WarmLife*)>& body) {
    test::Child child = test::Child::Fork([&] {
      WarmLife life(path(), GetParam());
      if (!life.error().empty()) return 1;
      body(&life);
      ::kill(::getpid(), SIGKILL);
      return 0;
    });
    EXPECT_EQ(child.Wait(), -SIGKILL);
  }
  static void PutOne(WarmLife* life, const std::string& key, const std::string& value,
                     uint64_t sequence) {
    life->Apply({.sequence = sequence, .key = key, .value = value}, kStartUs);
  }
  static void CommitAll(WarmLife* life) {
    while (life->commit().pending()) life->Commit(true);
    while (life->store().pending() > 0) life->Commit(true);
  }
  static std::string ValueIn(WarmLife* life, const std::string& key) {
    const auto hit = life->store().Get(key, kStartUs);
    return hit ? hit->item.value() : "none";
  }

  // In strict a write is told once it is in the table.
  void Settle(WarmLife* life) {
    const uint64_t settled =
        std::min(life->commit().durable(), life->store().first_pending_batch() - 1);
    while (told_->settled < told_->applied && told_->batches[told_->settled] <= settled) {
      ++told_->settled;
    }
  }

  // Empty: the state and the sessions are those after some prefix that has all that was promised.
  std::string Wrong(WarmLife* life, const WarmScript& script) {
    const uint64_t promised = GetParam() == CommitMode::kStrict ? told_->settled : told_->applied;
    std::string first;
    for (uint64_t prefix = told_->started + 1; prefix-- > promised;) {
      if (prefix > 0 && script.writes[prefix - 1].has_more) continue;
      const std::string wrong = WrongAfter(life, script, prefix);
      if (wrong.empty()) return {};
      if (first.empty()) first = wrong;
    }
    return first + "; " + std::to_string(promised) + " to " + std::to_string(told_->started) +
           " writes";
  }

  // What has a time to live may be gone at any time, for the clock of a start is another one.
  std::string WrongAfter(WarmLife* life, const WarmScript& script, uint64_t prefix) {
    std::map<std::string, const ScriptedWrite*> last;
    for (const ScriptedWrite& write : script.writes) last[write.key] = nullptr;
    for (uint64_t i = 0; i < prefix; ++i) last[script.writes[i].key] = &script.writes[i];
    for (const auto& [key, write] : last) {
      const auto hit = life->store().Get(key, WriteTime(told_->started));
      const bool is_there = write != nullptr && write->value;
      if (!hit && is_there && write->ttl_seconds == 0) return key + " is lost";
      if (hit && !is_there) return key + " is back";
      if (hit && hit->item.value() != *write->value) {
        return key + " is " + hit->item.value().substr(0, 4) + " and not " +
               write->value->substr(0, 4);
      }
    }
    return WrongSessions(life, script, prefix);
  }

  std::string WrongSessions(WarmLife* life, const WarmScript& script, uint64_t prefix) {
    for (uint64_t client = 1; client <= kClients; ++client) {
      Session* session = life->sessions().Enter(client, client);
      for (size_t i = 0; i < script.writes.size(); ++i) {
        const ScriptedWrite& write = script.writes[i];
        if (write.client != client) continue;
        WriteReply reply;
        const auto state = session->Find(write.sequence, true, &reply);
        const bool is_done = i < prefix && write.value;
        if (is_done && state != Session::State::kDone) return write.key + " would be written again";
        // A server without a log so far knows of nobody.
        if (i >= prefix && prefix > 0 && state != Session::State::kNew) {
          return write.key + " would not be written";
        }
      }
      life->sessions().Leave(client);
    }
    return {};
  }

  // With memory and log, then with the log alone.
  std::string TakeOver(const WarmScript& script) {
    for (const bool is_cold : {false, true}) {
      if (is_cold) CutPower();
      WarmLife life(path(), GetParam());
      const std::string wrong = life.error().empty() ? Wrong(&life, script) : life.error();
      if (!wrong.empty()) return (is_cold ? "from the log: " : "from memory: ") + wrong;
    }
    return {};
  }

  static uint64_t Rounds() {
    const char* rounds = std::getenv("PLOV_KILL_ROUNDS");
    return rounds == nullptr ? 1 : std::strtoull(rounds, nullptr, 10);
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  Told* told_ = nullptr;
};

TEST_P(WarmLog, NothingIsLostWhereverTheKillStrikes) {
  uint64_t kills = 0;
  for (uint64_t round = 0; round < 8 * Rounds(); ++round) {
    const WarmScript script(round + 1);
    BeginAnew();
    ASSERT_TRUE(Play(script, 0));
    ASSERT_EQ(TakeOver(script), "") << "killed at the end of script " << round + 1;
    const uint64_t stores = told_->stores;
    const uint64_t stride = std::max<uint64_t>(1, stores * 8 / kKills);
    for (uint64_t at = 1 + round % stride; at <= stores; at += stride, ++kills) {
      BeginAnew();
      ASSERT_TRUE(Play(script, at));
      ASSERT_EQ(TakeOver(script), "")
          << "killed at store " << at << " of " << stores << ", script " << round + 1;
    }
  }
  std::printf("%lu kills\n", kills);
}

// A start that is killed begins again, and so does one that a third server finds; every second time it is a
// start from the log alone.
TEST_P(WarmLog, AStartThatIsKilledBeginsAgain) {
  constexpr uint64_t kStarts = test::kSanitized ? 4 : 12;
  uint64_t kills = 0;
  for (uint64_t round = 0; round < 6 * Rounds(); ++round) {
    const WarmScript script(round + 100);
    BeginAnew();
    ASSERT_TRUE(Play(script, 0));
    const bool is_cold = round % 2 != 0;
    if (is_cold) {
      ASSERT_EQ(TakeOver(script), "");
      CutPower();
    }
    const Told at_kill = *told_;
    const std::string image = folder_.path() + "/image";
    std::filesystem::remove_all(image);
    std::filesystem::copy(path(), image, std::filesystem::copy_options::recursive);
    WarmScript nothing(1);
    nothing.writes.clear();
    ASSERT_TRUE(Play(nothing, 0));
    const uint64_t start = told_->opened_at;
    ASSERT_GT(start, 0);
    for (uint64_t i = 0; i < kStarts; ++i, ++kills) {
      std::filesystem::remove_all(path());
      std::filesystem::copy(image, path(), std::filesystem::copy_options::recursive);
      for (const uint64_t at : {1 + i * start / kStarts, 1 + (i * 7919 + round) % start}) {
        Play(nothing, at);  // or later, where the second start does less
      }
      *told_ = at_kill;
      ASSERT_EQ(TakeOver(script), "") << "start " << i << ", script " << round + 100;
    }
  }
  std::printf("%lu starts killed twice\n", kills);
}

// Memory that the log went on without is old, whatever it says of itself.
TEST_P(WarmLog, MemoryThatWasNotServedLastIsRefused) {
  BeginAnew();
  LiveAndDie([](WarmLife* life) { PutOne(life, "key", "first", 1); });
  const std::string aside = folder_.path() + "/aside";
  std::filesystem::create_directories(aside);
  for (const char* name : {"/memory", "/memory.tail"}) {
    std::filesystem::rename(path() + name, aside + name);
  }
  LiveAndDie([](WarmLife* life) { PutOne(life, "key", "second", 2); });
  for (const char* name : {"/memory", "/memory.tail"}) {
    std::filesystem::rename(aside + name, path() + name);
  }
  const WarmLife life(path(), GetParam());
  EXPECT_NE(life.error().find("was not served last with this --log"), std::string::npos)
      << life.error();
}

// Nor is memory of a log whose end somebody took back.
TEST_P(WarmLog, AnOlderCopyOfTheLogIsRefused) {
  BeginAnew();
  const auto put = [](WarmLife* life, const std::string& value, uint64_t sequence) {
    PutOne(life, "key", value, sequence);
    CommitAll(life);
    life->store().TailHasRoom();
  };
  const std::string copy = folder_.path() + "/copy";
  LiveAndDie([&](WarmLife* life) {
    put(life, "first", 1);
    std::filesystem::copy(path() + "/log", copy, std::filesystem::copy_options::recursive);
    put(life, "second", 2);
  });
  std::filesystem::remove_all(path() + "/log");
  std::filesystem::rename(copy, path() + "/log");
  const WarmLife life(path(), GetParam());
  EXPECT_NE(life.error().find("was not served last with this --log"), std::string::npos)
      << life.error();
}

TEST_P(WarmLog, ADamagedTailIsRefused) {
  BeginAnew();
  LiveAndDie([](WarmLife* life) { PutOne(life, "key", "value", 1); });
  constexpr std::streamoff kEnd = 13 * 8;
  std::fstream(path() + "/memory.tail", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(kEnd)
      .put(static_cast<char>(0x99));
  const WarmLife life(path(), GetParam());
  EXPECT_NE(life.error().find("memory.tail is damaged"), std::string::npos) << life.error();
}

// What is damaged in memory the log has; what it has in an older state than the memory it does not bring back.
TEST_P(WarmLog, DamagedMemoryIsMadeWholeFromTheLog) {
  BeginAnew();
  const std::string value(300, 'v');
  LiveAndDie([&](WarmLife* life) {
    PutOne(life, "damaged", value, 1);
    PutOne(life, "changed", value, 2);
    CommitAll(life);
    PutOne(life, "changed", "later", 3);
    if (GetParam() == CommitMode::kStrict) CommitAll(life);
    const uint64_t at = life->store().Get("damaged", kStartUs)->record_offset;
    life->store().region().data()[at + 100] ^= std::byte{1};
  });
  WarmLife life(path(), GetParam());
  ASSERT_EQ(life.error(), "");
  EXPECT_EQ(life.store().recovery().damaged, 1);
  EXPECT_EQ(ValueIn(&life, "damaged"), value);
  EXPECT_EQ(ValueIn(&life, "changed"), "later");
}

// All of the memory goes to a log that begins beside it; who wrote before it nobody knows.
TEST_P(WarmLog, ALogThatBeginsBesideItemsGetsThem) {
  BeginAnew();
  LiveAndDie([](WarmLife* life) {
    for (int i = 0; i < 100; ++i) PutOne(life, "key" + std::to_string(i), std::string(200, 'a'), 1);
    CommitAll(life);
  });
  std::filesystem::remove_all(path() + "/log");
  std::filesystem::create_directories(path() + "/log");
  LiveAndDie([](WarmLife*) {});
  CutPower();
  WarmLife life(path(), GetParam());
  ASSERT_EQ(life.error(), "");
  EXPECT_EQ(life.store().table().stats().items, 100);
  EXPECT_EQ(ValueIn(&life, "key99"), std::string(200, 'a'));
  WriteReply reply;
  EXPECT_EQ(life.sessions().Enter(1, 1)->Find(1, true, &reply), Session::State::kForgotten);
}

std::string NameOf(const testing::TestParamInfo<CommitMode>& mode) {
  constexpr std::array kNames = {"Strict", "Acked", "Async"};
  return kNames[static_cast<size_t>(mode.param)];
}

INSTANTIATE_TEST_SUITE_P(Modes, WarmLog,
                         ::testing::Values(CommitMode::kStrict, CommitMode::kAcked,
                                           CommitMode::kAsync),
                         NameOf);

}  // namespace
}  // namespace plov::server
