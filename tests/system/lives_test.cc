// A server that is killed again and again, at random moments, while clients read, write and make
// its table grow; each life begins with an empty memory.
//
// The life is a number in shared memory: it grows when the former server is dead and before the
// next is started. Each key has one writer, which numbers its writes and notes in which life each
// began and ended. So a reader can tell whether what it GETs can be there: a write that ended,
// however, in a former life cannot; nor can an older value than one acknowledged in this life.
//
// PLOV_DEATH_ROUNDS sets how often the server is killed (30).

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Child;
using test::Eventually;
using test::Plovd;
using test::SharedMemory;

constexpr size_t kKeys = 16;  // the even ones of the single writer, the odd ones of the batches
constexpr uint64_t kWritesMax = uint64_t{1} << 22;  // of one key
constexpr size_t kProcesses = 5;
constexpr milliseconds kTimeout{500};
// A call ends within its timeout and one connection attempt; the rest is the machine's.
const milliseconds kCallMax = (kTimeout * 2 + seconds(1)) * test::Slowness();

// An acknowledged write whose life did not change meanwhile: life << 32 | number.
struct Key {
  std::atomic<uint64_t> started;
  std::atomic<uint64_t> acknowledged;
  std::array<std::atomic<uint16_t>, kWritesMax> ended;  // by number: the life; 0 = not yet
};

struct World {
  std::atomic<uint32_t> life;
  std::atomic<bool> stop;
  std::array<std::atomic<uint32_t>, kProcesses>
      good_in;  // the last life with a call that went well
  std::atomic<uint64_t> good, failed, unknown, slow;
  std::array<Key, kKeys> keys;
};

std::string KeyOf(size_t key) { return "key" + std::to_string(key); }

std::string ValueOf(size_t key, uint64_t number) {
  constexpr std::array<size_t, 8> kBytes = {20, 30, 25, 200, 2000, 22, 28, 30'000};
  std::string value = std::to_string(key) + ":" + std::to_string(number) + ":";
  value.resize(std::max(value.size(), kBytes[number % 8]), static_cast<char>('a' + number % 26));
  return value;
}

// One process's way of calling: judges the error and the time of every call.
class Caller {
 public:
  Caller(World* world, size_t process, const Plovd& server, size_t cache_bytes)
      : world_(world),
        process_(process),
        client_(server.Connect({.timeout = kTimeout, .location_cache_bytes = cache_bytes})) {}

  Client& client() { return client_; }
  World& world() { return *world_; }
  bool stopped() const { return world_->stop; }

  void Begin() { began_ = std::chrono::steady_clock::now(); }
  // False for an error that is no answer to a server's death.
  template <typename Result>
  bool Check(const Result& result, uint32_t life) {
    if (std::chrono::steady_clock::now() - began_ > kCallMax) ++world_->slow;
    if (result) {
      ++world_->good;
      world_->good_in[process_] = std::max(world_->good_in[process_].load(), life);
      return true;
    }
    const Code code = result.error().code;
    ++(code == Code::kUnknown ? world_->unknown : world_->failed);
    if (code == Code::kUnavailable || code == Code::kUnknown || code == Code::kTimeout) return true;
    std::fprintf(stderr, "process %zu: %s\n", process_, result.error().message.c_str());
    return false;
  }

 private:
  World* world_;
  size_t process_;
  Client client_;
  std::chrono::steady_clock::time_point began_;
};

struct Pending {
  size_t key;
  uint64_t number;
  uint32_t life;
};

Pending BeginWrite(World* world, size_t key) {
  const uint32_t life = world->life;
  return {key, ++world->keys[key].started, life};
}

void EndWrite(World* world, const Pending& write, bool acknowledged) {
  const uint32_t life = world->life;
  Key& key = world->keys[write.key];
  key.ended[write.number] = static_cast<uint16_t>(life);
  if (acknowledged && life == write.life) {
    key.acknowledged = uint64_t{life} << 32 | write.number;
  }
}

int WriteSingly(Caller* caller) {
  std::mt19937_64 random(1);
  while (!caller->stopped()) {
    const Pending write = BeginWrite(&caller->world(), random() % (kKeys / 2) * 2);
    if (write.number + 1 >= kWritesMax) return 3;
    const std::string value = ValueOf(write.key, write.number);
    caller->Begin();
    const auto result = caller->client().Put(KeyOf(write.key), value);
    EndWrite(&caller->world(), write, result.has_value());
    if (!caller->Check(result, write.life)) return 1;
  }
  return 0;
}

int WriteInBatches(Caller* caller) {
  while (!caller->stopped()) {
    std::vector<Pending> writes;
    std::vector<std::string> texts;
    texts.reserve(kKeys);
    for (size_t key = 1; key < kKeys; key += 2) {
      writes.push_back(BeginWrite(&caller->world(), key));
      if (writes.back().number + 1 >= kWritesMax) return 3;
      texts.push_back(KeyOf(key));
      texts.push_back(ValueOf(key, writes.back().number));
    }
    std::vector<PutItem> items;
    for (size_t i = 0; i < texts.size(); i += 2) items.push_back({texts[i], texts[i + 1]});
    bool good = true;
    caller->Begin();
    caller->client().PutMany(items, [&](size_t index, Client::PutResult result) {
      EndWrite(&caller->world(), writes[index], result.has_value());
      good = caller->Check(result, writes[index].life) && good;
    });
    if (!good) return 1;
  }
  return 0;
}

// New keys all the time: the table grows.
int Fill(Caller* caller) {
  uint64_t next = 0;
  while (!caller->stopped()) {
    const uint32_t life = caller->world().life;
    std::vector<std::string> keys;
    for (int i = 0; i < 1000; ++i) keys.push_back("fill" + std::to_string(next++));
    std::vector<PutItem> items;
    for (const std::string& key : keys) items.push_back({key, "v"});
    bool good = true;
    caller->Begin();
    caller->client().PutMany(items, [&](size_t, Client::PutResult result) {
      good = caller->Check(result, life) && good;
      caller->Begin();  // a thousand are allowed more time than one
    });
    if (!good) return 1;
  }
  return 0;
}

// A GET under way.
struct Look {
  size_t key;
  uint32_t life;
  uint64_t acknowledged;
};

Look BeginLook(World* world, size_t key) {
  const uint64_t acknowledged = world->keys[key].acknowledged;
  return {key, world->life, acknowledged};
}

bool Complain(const Look& look, uint32_t life, const char* what, uint64_t number) {
  std::fprintf(stderr, "key %zu, life %u to %u, acknowledged %lu of life %lu: %s %lu\n", look.key,
               look.life, life, look.acknowledged & UINT32_MAX, look.acknowledged >> 32, what,
               number);
  return false;
}

bool IsExplained(const World& world, const Look& look, const std::optional<Item>& hit) {
  const uint32_t life = world.life;
  const Key& key = world.keys[look.key];
  const bool same_life = life == look.life && look.acknowledged >> 32 == life;
  const uint64_t least = same_life ? look.acknowledged & UINT32_MAX : 0;
  if (!hit) return !same_life || Complain(look, life, "absent, not", least);
  const std::string value(hit->value);
  const size_t colon = value.find(':');
  const uint64_t number =
      colon == std::string::npos ? 0 : std::strtoull(value.c_str() + colon + 1, nullptr, 10);
  if (number == 0 || number > key.started || value != ValueOf(look.key, number)) {
    return Complain(look, life, "not a value that was written", number);
  }
  if (number < least) return Complain(look, life, "an older value", number);
  const uint32_t ended = key.ended[number];
  return ended == 0 || ended >= look.life || Complain(look, life, "of a former life", number);
}

int ReadSingly(Caller* caller) {
  std::mt19937_64 random(2);
  while (!caller->stopped()) {
    const Look look = BeginLook(&caller->world(), random() % kKeys);
    caller->Begin();
    const auto result = caller->client().Get(KeyOf(look.key));
    if (!caller->Check(result, look.life)) return 1;
    if (result && !IsExplained(caller->world(), look, *result)) return 2;
  }
  return 0;
}

int ReadInBatches(Caller* caller) {
  std::vector<std::string> names;
  for (size_t key = 0; key < kKeys; ++key) names.push_back(KeyOf(key));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  while (!caller->stopped()) {
    std::vector<Look> looks;
    for (size_t key = 0; key < kKeys; ++key) looks.push_back(BeginLook(&caller->world(), key));
    int status = 0;
    caller->Begin();
    caller->client().GetMany(keys, [&](size_t index, Client::GetResult result) {
      if (!caller->Check(result, looks[index].life)) status = 1;
      if (result && !IsExplained(caller->world(), looks[index], *result)) status = 2;
    });
    if (status != 0) return status;
  }
  return 0;
}

// Kills the server when everybody has had an answer from it, or earlier.
void EndOneLife(Plovd* server, World* world, std::mt19937_64* random, uint64_t round) {
  if (round % 2 == 0) {
    const auto all_good = [world] {
      return std::ranges::all_of(world->good_in,
                                 [world](const auto& life) { return life == world->life; });
    };
    ASSERT_TRUE(Eventually(all_good, seconds(20) * test::Slowness()))
        << "a client did not find life " << world->life;
  }
  std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 150'000));
  server->Signal(SIGKILL);
  ASSERT_EQ(server->Wait(), -SIGKILL);
  ++world->life;
  server->Restart();
}

void KillAgainAndAgain(std::vector<std::string> options) {
  const uint64_t rounds = test::NumberFrom("PLOV_DEATH_ROUNDS", 30);
  options.insert(options.end(), {"--memory", "256M"});
  Plovd server(std::move(options));
  const SharedMemory<World> world;
  world->life = 1;
  constexpr std::array<int (*)(Caller*), kProcesses> kBodies = {&WriteSingly, &WriteInBatches,
                                                                &Fill, &ReadSingly, &ReadInBatches};
  std::vector<Child> children;
  for (size_t process = 0; process < kProcesses; ++process) {
    children.push_back(Child::Fork([&, process] {
      Caller caller(world.get(), process, server, process == 3 ? 0 : 1 << 20);
      return kBodies[process](&caller);
    }));
  }
  std::mt19937_64 random(rounds);
  for (uint64_t round = 0; round < rounds && !testing::Test::HasFatalFailure(); ++round) {
    EndOneLife(&server, world.get(), &random, round);
  }
  world->stop = true;
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(children[i].Wait(), 0) << "process " << i << " (2: a wrong GET; 1: a wrong error)";
  }
  EXPECT_EQ(world->slow, 0) << "calls beyond their deadline";
  std::printf("%lu lives, %lu calls went well, %lu did not, %lu with an unknown end\n", rounds + 1,
              world->good.load(), world->failed.load(), world->unknown.load());
}

TEST(Lives, NoGetMixesThem) { KillAgainAndAgain({}); }

TEST(Lives, NoGetMixesThemInTwoShards) { KillAgainAndAgain({"--shards", "2"}); }

}  // namespace
}  // namespace plov
