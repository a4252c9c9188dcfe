// A whole cluster, as an operator makes it: an ensemble of ZooKeeper, `plov cluster create`, three plovd, and clients that
// write and read while servers are killed and stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plov/client.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cluster/ensemble_world.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"

namespace plov::test {

int RunClient(const std::string&) { return 2; }

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr seconds kLimit{60};
constexpr size_t kServers = 3;
constexpr size_t kServersMax = 4;  // of which the last is not there at first

bool Await(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

std::string ValueOf(Client* client, const std::string& key) {
  const auto hit = client->Get(key);
  if (!hit) return hit.error().message;
  return *hit ? std::string((*hit)->value) : "none";
}

class FailOverTest : public ::testing::Test {
 protected:
  // Who is silent is taken for dead late: the machine may be busy.
  FailOverTest() {
    static int clusters = 0;
    root_ = world->Uri() + "/plov/" + std::to_string(++clusters);
    EXPECT_EQ(CreateCluster(), 0) << said_;
    for (size_t i = 0; i < kServers; ++i) Start(i);
    EXPECT_TRUE(AwaitWhole()) << said_;
  }
  // As the command line; its exit status, and what it said.
  int Cluster(std::vector<std::string> words) {
    words.insert(words.begin(), {PLOV_PATH, "--timeout", "10s", "cluster"});
    const std::string file = folder_.path() + "/said";
    const int status = Child::Exec(words, file).Wait();
    said_ = TextOf(file);
    return status;
  }
  int CreateCluster() {
    return Cluster({"create", root_, "a1", "b1", "c1", "--shards", "4", "--replicas", "3",
                    "--lease", "off", "--detect", "1s", "--drop", "500ms"});
  }
  bool AwaitWhole() {
    return Await([&] { return Cluster({"status", root_}) == 0; });
  }
  // Those that run are in sync in all shards, and no others: on a busy machine one is left behind now and then.
  bool AwaitInSync(const std::array<bool, kServers>& is_stopped) {
    return Await([&] {
      Cluster({"status", root_});
      std::istringstream lines(said_);
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("shard")) continue;
        const std::string in_sync = InSyncOf(line);
        for (size_t i = 0; i < kServers; ++i) {
          if (in_sync.contains(NameOf(i)) == is_stopped[i]) return false;
        }
      }
      return true;
    });
  }
  // Of a shard's line of the status.
  static std::string InSyncOf(const std::string& line) {
    const std::string in_sync = line.substr(line.find("in sync"));
    return in_sync.substr(0, in_sync.find(", to be on"));
  }
  static std::string TextOf(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string NameOf(size_t server) const { return std::string(1, char('a' + server)) + "1"; }
  std::string UriOf(size_t server) const { return "shm:" + folder_.path() + "/" + NameOf(server); }
  std::string LogOf(size_t server) const { return folder_.path() + "/" + NameOf(server) + ".log"; }

  std::string FolderOf(size_t server) const { return folder_.path() + "/" + NameOf(server) + ".d"; }

  ~FailOverTest() override {
    for (size_t i = 0; i < kServersMax; ++i) CheckLog(i);
  }
  std::string ConfigOf(size_t server) const {
    return folder_.path() + "/" + NameOf(server) + ".conf";
  }
  void SetMemory(size_t server, const std::string& memory) {
    std::ofstream(ConfigOf(server)) << "memory = " << memory << "\n";
  }
  void CheckLog(size_t server) {
    EXPECT_THAT(TextOf(LogOf(server)), Not(HasSubstr("Sanitizer"))) << NameOf(server);
  }
  void Start(size_t server, const std::string& memory = "256M") {
    servers_[server].reset();
    CheckLog(server);
    std::filesystem::remove(LogOf(server));
    SetMemory(server, memory);
    std::vector<std::string> words = {
        PLOVD_PATH,     "--config", ConfigOf(server), "--cluster",    root_, "--id",
        NameOf(server), "--listen", UriOf(server),    "--max-shards", "8"};
    if (have_logs_) {
      words.insert(words.end(), {"--log", FolderOf(server), "--log-segment", "1M"});
    }
    servers_[server] = std::make_unique<Child>(Child::Exec(words, LogOf(server)));
    EXPECT_TRUE(Await([&] { return TextOf(LogOf(server)).contains("plovd: ready on"); }))
        << TextOf(LogOf(server));
  }
  void RestartWithLogs() {
    have_logs_ = true;
    for (size_t i = 0; i < kServers; ++i) {
      servers_[i]->Signal(SIGTERM);
      EXPECT_EQ(servers_[i]->Wait(), 0);
      std::filesystem::create_directory(FolderOf(i));
      Start(i);
      ASSERT_TRUE(AwaitWhole()) << said_ << TextOf(LogOf(i));
    }
  }
  // By what the coordinator holds.
  size_t PrimaryOf(const std::string& shard) {
    EXPECT_NE(Cluster({"status", root_}), 3) << said_;
    const size_t line = said_.find("shard " + shard + " ");
    const size_t primary = said_.find("primary ", line);
    EXPECT_NE(primary, std::string::npos) << said_;
    return static_cast<size_t>(said_[primary + 8] - 'a');
  }
  Client Connect(ClientOptions options = {}) {
    options.timeout = kLimit;
    std::string uri = "cluster:";
    for (size_t i = 0; i < kServersMax; ++i) uri += (i == 0 ? "" : ",") + UriOf(i);
    auto client = Client::Connect(uri, options);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }

  TemporaryFolder folder_;
  std::string root_;
  std::string said_;
  bool have_logs_ = false;  // servers that start from now on
  std::array<std::unique_ptr<Child>, kServersMax> servers_;
};

// Writes and reads all the time; whatever is acknowledged is read, by this client at once and by another not before.
class Load {
 public:
  explicit Load(std::function<Client()> connect) : connect_(std::move(connect)) {
    threads_.emplace_back([this](const std::stop_token& stop) { Write(stop); });
    threads_.emplace_back([this](const std::stop_token& stop) { Read(stop); });
  }
  uint64_t written() const { return written_.load(); }
  uint64_t read() const { return read_.load(); }
  static std::string KeyOf(uint64_t number) { return "key" + std::to_string(number % kKeys); }
  // So many of each more.
  bool AwaitMore(uint64_t count) {
    const uint64_t written = written_.load() + count, read = read_.load() + count;
    return Await([&] { return written_.load() >= written && read_.load() >= read; });
  }

 private:
  static constexpr uint64_t kKeys = 64;

  void Write(const std::stop_token& stop) {
    Client client = connect_();
    for (uint64_t number = 1; !stop.stop_requested(); ++number) {
      const auto put = client.Put(KeyOf(number), std::to_string(number));
      ASSERT_TRUE(put) << put.error().message;
      written_.store(number);
      ASSERT_EQ(ValueOf(&client, KeyOf(number)), std::to_string(number));
    }
  }
  void Read(const std::stop_token& stop) {
    Client client = connect_();
    while (!stop.stop_requested()) {
      const uint64_t written = written_.load();
      if (written == 0) continue;
      const std::string value = ValueOf(&client, KeyOf(written));
      ASSERT_THAT(value, ContainsRegex("^[0-9]+$")) << "after " << written;
      ASSERT_GE(std::stoull(value), written);
      read_.fetch_add(1);
    }
  }

  std::function<Client()> connect_;
  std::atomic<uint64_t> written_ = 0, read_ = 0;
  std::vector<std::jthread> threads_;
};

TEST_F(FailOverTest, NothingIsLostWhenServersAreKilledOneAfterTheOther) {
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  Client client = Connect();
  for (size_t i = 0; i < kServers + 1; ++i) {
    for (int key = 0; key < 32; ++key) ASSERT_TRUE(client.Put("mine" + std::to_string(key), "v"));
    servers_[i % kServers]->Signal(SIGKILL);
    ASSERT_TRUE(load.AwaitMore(100)) << "without " << NameOf(i % kServers) << ":\n"
                                     << TextOf(LogOf((i + 1) % kServers));
    const auto synced = client.Sync();
    EXPECT_TRUE(synced) << synced.error().message;  // the next primary has all
    Start(i % kServers);
    ASSERT_TRUE(AwaitWhole()) << said_ << TextOf(LogOf(i % kServers));
    if (HasFailure()) break;
  }
  ASSERT_TRUE(load.AwaitMore(100));
}

// A server that is ended hands over what it is the primary of, and is in no configuration any more when it has ended.
TEST_F(FailOverTest, ServersAreRestartedOneAfterTheOther) {
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  for (size_t i = 0; i < kServers; ++i) {
    servers_[i]->Signal(SIGTERM);
    EXPECT_EQ(servers_[i]->Wait(), 0);
    EXPECT_NE(Cluster({"status", root_}), 3);
    std::istringstream lines(said_);
    for (std::string line; std::getline(lines, line);) {
      const bool has_it = line.starts_with("shard") && InSyncOf(line).contains(NameOf(i));
      EXPECT_FALSE(has_it) << line << "\n" << TextOf(LogOf(i));
    }
    ASSERT_TRUE(load.AwaitMore(100));
    Start(i);
    ASSERT_TRUE(AwaitWhole()) << said_;
  }
}

// Whatever is moved, no client notices.
TEST_F(FailOverTest, ShardsMoveUnderLoad) {
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  EXPECT_EQ(Cluster({"drain", root_, "a1"}), 3);
  EXPECT_THAT(said_, HasSubstr("no server can take one more replica of shard 0"));
  Start(3);
  // It is ready before the coordinator knows of it.
  EXPECT_TRUE(Await([&] {
    Cluster({"servers", root_});
    return ::testing::Matches(ContainsRegex("server d1 +running"))(said_);
  })) << said_;
  EXPECT_EQ(Cluster({"drain", root_, "a1"}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("shard 0: a1,b1,c1 -> d1,b1,c1"));
  EXPECT_EQ(Cluster({"status", root_}), 0) << said_;
  EXPECT_THAT(said_, ContainsRegex("server a1 +running +0 of 8 shards"));
  ASSERT_TRUE(load.AwaitMore(100));
  EXPECT_EQ(Cluster({"remove", root_, "a1"}), 2);
  EXPECT_THAT(said_, HasSubstr("server a1 runs"));
  servers_[0]->Signal(SIGTERM);
  EXPECT_EQ(servers_[0]->Wait(), 0);
  EXPECT_TRUE(Await([&] { return Cluster({"remove", root_, "a1"}) == 0; })) << said_;
  Start(0);
  for (const char* shard : {"0", "1", "2", "3"}) {
    EXPECT_EQ(Cluster({"move", root_, shard, "--from", "c1", "--to", "a1"}), 0) << said_;
    EXPECT_EQ(Cluster({"move", root_, shard, "--to", "a1", "--no-wait"}), 0) << said_;
  }
  EXPECT_TRUE(Await([&] { return PrimaryOf("0") + PrimaryOf("1") + PrimaryOf("3") == 0; }))
      << said_;
  ASSERT_TRUE(load.AwaitMore(100));
  servers_[1]->Signal(SIGKILL);
  EXPECT_TRUE(Await([&] { return Cluster({"status", root_}) == 1; }));
  EXPECT_TRUE(Await([&] {
    return Cluster({"repair", root_}) == 0 && said_.contains("shard 0: a1,d1,b1 -> a1,d1,c1");
  })) << said_;
  EXPECT_EQ(Cluster({"balance", root_}), 0) << said_;
  EXPECT_EQ(Cluster({"status", root_}), 0) << said_;
  ASSERT_TRUE(load.AwaitMore(100));
}

TEST_F(FailOverTest, ServerThatIsLostIsReplacedByItself) {
  RestartWithLogs();
  std::filesystem::create_directory(FolderOf(3));
  Start(3);
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  EXPECT_EQ(Cluster({"set", root_, "--repair-after", "2s"}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("repaired after 2 s"));
  servers_[1]->Signal(SIGKILL);
  EXPECT_TRUE(Await([&] { return Cluster({"status", root_}) == 1; }));
  EXPECT_TRUE(AwaitWhole()) << said_ << TextOf(LogOf(0));
  EXPECT_THAT(said_, ContainsRegex("server b1 +away +0 of 8 shards"));
  EXPECT_THAT(said_, ContainsRegex("server d1 +running +4 of 8 shards"));
  EXPECT_THAT(TextOf(LogOf(0)) + TextOf(LogOf(2)) + TextOf(LogOf(3)),
              HasSubstr("repair: shard 0 is placed on a1,d1,c1 now: b1 did not run for 2 s"));
  Start(1);
  EXPECT_TRUE(Await([&] {
    return TextOf(LogOf(1)).contains("shard 0: its log is removed: others have the shard now");
  })) << TextOf(LogOf(1));
  EXPECT_FALSE(std::filesystem::exists(FolderOf(1) + "/0.1.log"));
  ASSERT_TRUE(load.AwaitMore(100));
  EXPECT_EQ(Cluster({"status", root_}), 0) << said_;
}

// Its memory goes on answering READs, and shows its oath.
TEST_F(FailOverTest, PrimaryThatIsStoppedIsNotBelieved) {
  Client old = Connect();
  for (int round = 0; round < 2; ++round) {
    const std::string before = std::to_string(round), after = "after " + before;
    ASSERT_TRUE(old.Put("key", before));
    for (int i = 0; i < 32; ++i) ASSERT_TRUE(old.Put("other" + std::to_string(i), before));
    std::array<bool, kServers> is_stopped{};
    for (const char* shard : {"0", "1", "2", "3"}) {
      ASSERT_TRUE(AwaitInSync(is_stopped)) << said_;
      const size_t primary = PrimaryOf(shard);
      if (is_stopped[primary] || std::ranges::count(is_stopped, true) == 2) continue;
      is_stopped[primary] = true;
      servers_[primary]->Signal(SIGSTOP);
      Client other = Connect();
      for (int i = 0; i < 32; ++i) ASSERT_TRUE(other.Put("other" + std::to_string(i), after));
      ASSERT_TRUE(other.Put("key", after));
      EXPECT_EQ(ValueOf(&old, "key"), after);
      for (int i = 0; i < 32; ++i) EXPECT_EQ(ValueOf(&old, "other" + std::to_string(i)), after);
    }
    for (size_t i = 0; i < kServers; ++i) {
      if (is_stopped[i]) servers_[i]->Signal(SIGCONT);
    }
    EXPECT_EQ(ValueOf(&old, "key"), after);
    ASSERT_TRUE(AwaitWhole()) << said_;
  }
}

// What was acknowledged so long ago, while servers are stopped, go on and are killed.
TEST_F(FailOverTest, AnyReplicaHasWhatWasAcknowledged) {
  constexpr seconds kMaxAge{3};
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  std::this_thread::sleep_for(kMaxAge);
  Client reader = Connect({.read_from = ReadFrom::kAnyReplica, .max_age = kMaxAge});
  const auto now = [] { return std::chrono::steady_clock::now(); };
  std::deque<std::pair<std::chrono::steady_clock::time_point, uint64_t>> written;
  uint64_t gets = 0;
  const auto read_for = [&](seconds time) {
    for (const auto end = now() + time; now() < end;) {
      written.emplace_back(now(), load.written());
      while (written.size() > 1 && written[1].first <= now() - kMaxAge) written.pop_front();
      const uint64_t old = written.front().first <= now() - kMaxAge ? written.front().second : 1;
      const std::string value = ValueOf(&reader, Load::KeyOf(old));
      ASSERT_THAT(value, ContainsRegex("^[0-9]+$"));
      ASSERT_GE(std::stoull(value), old);
      ++gets;
    }
    const auto age = reader.Age(Load::KeyOf(1));
    ASSERT_TRUE(age) << age.error().message;
    EXPECT_LE(*age, kMaxAge);
  };
  read_for(seconds(4));
  servers_[0]->Signal(SIGSTOP);
  read_for(seconds(5));
  servers_[0]->Signal(SIGCONT);
  read_for(seconds(1));
  servers_[1]->Signal(SIGKILL);
  read_for(seconds(5));
  EXPECT_GT(gets, 1000u);
  EXPECT_TRUE(load.AwaitMore(100));
}

// What was acknowledged is in all logs.
TEST_F(FailOverTest, NothingIsLostWhenAllServersAreKilledAtOnce) {
  RestartWithLogs();
  Load load([this] { return Connect(); });
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(load.AwaitMore(200));
    if (round % 2 == 1) {
      const std::string said = folder_.path() + "/snapshot";
      EXPECT_EQ(
          Child::Exec({PLOV_PATH, "--server", "cluster:" + UriOf(0), "snapshot"}, said).Wait(), 0)
          << TextOf(said);
      ASSERT_TRUE(load.AwaitMore(20));
    }
    for (auto& server : servers_) {
      if (server) server->Signal(SIGKILL);
    }
    for (size_t i = 0; i < kServers; ++i) Start(i);
    ASSERT_TRUE(load.AwaitMore(50)) << TextOf(LogOf(0));
    ASSERT_TRUE(AwaitWhole()) << said_ << TextOf(LogOf(0));
    EXPECT_THAT(TextOf(LogOf(0)), ContainsRegex("restored .* of --log"));
    if (HasFailure()) break;
  }
}

// Nothing of what it has is copied, whether it was killed or ended.
TEST_F(FailOverTest, WhoComesBackGetsWhatItLacks) {
  RestartWithLogs();
  Load load([this] { return Connect(); });
  for (const int signal : {SIGKILL, SIGTERM, SIGKILL}) {
    servers_[0]->Signal(signal);
    ASSERT_TRUE(load.AwaitMore(50));
    ASSERT_TRUE(AwaitInSync({true, false, false})) << said_;
    ASSERT_TRUE(load.AwaitMore(50));
    Start(0);
    ASSERT_TRUE(AwaitWhole()) << said_ << TextOf(LogOf(0));
    EXPECT_THAT(TextOf(LogOf(0)), HasSubstr("asks to join with what it has"));
    EXPECT_THAT(TextOf(LogOf(0)), Not(HasSubstr("begins anew")));
    ASSERT_TRUE(load.AwaitMore(50));
  }
}

// One of the servers has half of the others' memory.
TEST_F(FailOverTest, WhoIsFullStopsPutsAndWhoIsTooSmallWaits) {
  constexpr size_t kSmall = 2;
  servers_[kSmall].reset();
  Start(kSmall, "128M");
  ASSERT_TRUE(AwaitWhole()) << said_;
  Client client = Connect();
  const std::string value(20'000, 'v');
  std::vector<std::string> stored;
  int last = 0;
  // False: there was no memory for one more.
  const auto put_one = [&] {
    const std::string key = std::to_string(++last);
    const auto put = client.Put(key, value);
    if (put) stored.push_back(key);
    EXPECT_TRUE(put || put.error().code == Code::kNoSpace) << put.error().message;
    return put.has_value();
  };
  // A shard that it is the primary of by now is full before.
  EXPECT_TRUE(Await([&] {
    for (int i = 0; i < 100; ++i) put_one();
    return (TextOf(LogOf(0)) + TextOf(LogOf(1))).contains("its replica on c1 is full");
  }));
  EXPECT_TRUE(AwaitWhole()) << said_;
  for (size_t i = 0; i < stored.size(); i += 2) ASSERT_TRUE(client.Delete(stored[i]));
  const std::string first = stored.front();
  EXPECT_TRUE(Await([&] { return client.Put(first, value).has_value(); }));
  // Without it there is room for more than it has.
  servers_[kSmall].reset();
  while (put_one()) continue;
  Start(kSmall, "128M");
  EXPECT_TRUE(
      Await([&] { return TextOf(LogOf(kSmall)).contains("has no replica here, as others"); }));
  EXPECT_TRUE(client.Delete(first));
  EXPECT_TRUE(client.Put(first, value)) << "it stops nobody";
  SetMemory(kSmall, "256M");
  servers_[kSmall]->Signal(SIGHUP);
  EXPECT_TRUE(AwaitWhole()) << said_;
}

TEST_F(FailOverTest, ThereIsOneClusterAtARoot) {
  EXPECT_EQ(Cluster({"create", root_, "a1"}), 3);
  EXPECT_THAT(said_, HasSubstr("there is a cluster already"));
  EXPECT_EQ(Cluster({"force", root_, "4", "--to", "a1", "--lose-data"}), 2);
  EXPECT_THAT(said_, HasSubstr("there is no shard 4: the cluster has 4 shards"));
  EXPECT_EQ(Cluster({"force", root_, "0", "--to", "d1", "--lose-data"}), 2);
  EXPECT_THAT(said_, HasSubstr("shard 0 is not placed on d1"));
  EXPECT_EQ(
      Child::Exec({PLOVD_PATH, "--cluster", root_, "--id", "d1", "--listen", UriOf(3)}, LogOf(3))
          .Wait(),
      2);
  EXPECT_THAT(TextOf(LogOf(3)), HasSubstr("no shard has a replica on d1: they are on a1, b1, c1"));
  for (size_t i = 0; i < kServers; ++i) {
    const auto alone = Client::Connect(UriOf(i));
    ASSERT_FALSE(alone);
    EXPECT_THAT(alone.error().message, HasSubstr("is one of a cluster: connect to cluster:"));
  }
}

// Whether it is the primary of shards or not; of items it knows nothing.
TEST_F(FailOverTest, EveryServerIsAdministered) {
  ASSERT_TRUE(Connect().Put("key", "value"));
  for (size_t i = 0; i < kServers; ++i) {
    ClientOptions options{.timeout = kLimit};
    options.administers = true;
    auto one = Client::Connect(UriOf(i), options);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_TRUE(one->Administer("status"));
    const auto stats = one->ServerStats(Freshness::kNow);
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_EQ(stats->size(), 4u);
    const std::string said = folder_.path() + "/stats";
    EXPECT_EQ(Child::Exec({PLOV_PATH, "--server", UriOf(i), "stats"}, said).Wait(), 0);
    EXPECT_THAT(TextOf(said), ContainsRegex("(primary|replica) of shard.*\nshards +4"));
    for (const auto& found : {one->Get("key").error(), one->Put("key", "v").error()}) {
      EXPECT_EQ(found.code, Code::kInvalidArgument);
      EXPECT_THAT(found.message, HasSubstr("administers one server"));
    }
  }
}

TEST_F(FailOverTest, AClusterOfOneShardIsOneToo) {
  root_ += "/one";
  ASSERT_EQ(Cluster({"create", root_, "d1", "--shards", "1"}), 0) << said_;
  Start(kServers);
  ASSERT_TRUE(AwaitWhole()) << said_;
  const auto alone = Client::Connect(UriOf(kServers));
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message, HasSubstr("is one of a cluster: connect to cluster:"));
}

TEST_F(FailOverTest, NothingNeedsTheCoordinator) {
  Load load([this] { return Connect(); });
  ASSERT_TRUE(load.AwaitMore(100));
  world->StopAll();
  const bool goes_on = load.AwaitMore(2000);
  std::this_thread::sleep_for(seconds(6));  // sessions end
  const bool goes_on_still = load.AwaitMore(2000);
  world->ContinueAll();
  EXPECT_TRUE(goes_on && goes_on_still);
  ASSERT_TRUE(AwaitWhole()) << said_;
  servers_[0]->Signal(SIGKILL);
  EXPECT_TRUE(load.AwaitMore(100)) << "and servers are replaced again";
}

// The ensemble has lost its data, and another cluster is made under the same name.
TEST_F(FailOverTest, AnotherClusterUnderItsNameIsNotFollowed) {
  Client client = Connect();
  ASSERT_TRUE(client.Put("key", "value"));
  ASSERT_TRUE(world->Wipe());
  ASSERT_TRUE(world->AwaitReady());
  ASSERT_TRUE(Await([&] { return CreateCluster() == 0; })) << said_;
  for (size_t i = 0; i < kServers; ++i) {
    EXPECT_TRUE(Await([&] { return TextOf(LogOf(i)).contains("data of another cluster"); }))
        << TextOf(LogOf(i));
    EXPECT_LT(std::ranges::count(TextOf(LogOf(i)), '\n'), 60) << "some lines each second";
  }
  EXPECT_TRUE(client.Put("key", "newer"));
  Client fresh = Connect();
  EXPECT_EQ(ValueOf(&fresh, "key"), "newer");
  EXPECT_EQ(Cluster({"status", root_}), 1);
  EXPECT_THAT(said_, Not(HasSubstr("running")));
}

TEST_F(FailOverTest, WhatAllHaveLostBeginsAnewWhenItIsForced) {
  Client client = Connect();
  ASSERT_TRUE(client.Put("key", "value"));
  for (size_t i = 0; i < kServers; ++i) servers_[i]->Signal(SIGKILL);
  for (size_t i = 0; i < kServers; ++i) Start(i);
  EXPECT_TRUE(Await([&] { return Cluster({"status", root_}) == 0; }));
  EXPECT_EQ(Cluster({"force", root_, "0", "--to", "b1"}), 2);
  EXPECT_THAT(said_, HasSubstr("--lose-data"));
  for (const char* shard : {"0", "1", "2", "3"}) {
    EXPECT_EQ(Cluster({"force", root_, shard, "--to", "b1", "--lose-data"}), 0) << said_;
  }
  EXPECT_TRUE(Await([&] {
    return Cluster({"status", root_}) == 0 && said_.contains("shard 0     whole") &&
           said_.contains("in sync b1,");
  })) << said_;
  Client fresh = Connect();
  EXPECT_EQ(ValueOf(&fresh, "key"), "none");
  ASSERT_TRUE(fresh.Put("key", "new"));
  EXPECT_EQ(ValueOf(&fresh, "key"), "new");
  for (size_t i = 0; i < kServers; ++i) {
    servers_[i]->Signal(SIGTERM);
    EXPECT_EQ(servers_[i]->Wait(), 0);
  }
  EXPECT_THAT(TextOf(LogOf(2)), HasSubstr("no other server has its items, which are lost"));
}

}  // namespace
}  // namespace plov::test
