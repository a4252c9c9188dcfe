// Clients of a server that lies in every field that it can: errors within the deadline, and no more
// memory or connections than an honest server of its size could cause.
#include "tests/client/hostile_server.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cuckoo/hash.h"
#include "verify/record.h"
#include "verify/vector.h"
#include "verify/words.h"

namespace plov::test {
namespace {

using verify::Bucket;
using verify::MessageWriter;

constexpr ClientOptions kHasty{.timeout = std::chrono::milliseconds(100)};
// Where what comes is another error than that of the deadline, which a busy machine may miss.
constexpr ClientOptions kPatient{.timeout = std::chrono::seconds(20)};

Code CodeOf(const auto& result) { return result ? Code::kOk : result.error().code; }

// A client whose calls end soon; on a busy machine its connection may take longer than they.
std::expected<Client, Error> ConnectHasty(const HostileServer& server) {
  auto client = Client::Connect(server.uri(), kHasty);
  for (int tries = 0; tries < 200 && CodeOf(client) == Code::kTimeout; ++tries) {
    client = Client::Connect(server.uri(), kHasty);
  }
  return client;
}

// Every call of a client; that each ends is what is tested.
void CallAll(Client* client) {
  const std::string large(300'000, 'v');
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  const std::vector<PutItem> items = {{"a", "1"}, {"b", large}, {"c", "3"}};
  size_t answers = 0;
  (void)client->Get("key");
  (void)client->Put("key", "value");
  (void)client->Put("key", large);
  (void)client->Delete("key");
  client->GetMany(keys, [&](size_t, const Client::GetResult&) { ++answers; });
  client->PutMany(items, [&](size_t, const Client::PutResult&) { ++answers; });
  (void)client->UpdateVector("key", VectorFunction::kAdd, 1);
  (void)client->ReduceVector("key", VectorFunction::kAdd);
  (void)client->FilterVector("key", Comparison::kLess, 1);
  (void)client->Ping();
  (void)client->ServerStats();
  (void)client->Sync();
  (void)client->Snapshot();
  (void)client->Scan([](std::string_view, const Item&) { return true; });
  EXPECT_EQ(answers, keys.size() + items.size());
}

void ConnectAndCallAll(const HostileServer& server) {
  auto client = Client::Connect(server.uri(), kHasty);
  if (client) CallAll(&*client);
}

TEST(HostileServer, LeftAloneIsAnEmptyServer) {
  HostileServer server;
  server.Start();
  auto client = Client::Connect(server.uri(), kPatient);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  const auto hit = client->Get("key");
  ASSERT_TRUE(hit.has_value()) << hit.error().message;
  EXPECT_FALSE(hit->has_value());
  const auto summary = client->Scan([](std::string_view, const Item&) { return true; });
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->items, 0u);
  EXPECT_TRUE(summary->settled);
}

TEST(HostileServer, ShardsThatAreNotThereAreNotConnectedTo) {
  for (const uint32_t shard_count : {0u, 16385u, 1'000'000'000u, UINT32_MAX}) {
    HostileServer server;
    server.superblock.shard_count = shard_count;
    server.Start();
    EXPECT_EQ(CodeOf(Client::Connect(server.uri(), kPatient)), Code::kProtocol) << shard_count;
    EXPECT_EQ(server.connects(), 1u);
  }
  HostileServer server;  // as many as there may be: the second is not what it says
  server.superblock.shard_count = verify::kShardsMax;
  server.Start();
  EXPECT_EQ(CodeOf(Client::Connect(server.uri(), kPatient)), Code::kProtocol);
  EXPECT_EQ(server.connects(), 2u);
}

// Above all no code that is another call's answer, as kNotFound is a GET's.
TEST(HostileServer, RefusalIsUnavailableOrNoneThatThereIs) {
  for (uint32_t status = 1; status <= 20; ++status) {
    HostileServer server;
    server.change_welcome = [status](auto* welcome) { welcome->status = status; };
    server.Start();
    const Code code = CodeOf(Client::Connect(server.uri(), kPatient));
    const Code said = static_cast<Code>(status);
    const bool later = said == Code::kUnavailable || said == Code::kNoShard;
    const Code expected = later ? Code::kUnavailable
                                : (said == Code::kPermission ? Code::kPermission : Code::kProtocol);
    EXPECT_EQ(code, expected) << status;
  }
}

TEST(HostileServer, TablesBeyondTheRegionAreRefused) {
  for (const uint64_t buckets : {uint64_t{1} << 60, uint64_t{1} << 58, UINT64_MAX, uint64_t{0}}) {
    HostileServer server;
    server.superblock.tables[0].bucket_count = buckets;
    server.Start();
    EXPECT_EQ(CodeOf(Client::Connect(server.uri(), kPatient)), Code::kProtocol) << buckets;
  }
}

TEST(HostileServer, MemoryThatIsNotThereIsRefused) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    HostileServer region, staging;
    region.change_welcome = [=](auto* welcome) { welcome->region_bytes = bytes; };
    staging.change_welcome = [=](auto* welcome) {
      welcome->staging_bytes = bytes / 2 + (64 << 20) + 1;
    };
    for (HostileServer* server : {&region, &staging}) {
      server->Start();
      EXPECT_EQ(CodeOf(Client::Connect(server->uri(), kPatient)), Code::kProtocol) << bytes;
    }
  }
}

// A region that costs the server nothing: 64 GiB of holes, all of them one table.
TEST(HostileServer, ScanOfATableThatNobodyWroteEndsEarly) {
  constexpr size_t kRegionBytes = size_t{64} << 30;
  HostileServer server(kRegionBytes);
  server.superblock.tables[0].bucket_count = (kRegionBytes - verify::kRegionHeadBytes) / 64;
  server.Start();
  auto client = Client::Connect(server.uri(), kPatient);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  const auto summary = client->Scan([](std::string_view, const Item&) { return true; });
  EXPECT_EQ(CodeOf(summary), Code::kCorrupt);
}

// All buckets refer to the same large record.
TEST(HostileServer, ScanTakesNoMoreBytesThanTheRegionHas) {
  constexpr size_t kRegionBytes = 1 << 20;
  HostileServer server(kRegionBytes);
  const std::string value(500'000, 'v');
  const uint64_t offset = kRegionBytes / 4;
  uint64_t* words = verify::WordsAt(server.memory(), offset);
  const verify::ItemView item{"key", value, 7, 0, 0};
  const size_t bytes = verify::RecordBytes(item.key.size(), value.size());
  verify::WriteRecordHead(words, item, value.size());
  verify::WriteRecordValue(words, item.key.size(), value, item.mask);
  verify::SealRecord(words, bytes, verify::RecordSeed(server.superblock.incarnation));
  Bucket bucket;
  bucket.SetReference({cuckoo::HashKey("key", server.superblock.hash_seed), item.version, offset,
                       static_cast<uint32_t>(bytes), 0},
                      verify::kBucketBytesMin);
  for (uint64_t i = 0; i < HostileServer::kBuckets; ++i) server.Store(i, bucket);
  server.Start();
  auto client = Client::Connect(server.uri(), kPatient);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  uint64_t seen = 0;
  const auto summary = client->Scan([&](std::string_view, const Item& got) {
    seen += got.value.size();
    return true;
  });
  EXPECT_EQ(CodeOf(summary), Code::kCorrupt);
  EXPECT_GT(seen, kRegionBytes);
  EXPECT_LT(seen, 6 * kRegionBytes);
}

// Replies that nobody waits for, one after the other: some, none in a message, and with ever newer
// superblocks to READ.
TEST(HostileServer, MessagesWithoutEndKeepNoCallBeyondItsDeadline) {
  for (const int replies : {0, 1, 600}) {
    uint64_t version = 1;
    HostileServer server;
    server.change_reply = [](const verify::Request& request, verify::Reply* reply) {
      if (request.operation != verify::Operation::kConfirm) reply->request_id ^= 1ull << 40;
    };
    server.harass = [&](HostileServer::Peer* peer) {
      std::array<std::byte, 32 << 10> buffer;
      for (int i = 0; i < 8; ++i) {
        MessageWriter message(buffer, peer->client_id);
        for (int j = 0; j < replies; ++j) message.Add(verify::Reply{.request_id = UINT64_MAX});
        server.Send(peer, &message, version);
      }
      server.superblock.version = ++version;
      server.Publish();
    };
    server.Start();
    ConnectAndCallAll(server);
  }
}

TEST(HostileServer, ConnectionsThatEndAtOnceKeepNoCallBeyondItsDeadline) {
  std::atomic<bool> ends = false;
  HostileServer server;
  server.harass = [&](HostileServer::Peer* peer) {
    if (ends.load(std::memory_order_relaxed)) {
      peer->channel.closed()->store(1, std::memory_order_release);
    }
  };
  server.Start();
  auto client = Client::Connect(server.uri(), kPatient);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  auto hasty = ConnectHasty(server);
  ASSERT_TRUE(hasty.has_value());
  ends.store(true, std::memory_order_relaxed);
  CallAll(&*hasty);
}

TEST(HostileServer, RepliesThatNameImpossibleRecordsAreErrors) {
  constexpr uint64_t kOffsets[] = {0, 1, 1 << 20, UINT64_MAX, UINT64_MAX - 63};
  constexpr uint32_t kLengths[] = {0, 40, 4096, 1 << 24, UINT32_MAX};
  for (const uint64_t offset : kOffsets) {
    for (const uint32_t length : kLengths) {
      HostileServer server;
      for (uint64_t i = 0; i < HostileServer::kBuckets; ++i) {
        std::memset(server.memory() + verify::kRegionHeadBytes + i * 64, 1, 64);  // never whole
      }
      server.change_reply = [=](const verify::Request& request, verify::Reply* reply) {
        if (request.operation != verify::Operation::kGet) return;
        *reply = {.held = true,
                  .value_bytes = length,
                  .request_id = request.request_id,
                  .version = 1,
                  .record_offset = offset,
                  .record_bytes = length};
      };
      server.Start();
      auto client = ConnectHasty(server);
      ASSERT_TRUE(client.has_value()) << client.error().message;
      EXPECT_NE(CodeOf(client->Get("key")), Code::kOk) << offset << " " << length;
    }
  }
}

TEST(HostileServer, AnswersAboutVectorsThatMakeNoSenseAreErrors) {
  constexpr uint64_t kOver = VectorSlice::kToEnd;
  const auto answer = [](uint64_t count, std::string_view rest, uint8_t type = 4) {
    return verify::EncodeVectorAnswer({type, count}).append(rest);
  };
  const auto matches = [](uint32_t first, uint32_t step, size_t count) {
    std::string bytes;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = first + i * step;
      bytes.append(reinterpret_cast<const char*>(&index), sizeof(index)).append(8, 'e');
    }
    return bytes;
  };
  const std::string many = matches(0, 1, 200);
  for (const std::string& text :
       {std::string(), answer(1, "1234567"), answer(1, "123456789"), answer(1, "12345678", 0),
        answer(1, "12345678", 11), answer(kOver, "12345678901"), answer(kOver, matches(5, 0, 2)),
        answer(kOver, matches(5, UINT32_MAX, 2)), answer(kOver, matches(1 << 24, 1, 1)),
        answer(kOver, matches(0, 1, 1), 5), answer(0, many), answer(199, many),
        answer(1 << 25, many), answer(300, matches(0, 1, 5)), answer(300, many)}) {
    HostileServer server;
    server.change_reply = [&text](const verify::Request& request, verify::Reply* reply) {
      if (!verify::IsOfVector(request.operation)) return;
      reply->value = text;
      reply->value_bytes = static_cast<uint32_t>(text.size());
    };
    server.Start();
    auto client = Client::Connect(server.uri(), kPatient);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(CodeOf(client->ReduceVector("key", VectorFunction::kAdd)), Code::kProtocol);
    EXPECT_EQ(CodeOf(client->FilterVector("key", Comparison::kLess, int64_t{1})), Code::kProtocol);
  }
}

TEST(HostileServer, TimesThatNoItemCanHaveAreNotTold) {
  constexpr uint64_t kLastUs = uint64_t{UINT32_MAX} * 1'000'000;
  for (const uint64_t clock_us : {kLastUs + 1, uint64_t{1} << 63, UINT64_MAX - kLastUs}) {
    HostileServer server;
    server.clock_us = clock_us;
    server.Start();
    auto client = Client::Connect(server.uri(), kPatient);
    ASSERT_TRUE(client);
    EXPECT_EQ(CodeOf(client->Time("key")), Code::kProtocol) << clock_us;
  }
}

// Any word of the memory and of the reply ring, at any time.
TEST(HostileServer, MemoryThatChangesAtRandomIsOnlyEverAnError) {
  for (uint64_t round = 0; round < 12; ++round) {
    std::mt19937_64 random(round);
    HostileServer server;
    server.harass = [&](HostileServer::Peer* peer) {
      const uint64_t word = random() >> (random() % 64);
      const uint64_t offset = random() % (verify::kRegionHeadBytes + HostileServer::kBuckets * 64);
      verify::StoreWord(verify::WordsAt(server.memory(), offset & ~7ull), word);
      const auto ring = peer->channel.reply_data();
      verify::StoreWord(verify::WordsAt(ring.data(), random() % ring.size() & ~7ull), word);
      if (random() % 16 == 0) server.Publish();
      Bucket bucket;
      for (size_t i = 1; i < 8; ++i) bucket.words()[i] = random() >> (random() % 64);
      server.Store(random() % HostileServer::kBuckets, bucket);
    };
    server.Start();
    ConnectAndCallAll(server);
  }
}

}  // namespace
}  // namespace plov::test
