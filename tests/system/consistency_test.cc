// Writers and readers on few keys: every GET is checked against what its key held meanwhile.
//
// Each hot key has one writer, which numbers its writes and publishes the number before it starts
// and after it is acknowledged. A GET that began after write `low` was acknowledged and ended
// before write `high + 1` was started may return what one of the writes low..high stored, and
// nothing else; and no reader may go back. That is linearizability of a register with one writer,
// checked on every GET. A third process adds items all the while, so that the table grows from its
// smallest size on under the readers' eyes, items move and the hot keys are displaced; once there
// are kFillers of them it deletes and adds.
//
// PLOV_CONSISTENCY_SECONDS sets the duration (5).

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;

constexpr size_t kKeys = 8;
constexpr size_t kWriters = 2;
constexpr uint64_t kFillers = 1'700'000;  // 81 % of 2 Mi buckets: the last growth is a near thing

struct Shared {
  std::array<std::atomic<uint64_t>, kKeys> started;
  std::array<std::atomic<uint64_t>, kKeys> acknowledged;
  std::atomic<uint64_t> gets;
  std::atomic<uint64_t> torn;
  std::atomic<uint64_t> confirmations;
  std::atomic<uint64_t> fallbacks;
  std::atomic<bool> stop;
};

Shared* MapShared() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Shared{};
}

std::string KeyOf(size_t key) { return "hot:" + std::to_string(key); }

bool Deletes(uint64_t sequence) { return sequence % 8 == 7; }

size_t ValueBytes(uint64_t sequence) {
  constexpr std::array<size_t, 8> kBytes = {20, 24, 100, 30, 1000, 5000, 28, 0};
  return sequence % 1001 == 0 ? 300'000 : kBytes[sequence % 8];
}

std::string ValueOf(size_t key, uint64_t sequence) {
  std::string value = std::to_string(key) + ":" + std::to_string(sequence) + ":";
  while (value.size() < ValueBytes(sequence)) value += static_cast<char>('a' + sequence % 26);
  return value;
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

// What one reader knows: it may never go back.
class Reader {
 public:
  explicit Reader(Shared* shared) : shared_(shared) {}

  void Begin(size_t key) { low_[key] = std::max(seen_[key], shared_->acknowledged[key].load()); }

  // Returns false for a result that no write of the interval explains.
  bool End(size_t key, const Client::GetResult& result) {
    const uint64_t high = shared_->started[key];
    if (!result) return false;
    ++shared_->gets;
    if (!*result) return EndAbsent(key, high);
    const std::string value((*result)->value);
    const size_t colon = value.find(':');
    if (colon == std::string::npos) return false;
    const uint64_t sequence = std::strtoull(value.c_str() + colon + 1, nullptr, 10);
    if (sequence < low_[key] || sequence > high || value != ValueOf(key, sequence)) return false;
    seen_[key] = sequence;
    return true;
  }

 private:
  bool EndAbsent(size_t key, uint64_t high) {
    for (uint64_t sequence = low_[key]; sequence <= high; ++sequence) {
      if (sequence != 0 && !Deletes(sequence)) continue;
      seen_[key] = sequence;
      return true;
    }
    return false;
  }

  Shared* shared_;
  std::array<uint64_t, kKeys> low_{};
  std::array<uint64_t, kKeys> seen_{};
};

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
  const auto end = std::chrono::steady_clock::now() + Duration();
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  shared->stop = true;
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(children[i].Wait(90), 0) << "process " << i << " (2: a wrong GET; 1: a failed write)";
  }
  const std::string text = server.Connect().ServerStats()->at(0);
  const uint64_t moves = std::stoull(text.substr(text.find("displacements ") + 14));
  const uint64_t growths = std::stoull(text.substr(text.find("growths ") + 8));
  std::printf("gets %lu torn %lu confirmations %lu fallbacks %lu displacements %lu growths %lu\n",
              shared->gets.load(), shared->torn.load(), shared->confirmations.load(),
              shared->fallbacks.load(), moves, growths);
  EXPECT_GT(growths, 3);
  EXPECT_GT(shared->gets, 1000);
  EXPECT_GT(moves, 100);
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace plov
