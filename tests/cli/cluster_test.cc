// plovd --cluster static:FILE: three servers of one file on this host, killed and started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/server/cluster_values.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/plovd.h"
#include "tests/support/shard_client.h"

namespace plov::test {
namespace {

using ::testing::HasSubstr;
using verify::kSlots;

constexpr int kKeys = 200;

// a1 and b1 have two shards each, c1 has none.
class ClusterOfThree : public ::testing::Test {
 protected:
  ClusterOfThree() { std::ofstream(file_) << FileOf(values_); }

  std::string UriOf(const std::string& id) const { return "shm:" + folder_.path() + "/" + id; }

  void Start(const std::string& id, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {PlovdPath(), "--cluster", "static:" + file_, "--id", id};
    arguments.insert(arguments.end(), {"--memory", "64M", "--max-clients", "100"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string output = folder_.path() + "/" + id + ".out";
    servers_.erase(id);
    std::filesystem::remove(output);
    servers_.emplace(id, Child::Exec(arguments, output));
    const fabric::Deadline deadline = Soon();
    while (OutputOf(id).find("plovd: ready on ") == std::string::npos) {
      ASSERT_LT(fabric::Clock::now(), deadline) << OutputOf(id);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void StartAll(const std::vector<std::string>& of_each = {}) {
    for (const char* id : {"a1", "b1", "c1"}) Start(id, With(id, of_each));
  }
  // Each server has files of its own below the folder: "--log" becomes "--log FOLDER/ID.log".
  std::vector<std::string> With(const std::string& id, const std::vector<std::string>& options) {
    std::vector<std::string> all;
    for (const std::string& option : options) {
      all.push_back(option);
      all.push_back(folder_.path() + "/" + id + option.substr(1));
    }
    return all;
  }
  void Kill(const std::string& id) {
    servers_.at(id).Signal(SIGKILL);
    EXPECT_EQ(servers_.at(id).Wait(), -SIGKILL);
  }
  std::string OutputOf(const std::string& id) const {
    std::ifstream file(folder_.path() + "/" + id + ".out");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  uint32_t ShardOf(const std::string& key) const {
    const uint32_t slot = cluster::SlotOf(cuckoo::HashKey(key, kClusterSeed));
    return std::ranges::find_if(values_.shards,
                                [slot](const auto& entry) {
                                  return slot >= entry.second.slot_first &&
                                         slot <= entry.second.slot_last;
                                })
        ->first;
  }
  ShardClient ClientOf(uint32_t shard) const {
    auto client = ShardClient::Connect(UriOf(values_.shards.at(shard).primary), shard);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }
  void PutAll(const std::string& value) const {
    for (uint32_t shard = 0; shard < values_.shards.size(); ++shard) {
      ShardClient client = ClientOf(shard);
      for (const std::string& key : KeysOf(shard)) {
        const auto answer = client.Put(key, value);
        ASSERT_TRUE(answer) << key;
        EXPECT_EQ(answer->status, Code::kOk);
      }
    }
  }
  void ExpectAll(uint32_t shard, const std::string& value) const {
    ShardClient client = ClientOf(shard);
    for (const std::string& key : KeysOf(shard)) {
      const auto answer = client.Get(key);
      ASSERT_TRUE(answer) << key;
      EXPECT_EQ(answer->value, value) << key;
    }
  }
  std::vector<std::string> KeysOf(uint32_t shard) const {
    std::vector<std::string> keys;
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "user:" + std::to_string(i);
      if (ShardOf(key) == shard) keys.push_back(key);
    }
    return keys;
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/cluster.json";
  const cluster::Values values_ = ValuesOf(
      {{"a1", UriOf("a1")}, {"b1", UriOf("b1")}, {"c1", UriOf("c1")}},
      {{0, 4999, "a1"}, {5000, 8191, "b1"}, {8192, 12'000, "a1"}, {12'001, kSlots - 1, "b1"}});
  std::map<std::string, Child> servers_;
};

TEST_F(ClusterOfThree, ServesAllKeysAndShowsOneMap) {
  StartAll();
  PutAll("value");
  for (uint32_t shard = 0; shard < 4; ++shard) ExpectAll(shard, "value");
  std::optional<verify::ClusterMap> map;
  for (const char* id : {"a1", "b1", "c1"}) {
    auto reader = MapReader::Connect(UriOf(id));
    ASSERT_TRUE(reader) << reader.error().message;
    const auto shown = reader->Map();
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown, map.value_or(*shown));
    map = shown;
    for (const auto& [number, shard] : values_.shards) {
      const uint64_t oath =
          verify::Oath(kClusterNumber, number, shard.epoch, shard.in_sync.front().incarnation);
      EXPECT_EQ(reader->OathOf(number), shard.primary == id ? oath : 0) << id << " " << number;
    }
  }
  for (const verify::ClusterMap::Shard& shard : map->shards) {
    const auto& server = map->servers[shard.in_sync[shard.primary].server];
    EXPECT_TRUE(ShardClient::Connect(server.uris.front(), shard.number));
  }
}

TEST_F(ClusterOfThree, AClientOfASingleServerIsTold) {
  StartAll();
  for (const char* id : {"a1", "b1", "c1"}) {
    const auto client = Client::Connect(UriOf(id));
    ASSERT_FALSE(client) << id;
    EXPECT_EQ(client.error().code, Code::kInvalidArgument);
    EXPECT_THAT(client.error().message, HasSubstr("connect to cluster:" + UriOf(id)));
  }
}

// By a seed that has no shards.
TEST_F(ClusterOfThree, AClientGoesOnWithTheOthersWhileOneIsAway) {
  StartAll({"--log"});
  auto client = Client::Connect("cluster:" + UriOf("c1"), {.timeout = std::chrono::seconds(20)});
  ASSERT_TRUE(client) << client.error().message;
  const auto put_all = [&](uint32_t shard) {
    for (const std::string& key : KeysOf(shard)) EXPECT_TRUE(client->Put(key, key)) << key;
  };
  const auto expect_all = [&](uint32_t shard) {
    for (const std::string& key : KeysOf(shard)) {
      const auto got = client->Get(key);
      ASSERT_TRUE(got && *got) << key;
      EXPECT_EQ((*got)->value, key);
    }
  };
  for (uint32_t shard = 0; shard < 4; ++shard) put_all(shard);
  Kill("b1");
  for (const uint32_t shard : {0u, 2u}) {
    expect_all(shard);
    put_all(shard);
  }
  auto hasty = Client::Connect("cluster:" + UriOf("b1") + "," + UriOf("a1"),
                               {.timeout = std::chrono::milliseconds(200)});
  ASSERT_TRUE(hasty) << hasty.error().message;
  const auto away = hasty->Get(KeysOf(1).front());
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable);
  EXPECT_THAT(away.error().message, HasSubstr("shard 1 of the cluster: "));
  Start("b1", With("b1", {"--log"}));
  for (uint32_t shard = 0; shard < 4; ++shard) expect_all(shard);
}

TEST_F(ClusterOfThree, OneThatIsKilledIsBackWithItsMemoryWhileOthersServe) {
  StartAll({"--warm"});
  PutAll("warm");
  Kill("a1");
  for (const uint32_t shard : {1u, 3u}) ExpectAll(shard, "warm");
  Start("a1", With("a1", {"--warm"}));
  for (uint32_t shard = 0; shard < 4; ++shard) ExpectAll(shard, "warm");
}

TEST_F(ClusterOfThree, AllThatAreKilledAreBackWithTheirLogs) {
  StartAll({"--log"});
  PutAll("logged");
  for (const char* id : {"a1", "b1", "c1"}) Kill(id);
  StartAll({"--log"});
  for (uint32_t shard = 0; shard < 4; ++shard) ExpectAll(shard, "logged");
  for (const char* id : {"a1", "b1"}) Kill(id);
  StartAll({"--log", "--warm"});
  for (uint32_t shard = 0; shard < 4; ++shard) ExpectAll(shard, "logged");
}

TEST_F(ClusterOfThree, ListensWhereItIsToldTo) {
  const std::string other = UriOf("other");
  Start("a1", {"--listen", other});
  EXPECT_TRUE(ShardClient::Connect(other, 0));
  EXPECT_EQ(MapReader::Connect(other)->Map()->servers.front().uris.front(), UriOf("a1"));
  EXPECT_FALSE(ShardClient::Connect(UriOf("a1"), 0));
}

// A file that is replaced, or gone, is nothing to who has read it; also when options are read again.
TEST_F(ClusterOfThree, TheFileIsReadAtTheStartOnly) {
  Start("a1");
  std::filesystem::remove(file_);
  servers_.at("a1").Signal(SIGHUP);
  const fabric::Deadline deadline = Soon();
  while (OutputOf("a1").find("the options were read again: 0 changed") == std::string::npos) {
    ASSERT_LT(fabric::Clock::now(), deadline) << OutputOf("a1");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(MapReader::Connect(UriOf("a1"))->Map());
  EXPECT_EQ(ClientOf(0).Put(KeysOf(0).front(), "value")->status, Code::kOk);
}

}  // namespace
}  // namespace plov::test
