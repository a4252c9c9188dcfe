// Servers that keep their memory in a file, killed under load and started on it again: for their
// clients it must look like one long life.
//
// PLOV_WARM_ROUNDS sets how often (30, with one shard and with two).

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/support/environment.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/system/registers.h"

namespace plov {
namespace {

using test::Child;
using test::kKeys;
using test::Plovd;

constexpr size_t kWriters = 2;
constexpr uint64_t kFillersMax = 150'000;  // the table grows five times
constexpr uint64_t kBatch = 100;
// Far beyond what any call has to wait for.
constexpr std::chrono::seconds kWaitMax{80};

struct Shared {
  test::Registers registers;
  std::atomic<uint64_t> fillers;  // acknowledged
  std::atomic<uint64_t> counted;  // increments acknowledged
  std::atomic<uint64_t> unknown;  // increments whose outcome is unknown
  std::atomic<uint64_t> unknown_writes;
  std::atomic<uint64_t> reconnects;
  std::atomic<size_t> connected;  // clients
};

uint64_t Rounds() { return test::NumberFrom("PLOV_WARM_ROUNDS", 30); }

ClientOptions Patient(size_t cache_bytes) {
  return {.timeout = kWaitMax, .location_cache_bytes = cache_bytes};
}

// A server that is not there refuses a client its first connection, so all have one before the first
// kill.
Client Connect(const Plovd& server, Shared* shared, size_t cache_bytes) {
  Client client = server.Connect(Patient(cache_bytes));
  ++shared->connected;
  return client;
}

std::string FillerOf(uint64_t filler) { return "f" + std::to_string(filler); }

// A write that nobody knows the outcome of counts as started; any other failure is wrong.
template <typename Result>
bool IsDone(const Result& result, std::atomic<uint64_t>* unknown) {
  if (result) return true;
  if (result.error().code != Code::kUnknown) {
    std::fprintf(stderr, "a write failed: %s\n", result.error().message.c_str());
    ::_exit(3);
  }
  ++*unknown;
  return false;
}

int WriteKeys(const Plovd& server, Shared* shared, size_t writer) {
  Client client = Connect(server, shared, 0);
  std::mt19937_64 random(writer);
  while (!shared->registers.stop) {
    const size_t key = random() % (kKeys / kWriters) * kWriters + writer;
    const uint64_t sequence = ++shared->registers.started[key];
    const std::string name = test::KeyOf(key);
    const bool done =
        test::Deletes(sequence)
            ? IsDone(client.Delete(name), &shared->unknown_writes)
            : IsDone(client.Put(name, test::ValueOf(key, sequence)), &shared->unknown_writes);
    if (done) shared->registers.acknowledged[key] = sequence;
  }
  shared->reconnects += client.stats().reconnects;
  return 0;
}

// A batch with an unknown filler is simply written again.
int Fill(const Plovd& server, Shared* shared) {
  Client client = Connect(server, shared, 0);
  while (!shared->registers.stop && shared->fillers < kFillersMax) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < kBatch; ++i) keys.push_back(FillerOf(shared->fillers + i));
    const std::string small(10, 'f'), large(200, 'f');
    std::vector<PutItem> items;
    for (const auto& key : keys) items.push_back({key, items.size() % 16 == 0 ? large : small});
    bool all = true;
    client.PutMany(items, [&](size_t, const Client::PutResult& result) {
      all = IsDone(result, &shared->unknown_writes) && all;
    });
    if (all) shared->fillers += kBatch;
  }
  return 0;
}

// Adds one by conditional PUTs: what was applied twice, or lost, shows in the sum.
int Count(const Plovd& server, Shared* shared) {
  Client client = Connect(server, shared, 1 << 10);
  while (!shared->registers.stop) {
    const auto hit = client.Get("counter");
    if (!hit || !*hit) return 4;
    const uint64_t count = std::stoull(std::string((*hit)->value));
    const auto put =
        client.Put("counter", std::to_string(count + 1), {.expected_version = (*hit)->version});
    if (!put && put.error().code == Code::kVersionMismatch) return 5;  // nobody else counts
    if (IsDone(put, &shared->unknown)) ++shared->counted;
  }
  return 0;
}

int ReadKeys(const Plovd& server, Shared* shared, size_t cache_bytes) {
  Client client = Connect(server, shared, cache_bytes);
  test::Reader reader(&shared->registers);
  std::mt19937_64 random(cache_bytes + 7);
  std::vector<std::string> names;
  for (size_t key = 0; key < kKeys; ++key) names.push_back(test::KeyOf(key));
  const std::vector<std::string_view> all(names.begin(), names.end());
  size_t wrong = 0;
  while (!shared->registers.stop && wrong == 0) {
    const size_t key = random() % kKeys;
    reader.Begin(key);
    wrong += !reader.End(key, client.Get(names[key]));
    for (size_t each = 0; each < kKeys; ++each) reader.Begin(each);
    client.GetMany(
        all, [&](size_t index, Client::GetResult result) { wrong += !reader.End(index, result); });
    // What is acknowledged is there.
    const uint64_t fillers = shared->fillers;
    if (fillers == 0) continue;
    const auto filler = client.Get(FillerOf(random() % fillers));
    wrong += !filler || !*filler;
  }
  shared->reconnects += client.stats().reconnects;
  return wrong == 0 ? 0 : 2;
}

class Warm : public ::testing::Test {
 protected:
  std::vector<std::string> Options(std::vector<std::string> more) const {
    more.insert(more.end(), {"--warm", path_});
    return more;
  }
  std::unique_ptr<Plovd> Serve(std::vector<std::string> options) {
    return std::make_unique<Plovd>(Options(std::move(options)));
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  std::string path_ = folder_.path() + "/memory";
};

struct Serving {
  const char* name;
  const char* shards;
  const char* commit;  // null: no log
};
void PrintTo(const Serving& serving, std::ostream* out) { *out << serving.name; }

class WarmLoad : public Warm, public ::testing::WithParamInterface<Serving> {
 protected:
  std::vector<std::string> Options() const {
    std::vector<std::string> options = {"--memory", "256M", "--shards", GetParam().shards};
    if (GetParam().commit == nullptr) return options;
    options.insert(options.end(), {"--log", log_.path(), "--commit", GetParam().commit});
    return options;
  }
  // The memory is lost, and the log has all of it.
  void RestartFromLog() {
    server_->Signal(SIGKILL);
    server_->Wait();
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().extension() != ".lock") std::filesystem::remove(file.path());
    }
    server_->Restart();
  }
  void StartClients() {
    for (size_t writer = 0; writer < kWriters; ++writer) {
      children_.push_back(
          Child::Fork([this, writer] { return WriteKeys(*server_, shared_, writer); }));
    }
    children_.push_back(Child::Fork([this] { return Fill(*server_, shared_); }));
    children_.push_back(Child::Fork([this] { return Count(*server_, shared_); }));
    for (const size_t cache_bytes : std::initializer_list<size_t>{0, 64, 1 << 20}) {
      children_.push_back(
          Child::Fork([this, cache_bytes] { return ReadKeys(*server_, shared_, cache_bytes); }));
    }
    while (shared_->connected < children_.size()) std::this_thread::yield();
  }

  // Everything that was acknowledged, all of it.
  void CheckAll() {
    Client client = server_->Connect(Patient(0));
    for (uint64_t filler = 0; filler < shared_->fillers; ++filler) {
      const auto hit = client.Get(FillerOf(filler));
      ASSERT_TRUE(hit && *hit) << FillerOf(filler);
    }
    const uint64_t count = std::stoull(std::string((*client.Get("counter"))->value));
    EXPECT_GE(count, shared_->counted);
    EXPECT_LE(count, shared_->counted + shared_->unknown);
  }

  test::TemporaryFolder log_;
  std::unique_ptr<Plovd> server_;
  test::SharedMemory<Shared> memory_;
  Shared* shared_ = memory_.get();
  std::vector<Child> children_;
};

TEST_P(WarmLoad, ManyLivesLookLikeOne) {
  server_ = Serve(Options());
  ASSERT_TRUE(server_->Connect().Put("counter", "0"));
  StartClients();
  std::mt19937_64 random(Rounds());
  for (uint64_t round = 0; round < Rounds(); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
    const int signal = round % 6 == 5 ? SIGTERM : SIGKILL;
    server_->Signal(signal);
    ASSERT_EQ(server_->Wait(), signal == SIGTERM ? 0 : -SIGKILL);
    server_->Restart();
    ASSERT_EQ(server_->Log().find("damaged"), std::string::npos) << server_->Log();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // On a busy machine the lives above may have been too short for it.
  EXPECT_TRUE(test::Eventually([this] { return shared_->fillers > 1000 && shared_->counted > 0; },
                               std::chrono::seconds(60)));
  shared_->registers.stop = true;
  for (size_t i = 0; i < children_.size(); ++i) {
    EXPECT_EQ(children_[i].Wait(170), 0)
        << "process " << i << " (2: a wrong GET; 3: a failed write; 4, 5: a lost count)";
  }
  CheckAll();
  if (GetParam().commit != nullptr) {
    ASSERT_TRUE(server_->Connect().Sync());
    RestartFromLog();
    CheckAll();
    EXPECT_EQ(shared_->unknown, 0) << "of a client with one write at a time";
  }
  std::printf("gets %lu fillers %lu counted %lu, unknown %lu and %lu, reconnects %lu\n",
              shared_->registers.gets.load(), shared_->fillers.load(), shared_->counted.load(),
              shared_->unknown.load(), shared_->unknown_writes.load(), shared_->reconnects.load());
  EXPECT_GT(shared_->reconnects, Rounds());
}
INSTANTIATE_TEST_SUITE_P(Shards, WarmLoad,
                         ::testing::Values(Serving{"1", "1", nullptr}, Serving{"2", "2", nullptr},
                                           Serving{"Async", "1", "async"},
                                           Serving{"Acked", "1", "acked"},
                                           Serving{"Strict", "2", "strict"}),
                         [](const auto& serving) { return std::string(serving.param.name); });

TEST_F(Warm, WriteUnderWayIsUnknownAndNotAppliedLater) {
  const auto server = Serve({"--memory", "64M"});
  Client client = server->Connect(Patient(1 << 16));
  ASSERT_TRUE(client.Put("k", "v"));
  const Version version = (*client.Get("k"))->version;
  server->Signal(SIGSTOP);
  std::optional<Client::PutResult> result;
  client.StartPut("k", "w", {}, [&result](Client::PutResult got) { result = std::move(got); });
  client.Poll();  // sends it, and nobody reads it
  server->Signal(SIGKILL);
  server->Wait();
  server->Restart();
  while (!result) client.Poll();
  EXPECT_EQ(result->error().code, Code::kUnknown);
  EXPECT_EQ((*client.Get("k"))->value, "v");
  EXPECT_EQ((*client.Get("k"))->version, version);
  const auto put = client.Put("k", "x");
  ASSERT_TRUE(put);
  EXPECT_GT(*put, version);
  EXPECT_EQ((*client.Get("k"))->value, "x");
}

// The connection that is made anew has less room for values than what is to be sent again.
TEST_F(Warm, ALargeValueUnderWayMeetsASmallerLimit) {
  const auto server = Serve({"--memory", "64M"});
  Client client = server->Connect(Patient(1 << 16));
  const std::string large(12 << 20, 'x');
  ASSERT_TRUE(client.Put("k", "v"));
  server->Signal(SIGSTOP);
  std::optional<Client::PutResult> result;
  client.StartPut("k", large, {}, [&result](Client::PutResult got) { result = std::move(got); });
  client.Poll();
  server->Signal(SIGKILL);
  server->Wait();
  server->Restart({"--max-value", "1M"});
  while (!result) client.Poll();
  EXPECT_EQ(result->error().code, Code::kUnknown);
  EXPECT_EQ((*client.Get("k"))->value, "v");
  EXPECT_EQ(client.Put("k", large).error().code, Code::kTooLarge);
  ASSERT_TRUE(client.Put("k", large.substr(0, 1 << 20)));
  EXPECT_EQ((*client.Get("k"))->value.size(), 1u << 20);
}

TEST_F(Warm, WhatIsExpiredStaysSo) {
  const auto server = Serve({"--memory", "64M"});
  Client client = server->Connect(Patient(0));
  ASSERT_TRUE(client.Put("short", "v", {.ttl = std::chrono::seconds(1)}));
  ASSERT_TRUE(client.Put("long", "v", {.ttl = std::chrono::seconds(1000)}));
  while ((*client.Get("short")).has_value()) {
  }
  for (const int signal : {SIGKILL, SIGTERM}) {
    server->Signal(signal);
    server->Wait();
    server->Restart();
    EXPECT_FALSE((*client.Get("short")).has_value());
    EXPECT_TRUE((*client.Get("long")).has_value());
  }
}

}  // namespace
}  // namespace plov
