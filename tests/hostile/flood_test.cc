// One client does as much as it can; another one PUTs and GETs, an item at a time. Prints what the
// second one sees. No PUT of it fails, and no GET.
//
// PLOV_FLOOD_SECONDS sets the duration of each flood (1).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/random.h"
#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "verify/message.h"
#include "verify/superblock.h"
#include "verify/vector.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;
using test::SharedMemory;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargest = size_t{16} << 20;
constexpr auto kCache = "64M";
constexpr size_t kCacheBytes = size_t{64} << 20;

struct Shared {
  std::atomic<bool> stop;
  std::atomic<uint64_t> operations;  // of the flood
};

// What a flood does until it is told to stop; counts its operations. Returns an exit status.
using Flood = std::function<int(const Plovd&, Shared*)>;

int SmallPuts(const Plovd& server, Shared* shared) {
  Client client = server.Connect();
  std::vector<std::string> keys;
  for (int i = 0; i < 4096; ++i) keys.push_back("flood" + std::to_string(i));
  std::vector<PutItem> items;
  for (const std::string& key : keys) items.push_back({key, "a small value"});
  while (!shared->stop) {
    client.PutMany(items, [&](size_t, const Client::PutResult&) { ++shared->operations; });
  }
  return 0;
}

int LargePuts(const Plovd& server, Shared* shared) {
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  const std::string value(kLargest, 'v');
  while (!shared->stop) {
    if (!client.Put("large", value)) return 1;
    ++shared->operations;
  }
  return 0;
}

// The server copies the largest item again and again.
int Touches(const Plovd& server, Shared* shared) {
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  if (!client.Put("large", std::string(kLargest, 'v'))) return 1;
  uint64_t failed = 0;
  while (!shared->stop && failed == 0) {
    for (int i = 0; i < 200; ++i) {
      client.StartTouch("large", std::chrono::seconds(1000), 0,
                        [&](const Client::PutResult& result) {
                          failed += !result;
                          ++shared->operations;
                        });
    }
    while (client.Poll() > 0) continue;
  }
  return failed == 0 ? 0 : 2;
}

// As large as they may be, many at a time.
int Commits(const Plovd& server, Shared* shared) {
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  std::vector<std::string> keys;
  for (int i = 0; i < 1280; ++i) keys.push_back("flood" + std::to_string(i));
  uint64_t failed = 0;
  while (!shared->stop && failed == 0) {
    for (size_t first = 0; first < keys.size(); first += 128) {
      std::vector<CommitWrite> writes;
      for (size_t i = 0; i < 128; ++i) {
        writes.push_back(
            {.key = keys[first + i], .value = "a value for a record, not for a bucket"});
      }
      client.StartCommit({}, writes, [&](const Client::PutResult& result) {
        failed += !result;
        ++shared->operations;
      });
    }
    while (client.Poll() > 0) continue;
  }
  return failed == 0 ? 0 : 2;
}

// Of a table that was large once, as many at a time as the client likes.
int Flushes(const Plovd& server, Shared* shared) {
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  std::vector<std::string> keys;
  for (int i = 0; i < 100'000; ++i) keys.push_back("flood" + std::to_string(i));
  std::vector<PutItem> items;
  for (const std::string& key : keys) items.push_back({key, "a small value"});
  uint64_t failed = 0;
  while (!shared->stop && failed == 0) {
    client.PutMany(items, [&](size_t, const Client::PutResult& result) { failed += !result; });
    for (int i = 0; i < 100; ++i) {
      client.StartFlush(std::chrono::seconds(0), [&](const Client::FlushResult& result) {
        failed += !result;
        ++shared->operations;
      });
    }
    while (client.Poll() > 0) continue;
  }
  return failed == 0 ? 0 : 2;
}

// One item expires, after the flood. That begins when memory is full.
int RefusedPuts(const Plovd& server, Shared* shared) {
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  if (!client.Put("expires", "v", {.ttl = std::chrono::seconds(1000)})) return 1;
  const std::string value(1000, 'v');
  uint64_t refused = 0;
  for (uint64_t next = 0; !shared->stop;) {
    std::vector<std::string> keys;
    for (int i = 0; i < 256; ++i) keys.push_back("full" + std::to_string(next++));
    std::vector<PutItem> items;
    for (const std::string& key : keys) items.push_back({key, value});
    client.PutMany(items, [&](size_t, const Client::PutResult& result) {
      refused += !result;
      if (refused > 0) ++shared->operations;
    });
  }
  return 0;
}

// Into a cache that is full when the flood begins.
Flood NewItems(size_t value_bytes) {
  return [value_bytes](const Plovd& server, Shared* shared) {
    Client client = server.Connect({.timeout = std::chrono::seconds(30)});
    const std::string value(value_bytes, 'v');
    size_t stored_bytes = 0;
    for (uint64_t next = 0; !shared->stop; ++next) {
      if (!client.Put("new" + std::to_string(next), value)) return 1;
      stored_bytes += value_bytes;
      if (stored_bytes >= kCacheBytes) ++shared->operations;
    }
    return 0;
  };
}

// A message with as many of a request as fit.
std::vector<std::byte> MessageOf(verify::Request request, uint64_t client_id, size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  verify::MessageWriter writer(buffer, client_id);
  request.value_bytes = static_cast<uint32_t>(request.value.size());
  while (writer.Add(request)) ++request.request_id;
  const auto message = writer.Finish();
  return {message.begin(), message.end()};
}

std::vector<std::byte> MessageOfHits(uint64_t client_id, size_t bytes) {
  std::string hits(sizeof(verify::GetReport) + verify::kHitNamesMax * sizeof(verify::HitName), 'h');
  verify::Request request{.operation = verify::Operation::kConfirm};
  request.expected_version = UINT64_MAX;
  request.value = hits;
  return MessageOf(request, client_id, bytes);
}

// That ask for the largest item again and again.
template <bool suspect>
std::vector<std::byte> MessageOfGets(uint64_t client_id, size_t bytes) {
  return MessageOf({.operation = verify::Operation::kGet, .suspect = suspect, .key = "large"},
                   client_id, bytes);
}

// That have it summed up.
std::vector<std::byte> MessageOfReductions(uint64_t client_id, size_t bytes) {
  std::string call(verify::kVectorCallBytes, '\0');
  verify::EncodeVectorCall({static_cast<uint8_t>(VectorFunction::kAdd), 0, {}}, call.data());
  return MessageOf({.operation = verify::Operation::kReduce, .key = "large", .value = call},
                   client_id, bytes);
}

// Largest messages, one after the other.
Flood Messages(std::vector<std::byte> (*make)(uint64_t client_id, size_t bytes)) {
  return [make](const Plovd& server, Shared* shared) {
    const std::string value =
        VectorValue(ElementType::kInt8, std::string(kLargest - kVectorHeadBytes, 'v'));
    if (!server.Connect({.timeout = std::chrono::seconds(30)}).Put("large", value)) return 1;
    const fabric::ConnectOptions options{.shard = 0,
                                         .format_version = verify::kFormatVersion,
                                         .client_id = fabric::RandomId(),
                                         .deadline = Clock::now() + std::chrono::seconds(10)};
    auto connection = fabric::Connection::Connect(server.uri(), options);
    if (!connection) return 2;
    const auto message = make(options.client_id, (*connection)->limits().message_bytes_max);
    while (!shared->stop) {
      if (!(*connection)->alive()) return 3;
      if ((*connection)->Send(message)) ++shared->operations;
      while ((*connection)->Receive()) continue;
    }
    return 0;
  };
}

struct Seen {
  double put_p50_us, put_p99_us, put_most_us, get_p99_us;
  size_t puts;
};

double At(std::vector<double>* sorted, double part) {
  std::ranges::sort(*sorted);
  return (*sorted)[static_cast<size_t>(part * static_cast<double>(sorted->size() - 1))];
}

// loses: what it PUTs can go.
Seen PutAndGet(const Plovd& server, bool loses) {
  Client client = server.Connect();
  std::vector<double> puts, gets;
  const auto us_since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  const auto end = Clock::now() + std::chrono::seconds(test::NumberFrom("PLOV_FLOOD_SECONDS", 1));
  for (uint64_t number = 0; Clock::now() < end; ++number) {
    const std::string value = std::to_string(number);
    auto begin = Clock::now();
    const auto put = client.Put("honest", value);
    puts.push_back(us_since(begin));
    EXPECT_TRUE(put) << put.error().message;
    begin = Clock::now();
    const auto got = client.Get("honest");
    gets.push_back(us_since(begin));
    EXPECT_TRUE(got) << got.error().message;
    if (!got) break;
    EXPECT_TRUE(*got ? (*got)->value == value : loses);
    if (testing::Test::HasFailure()) break;
  }
  return {At(&puts, 0.5), At(&puts, 0.99), At(&puts, 1), At(&gets, 0.99), puts.size()};
}

void Print(const char* name, const Seen& seen, uint64_t flood) {
  std::printf("%-34s %8zu %9.1f %9.1f %9.1f %9.1f %12lu\n", name, seen.puts, seen.put_p50_us,
              seen.put_p99_us, seen.put_most_us, seen.get_p99_us, flood);
}

TEST(Flood, KeepsNobodyWaiting) {
  struct Case {
    const char* name;
    Flood flood;
    size_t connections;
    const char* memory;
    bool loses = false;  // what the other one PUTs can go
    bool evicts = false;
    const char* shards = "1";
  };
  const Case cases[] = {
      {"nothing", nullptr, 0, "256M"},
      {"small PUTs", SmallPuts, 1, "256M"},
      {"small PUTs on 16 connections", SmallPuts, 16, "256M"},
      {"PUTs of 16 MiB", LargePuts, 1, "256M"},
      {"TOUCHes of 16 MiB", Touches, 1, "256M"},
      {"commits of 128 writes", Commits, 1, "256M"},
      {"the same, of 4 shards", Commits, 1, "256M", false, false, "4"},
      {"flushes", Flushes, 1, "256M", true},
      {"refused PUTs", RefusedPuts, 1, "32M"},
      {"GETs by message of 16 MiB", Messages(MessageOfGets<false>), 1, "256M"},
      {"the same, suspect", Messages(MessageOfGets<true>), 1, "256M"},
      {"REDUCEs of 16 MiB", Messages(MessageOfReductions), 1, "256M"},
      {"new items in a full cache", NewItems(1000), 1, kCache, true, true},
      {"of 16 MiB", NewItems(kLargest), 1, kCache, true, true},
      {"hits told to a cache", Messages(MessageOfHits), 1, kCache, true, true},
  };
  std::printf("%-34s %8s %9s %9s %9s %9s %12s\n", "flood", "PUTs", "p50 us", "p99 us", "most us",
              "GET p99", "flood's ops");
  for (const Case& one : cases) {
    const Plovd server({"--memory", one.memory, one.evicts ? "--evict=yes" : "--evict=no",
                        "--shards", one.shards});
    ASSERT_TRUE(server.Connect().Put("honest", "first"));
    const SharedMemory<Shared> shared;
    std::vector<Child> children;
    for (size_t i = 0; i < one.connections; ++i) {
      children.push_back(Child::Fork([&] { return one.flood(server, shared.get()); }));
    }
    for (int tries = 0; one.connections > 0 && shared->operations == 0; ++tries) {
      ASSERT_LT(tries, 6000) << one.name << " does not begin";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const Seen seen = PutAndGet(server, one.loses);
    shared->stop = true;
    for (Child& child : children) EXPECT_EQ(child.Wait(60), 0) << one.name;
    Print(one.name, seen, shared->operations);
  }
}

}  // namespace
}  // namespace plov
