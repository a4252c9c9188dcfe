// Writers and readers on few keys: every GET is checked against what its key held meanwhile.
//
// Every GET of a hot key is judged as tests/system/registers.h says. A third process adds items all
// the while, so that the table grows from its smallest size on under the readers' eyes, items move
// and the hot keys are displaced; once there are kFillers of them it deletes and adds.
//
// PLOV_CONSISTENCY_SECONDS sets the duration (5).

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include "tests/support/plovd.h"
#include "tests/system/registers.h"

namespace plov {
namespace {

using test::Child;
using test::Deletes;
using test::KeyOf;
using test::kKeys;
using test::Plovd;
using test::Reader;
using test::ValueOf;

constexpr size_t kWriters = 2;
constexpr uint64_t kFillers = 1'700'000;  // 81 % of 2 Mi buckets: the last growth is a near thing

using Shared = test::Registers;

Shared* MapShared() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Shared{};
}

std::chrono::seconds Duration() {
  const char* seconds = std::getenv("PLOV_CONSISTENCY_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 5 : std::atoi(seconds));
}

ClientOptions Patient(size_t cache_bytes) {
  return {.timeout = std::chrono::seconds(30), .location_cache_bytes = cache_bytes};
}

int WriteKeys(const Plovd& server, Shared* shared, size_t writer) {
  Client client = server.Connect(Patient(0));
  std::mt19937_64 random(writer);
  while (!shared->stop) {
    const size_t key = random() % (kKeys / kWriters) * kWriters + writer;
    const uint64_t sequence = ++shared->started[key];
    const std::string name = KeyOf(key);
    const bool done = Deletes(sequence) ? client.Delete(name).has_value()
                                        : client.Put(name, ValueOf(key, sequence)).has_value();
    if (!done) return 1;
    shared->acknowledged[key] = sequence;
  }
  return 0;
}

int Churn(const Plovd& server, Shared* shared) {
  Client client = server.Connect(Patient(0));
  std::mt19937_64 random(99);
  std::vector<bool> present;
  while (!shared->stop) {
    size_t filler = present.size();
    if (filler < kFillers) {
      present.push_back(false);
    } else {
      filler = random() % kFillers;
    }
    const std::string key = "f" + std::to_string(filler);
    const bool done = present[filler] ? client.Delete(key).value_or(false)
                                      : client.Put(key, "filler").has_value();
    if (!done) return 1;
    present[filler] = !present[filler];
  }
  return 0;
}

// Takes turns between one GET and a batch of all keys.
int ReadKeys(const Plovd& server, Shared* shared, size_t cache_bytes) {
  Client client = server.Connect(Patient(cache_bytes));
  Reader reader(shared);
  std::mt19937_64 random(cache_bytes + 7);
  std::vector<std::string> names;
  for (size_t key = 0; key < kKeys; ++key) names.push_back(KeyOf(key));
  const std::vector<std::string_view> all(names.begin(), names.end());
  std::vector<std::byte> buffer(400'000);
  size_t wrong = 0;
  while (!shared->stop && wrong == 0) {
    const size_t key = random() % kKeys;
    reader.Begin(key);
    wrong += !reader.End(key, client.Get(names[key]));
    reader.Begin(key);
    wrong += !reader.End(key, client.GetInto(names[key], buffer));
    for (size_t each = 0; each < kKeys; ++each) reader.Begin(each);
    client.GetMany(
        all, [&](size_t index, Client::GetResult result) { wrong += !reader.End(index, result); });
  }
  const ClientStats stats = client.stats();
  shared->torn += stats.torn_buckets + stats.torn_records;
  shared->confirmations += stats.confirmations;
  shared->fallbacks += stats.fallbacks;
  return wrong == 0 ? 0 : 2;
}

TEST(Consistency, EveryGetReturnsWhatTheKeyHeldMeanwhile) {
  const Plovd server({"--memory", "512M"});
  Shared* shared = MapShared();
  std::vector<Child> children;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    children.push_back(
        Child::Fork([&server, shared, writer] { return WriteKeys(server, shared, writer); }));
  }
  children.push_back(Child::Fork([&server, shared] { return Churn(server, shared); }));
  for (const size_t cache_bytes : std::initializer_list<size_t>{0, 64, 1 << 20}) {
    children.push_back(Child::Fork(
        [&server, shared, cache_bytes] { return ReadKeys(server, shared, cache_bytes); }));
  }
  Client observer = server.Connect();
  const auto stat = [&observer](const char* name) {
    const std::string text = observer.ServerStats()->at(0);
    return std::stoull(text.substr(text.find(name) + std::strlen(name)));
  };
  const auto saw_enough = [&] {
    return stat("growths ") > 0 && stat("displacements ") > 100 && shared->gets > 1000;
  };
  // Until all was seen that is to be withstood; on a machine with other work that takes longer.
  const auto end = std::chrono::steady_clock::now() + Duration();
  const auto last = end + std::chrono::seconds(60);
  bool enough = false;
  while (std::chrono::steady_clock::now() < (enough ? end : last)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    enough = saw_enough();
  }
  shared->stop = true;
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(children[i].Wait(90), 0) << "process " << i << " (2: a wrong GET; 1: a failed write)";
  }
  const uint64_t moves = stat("displacements ");
  const uint64_t growths = stat("growths ");
  std::printf("gets %lu torn %lu confirmations %lu fallbacks %lu displacements %lu growths %lu\n",
              shared->gets.load(), shared->torn.load(), shared->confirmations.load(),
              shared->fallbacks.load(), moves, growths);
  EXPECT_GT(growths, 0);
  EXPECT_GT(shared->gets, 1000);
  EXPECT_GT(moves, 100);
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace plov
