// A server of a cluster in this process: which shards it serves, whose keys it takes, what it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <stdexcept>
#include <thread>

#include "server/cluster_member.h"
#include "server/server.h"
#include "server/settings.h"
#include "tests/server/cluster_values.h"
#include "tests/support/folder.h"
#include "tests/support/shard_client.h"

namespace plov::server {
namespace {

using test::MapReader;
using test::ShardClient;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using verify::kSlots;

uint32_t SlotOf(const std::string& key) {
  return cluster::SlotOf(cuckoo::HashKey(key, test::kClusterSeed));
}

// A server whose listeners a thread takes care of, as plovd's main thread does.
class RunningServer {
 public:
  explicit RunningServer(const ServerOptions& options) {
    auto server = Server::Create(options);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    server_->Start();
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~RunningServer() { thread_ = {}; }

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }

 private:
  void Run(const std::stop_token& stop) {
    std::vector<pollfd> fds = {{server_->cluster()->fd(), POLLIN, 0}};
    for (const auto& listener : server_->listeners()) fds.push_back({listener->fd(), POLLIN, 0});
    while (!stop.stop_requested()) {
      ::poll(fds.data(), fds.size(), 10);
      if (fds[0].revents != 0) server_->cluster()->HandleEvents();
      for (const auto& listener : server_->listeners()) listener->HandleEvents();
      for (const auto& command : server_->commands()->Take()) {
        server_->commands()->Answer(command.get(), command->name + "\n");
      }
    }
  }

  std::unique_ptr<Server> server_;
  std::jthread thread_;
};

class ClusterServer : public ::testing::Test {
 protected:
  // b1 has the first half of the slots, a1 the rest in two shards; c1 has none.
  cluster::Values Values() const {
    return test::ValuesOf({{"a1", UriOf("a1")}, {"b1", UriOf("b1")}, {"c1", UriOf("c1")}},
                          {{0, 8191, "b1"}, {8192, 12'000, "a1"}, {12'001, kSlots - 1, "a1"}});
  }
  std::string UriOf(const std::string& id) const { return "shm:" + folder_.path() + "/" + id; }
  ServerOptions OptionsFor(const std::string& id) const {
    ClusterMember member = *MemberOf(Values(), id);
    ServerOptions options;
    options.uris = member.uris;
    options.shards = member.shards;
    options.cluster = member.view;
    options.memory_bytes = size_t{64} << 20;
    return options;
  }
  // A key of the shard with this number.
  std::string KeyOf(uint32_t shard) const {
    const cluster::Shard of = Values().shards.at(shard);
    for (uint64_t i = 0;; ++i) {
      const std::string key = "key" + std::to_string(i);
      if (SlotOf(key) >= of.slot_first && SlotOf(key) <= of.slot_last) return key;
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(ClusterServer, ServesItsShardsByTheirNumbersAndNoOther) {
  RunningServer server(OptionsFor("a1"));
  for (const uint32_t shard : {1u, 2u}) {
    auto client = ShardClient::Connect(UriOf("a1"), shard);
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_EQ(client->Put(KeyOf(shard), "value")->status, Code::kOk);
    EXPECT_EQ(client->Get(KeyOf(shard))->value, "value");
  }
  for (const uint32_t shard : {0u, 3u, fabric::kShardMax - 1}) {
    const auto client = ShardClient::Connect(UriOf("a1"), shard);
    ASSERT_FALSE(client) << shard;
    EXPECT_EQ(client.error().code, Code::kNoShard);
  }
}

// By slots: by the number of shards each third of the hashes would be its.
TEST_F(ClusterServer, AWriteOfAnotherShardsKeyEndsTheConnection) {
  RunningServer server(OptionsFor("a1"));
  for (const uint32_t shard : {0u, 1u, 2u}) {
    auto client = ShardClient::Connect(UriOf("a1"), 1);
    ASSERT_TRUE(client) << client.error().message;
    const auto answer = client->Put(KeyOf(shard), "value");
    EXPECT_EQ(answer.has_value(), shard == 1) << shard;
  }
  EXPECT_EQ(server->facts().items, 1u);
}

TEST_F(ClusterServer, EveryKeyIsTakenByTheShardOfItsSlot) {
  RunningServer a1(OptionsFor("a1"));
  RunningServer b1(OptionsFor("b1"));
  std::vector<ShardClient> clients;
  for (const auto& [shard, id] : {std::pair(0u, "b1"), {1u, "a1"}, {2u, "a1"}}) {
    clients.push_back(std::move(*ShardClient::Connect(UriOf(id), shard)));
  }
  for (int i = 0; i < 300; ++i) {
    const std::string key = "k" + std::to_string(i);
    const uint32_t slot = SlotOf(key);
    ShardClient& client = clients[slot <= 8191 ? 0 : slot <= 12'000 ? 1 : 2];
    const auto answer = client.Put(key, key);
    ASSERT_TRUE(answer) << key;
    EXPECT_EQ(answer->status, Code::kOk);
  }
  EXPECT_EQ(a1->facts().items + b1->facts().items, 300u);
}

TEST_F(ClusterServer, MapAndOathsAreToBeRead) {
  const ServerOptions options = OptionsFor("a1");
  RunningServer server(options);
  auto reader = MapReader::Connect(UriOf("a1"));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->Head()->cluster_id, test::kClusterNumber);
  verify::ClusterMap expected = options.cluster->map;
  expected.version = 1;
  EXPECT_EQ(reader->Map(), expected);
  EXPECT_EQ(reader->OathOf(0), 0u) << "b1 has it";
  EXPECT_EQ(reader->OathOf(1), verify::Oath(test::kClusterNumber, 1, 8, 101));
  EXPECT_EQ(reader->OathOf(2), verify::Oath(test::kClusterNumber, 2, 9, 102));
  EXPECT_EQ(reader->OathOf(3), 0u);
}

TEST_F(ClusterServer, OathsAreShownOnceItServes) {
  const auto server = *Server::Create(OptionsFor("a1"));
  std::byte* const memory = server->cluster()->region().data();
  const auto oath = [&] {
    return verify::LoadWord(verify::WordsAt(memory, verify::OathOffset(1)));
  };
  EXPECT_EQ(oath(), 0u);
  server->Start();
  EXPECT_NE(oath(), 0u);
}

TEST_F(ClusterServer, WithoutShardsItServesTheMap) {
  ServerOptions options = OptionsFor("c1");
  options.log.folder = folder_.path() + "/log";
  options.warm_path = folder_.path() + "/warm";
  RunningServer server(options);
  auto reader = MapReader::Connect(UriOf("c1"));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->Map()->shards.size(), 3u);
  EXPECT_EQ(ShardClient::Connect(UriOf("c1"), 0).error().code, Code::kNoShard);
  EXPECT_TRUE(server->ReadCounters().empty());
  EXPECT_TRUE(server->RaiseMemory(size_t{128} << 20));
  EXPECT_FALSE(server->RaiseMemory(size_t{64} << 20));
}

TEST_F(ClusterServer, WhoDoesMoreThanReadTheMapIsSentAway) {
  RunningServer server(OptionsFor("a1"));
  auto stranger = MapReader::Connect(UriOf("a1"), /*reads_only=*/false);
  const fabric::Deadline deadline = test::Soon();
  while (stranger && stranger->connection().alive()) {
    ASSERT_LT(fabric::Clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(MapReader::Connect(UriOf("a1"))->Map());
}

// Places are few: those of readers that went are given back.
TEST_F(ClusterServer, ReadersComeAndGo) {
  ServerOptions options = OptionsFor("a1");
  options.clients_max = 4;
  RunningServer server(options);
  const fabric::Deadline deadline = test::Soon();
  for (int come = 0; come < 40;) {
    auto reader = MapReader::Connect(UriOf("a1"));
    ASSERT_LT(fabric::Clock::now(), deadline) << reader.error().message;
    if (!reader) {  // the one before has not been seen to go
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    EXPECT_TRUE(reader->Map());
    ++come;
  }
}

TEST_F(ClusterServer, SaysWhoItIs) {
  RunningServer server(OptionsFor("a1"));
  const auto counters = server->ReadCounters();
  ASSERT_EQ(counters.size(), 2u);
  const std::string who = "cluster.id fedcba9876543210\ncluster.server a1\ncluster.shards 1-2\n";
  EXPECT_THAT(counters[0].text, HasSubstr("cluster.shard 1\n" + who));
  EXPECT_THAT(counters[1].text, HasSubstr("cluster.shard 2\n" + who));
  Options options;
  options.server = OptionsFor("a1");
  const Settings settings(options, 0, nullptr, &*server);
  EXPECT_THAT(*settings.Get(""), HasSubstr(who));
  EXPECT_THAT(*settings.Get("spin-us"), ::testing::Not(HasSubstr("cluster")));
}

// Those of the server's first shard.
TEST_F(ClusterServer, CommandsOfOperatorsAreAnswered) {
  RunningServer server(OptionsFor("a1"));
  auto client = ShardClient::Connect(UriOf("a1"), 1);
  ASSERT_TRUE(client) << client.error().message;
  const auto answer = client->Ask({.operation = verify::Operation::kAdminister, .key = "config"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->value, "config\n");
}

// Starts on what another start has left.
class ClusterRestart : public ClusterServer {
 protected:
  ServerOptions With(bool warm, bool log, const std::string& id = "a1") const {
    ServerOptions options = OptionsFor(id);
    if (warm) options.warm_path = folder_.path() + "/warm";
    if (log) options.log.folder = folder_.path() + "/log";
    return options;
  }
  void PutEach(const ServerOptions& options) const {
    RunningServer server(options);
    for (const uint32_t shard : {1u, 2u}) {
      EXPECT_EQ(ShardClient::Connect(UriOf("a1"), shard)->Put(KeyOf(shard), "kept")->status,
                Code::kOk);
    }
  }
  void ExpectEach(const ServerOptions& options) const {
    RunningServer server(options);
    for (const uint32_t shard : {1u, 2u}) {
      EXPECT_EQ(ShardClient::Connect(UriOf("a1"), shard)->Get(KeyOf(shard))->value, "kept");
    }
  }
  static std::string Refusal(const ServerOptions& options) {
    const auto server = Server::Create(options);
    return server ? "accepted" : server.error().message;
  }
  // The same server where slots are divided otherwise between its two shards.
  static ServerOptions Divided(ServerOptions options) {
    options.shards.hosted[0].slots.last = options.shards.hosted[1].slots.first = 8192;
    return options;
  }
  bool IsThere(const std::string& name) const {
    return std::filesystem::exists(folder_.path() + "/" + name);
  }
};

TEST_F(ClusterRestart, MemoryAndLogAreKeptUnderTheShardsNumbers) {
  for (const auto& [warm, log] : {std::pair(true, false), {false, true}, {true, true}}) {
    for (const char* name : {"warm.1", "warm.2", "log"}) {
      std::filesystem::remove_all(folder_.path() + "/" + name);
    }
    PutEach(With(warm, log));
    EXPECT_EQ(IsThere("warm.1") && IsThere("warm.2"), warm);
    EXPECT_FALSE(IsThere("warm") || IsThere("warm.0"));
    EXPECT_EQ(IsThere("log/1.1.log") && IsThere("log/2.1.log"), log);
    ExpectEach(With(warm, log));
  }
}

TEST_F(ClusterRestart, MemoryOfOthersIsRefused) {
  PutEach(With(true, false));
  ServerOptions options = With(true, false);
  ++options.shards.hash_seed;
  EXPECT_THAT(Refusal(options), HasSubstr("warm.1: belongs to another cluster"));
  options = With(true, false);
  ++options.shards.count;
  EXPECT_THAT(Refusal(options), HasSubstr("holds shard 1 of 3, not shard 1 of the cluster's 4"));
  EXPECT_THAT(Refusal(Divided(With(true, false))), HasSubstr("holds items that are not shard 1's"));
  std::filesystem::rename(folder_.path() + "/warm.1", folder_.path() + "/away");
  std::filesystem::rename(folder_.path() + "/warm.2", folder_.path() + "/warm.1");
  EXPECT_THAT(Refusal(With(true, false)), HasSubstr("holds shard 2 of 3, not shard 1"));
  std::filesystem::rename(folder_.path() + "/warm.1", folder_.path() + "/warm.2");
  std::filesystem::rename(folder_.path() + "/away", folder_.path() + "/warm.1");
  ExpectEach(With(true, false));
}

// Also at the second try: the first has left nothing that looks like it. Whichever it is.
TEST_F(ClusterRestart, MemoryOfWhichOneShardsIsMissingIsRefused) {
  PutEach(With(true, false));
  for (const char* lost : {"/warm.1", "/warm.2"}) {
    std::filesystem::rename(folder_.path() + lost, folder_.path() + "/away");
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(Refusal(With(true, false)), HasSubstr(std::string(lost) + " was not there"));
    }
    std::filesystem::rename(folder_.path() + "/away", folder_.path() + lost);
  }
  ExpectEach(With(true, false));
}

TEST_F(ClusterRestart, LogOfOthersIsRefused) {
  PutEach(With(false, true));
  ServerOptions options = With(false, true);
  ++options.shards.cluster_id;
  EXPECT_THAT(Refusal(options), HasSubstr("holds the log of shard 1 of another cluster"));
  options = With(false, true);
  ++options.shards.hash_seed;
  EXPECT_THAT(Refusal(options), HasSubstr("or another hash seed"));
  options = With(false, true);
  ++options.shards.count;
  EXPECT_THAT(Refusal(options), HasSubstr("of 3, and the cluster has 4 shards now"));
  options = With(false, true);
  options.shards.hosted.pop_back();
  EXPECT_THAT(Refusal(options), HasSubstr("shard 2 of the cluster, which it gives another server"));
  EXPECT_THAT(Refusal(With(false, true, "c1")), HasSubstr("which it gives another server"));
  options = With(false, true);
  options.shards.hosted.push_back({0, {0, 8191, kSlots}});
  std::ranges::sort(options.shards.hosted, {}, &ShardSet::Hosted::number);
  EXPECT_THAT(Refusal(options), HasSubstr("the files of shard 0 are missing"));
  EXPECT_THAT(Refusal(Divided(With(false, true))),
              HasSubstr("it holds keys that are not this shard's"));
  ExpectEach(With(false, true));
}

TEST_F(ClusterRestart, LogOfASingleServerIsRefusedAndTheOtherWayRound) {
  ServerOptions alone;
  alone.uris = {UriOf("alone")};
  alone.shards = ShardSet::Of(3);
  alone.memory_bytes = size_t{64} << 20;
  alone.log.folder = folder_.path() + "/log";
  ASSERT_TRUE(Server::Create(alone));
  EXPECT_THAT(Refusal(With(false, true)),
              HasSubstr("holds the log of shard 0 of a server without a cluster"));
  std::filesystem::remove_all(folder_.path() + "/log");
  PutEach(With(false, true));
  EXPECT_THAT(Refusal(alone), HasSubstr("holds the log of a cluster's shard 1"));
}

// Files of a shard that another server gets go on there.
TEST_F(ClusterRestart, LogOfAShardGoesOnInTheFolderOfAnotherServer) {
  PutEach(With(false, true));
  std::filesystem::create_directory(folder_.path() + "/other");
  std::filesystem::rename(folder_.path() + "/log/2.1.log", folder_.path() + "/other/2.1.log");
  ServerOptions one = With(false, true), other = With(false, true);
  one.shards.hosted.pop_back();
  other.shards.hosted.erase(other.shards.hosted.begin());
  other.log.folder = folder_.path() + "/other";
  other.uris = {UriOf("b1")};
  RunningServer has_one(one);
  RunningServer has_other(other);
  EXPECT_EQ(ShardClient::Connect(UriOf("a1"), 1)->Get(KeyOf(1))->value, "kept");
  EXPECT_EQ(ShardClient::Connect(UriOf("b1"), 2)->Get(KeyOf(2))->value, "kept");
}

}  // namespace
}  // namespace plov::server
