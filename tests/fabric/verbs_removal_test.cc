// Shards that are exposed and withdrawn while their RDMA device is removed, gone, and back. Needs a
// device of its own, beside another, and who may remove it: tests/vm/removal.sh.

#include <array>
#include <atomic>
#include <cstdlib>

#include "tests/fabric/verbs_tools.h"
#include "verify/words.h"

namespace plov::fabric::verbs {

namespace {

using Kind = PortEvent::Kind;

// The device, its netdev and its address; empty where there is none to remove.
std::array<std::string, 3> Removable() {
  std::array<std::string, 3> names;
  const char* const variables[] = {"PLOV_REMOVABLE_DEVICE", "PLOV_REMOVABLE_NETDEV",
                                   "PLOV_REMOVABLE_ADDRESS"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (const char* name = std::getenv(variables[i])) names[i] = name;
  }
  return names;
}

class VerbsRemoval : public testing::Test {
 protected:
  void SetUp() override {
    if (address_.empty()) GTEST_SKIP() << "NO DEVICE TO REMOVE: see tests/vm/removal.sh";
    server_.emplace(Verbs(), "rdma://" + address_ + ":7746", 2);
  }

  // Runs a command of rdma(8) while the listener and the ports of these shards do what they have to.
  void Rdma(const std::string& command, std::initializer_list<uint32_t> polled) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      EXPECT_EQ(std::system(("timeout 20 rdma link " + command).c_str()), 0);
      done = true;
    });
    EXPECT_TRUE(Eventually([&] {
      Turn(polled);
      return done.load();
    })) << command;
    thread.join();
  }
  void Turn(std::initializer_list<uint32_t> polled) {
    server_->Accept();
    for (const uint32_t shard : polled) server_->port(shard).Poll();
  }
  // The next notice, which has these words.
  bool Hears(std::string_view words, std::initializer_list<uint32_t> polled) {
    return Eventually([&] {
      Turn(polled);
      return server_->listener().TakeNotice().contains(words);
    });
  }
  void ExpectServes(uint32_t shard) {
    verify::StoreWord(server_->words(shard), 100 + shard);
    const auto client = server_->Connect(shard);
    EXPECT_EQ(ReadWord(client.get(), 0), 100 + shard);
    EXPECT_EQ(server_->Expect(Kind::kOpened, shard).client_id, 1u);
    ASSERT_TRUE(client->Send(Pattern(10, 1)));
    const Event asked = server_->Expect(Kind::kMessage, shard);
    server_->port(shard).Send(asked.peer, Pattern(10, 2));
    EXPECT_TRUE(ReceiveNext(client.get()).has_value());
    server_->port(shard).Close(asked.peer);
  }

  const std::string device_ = Removable()[0], netdev_ = Removable()[1], address_ = Removable()[2];
  std::optional<TestServer> server_;
};

TEST_F(VerbsRemoval, ShardsComeAndGoWithAndWithoutADevice) {
  ExpectServes(0);
  ExpectServes(1);
  server_->Expose(2);
  const auto lost = server_->Connect(1, 5);
  ExpectServes(2);

  // Shard 1, which nobody polls, holds the device until it is withdrawn.
  std::atomic<bool> removed = false;
  std::thread removing([&] {
    EXPECT_EQ(std::system(("timeout 20 rdma link delete " + device_).c_str()), 0);
    removed = true;
  });
  EXPECT_TRUE(Hears("is being removed", {0, 2}));
  server_->Expose(3);
  for (int i = 0; i < kManyPolls; ++i) Turn({0, 2, 3});
  EXPECT_FALSE(removed);
  server_->Withdraw(1);
  EXPECT_TRUE(NoticesDeath(lost.get()));
  EXPECT_TRUE(Eventually([&] {
    Turn({0, 2, 3});
    return removed.load();
  }));
  removing.join();

  server_->Expose(4);
  server_->Withdraw(2);
  server_->Expose(1);
  EXPECT_EQ(CodeOf(server_->TryConnect(OptionsFor(0, 1))), Code::kUnavailable);
  Rdma("add " + device_ + " type rxe netdev " + netdev_, {0, 1, 3, 4});
  EXPECT_TRUE(Hears("is back", {0, 1, 3, 4}));
  for (const uint32_t shard : {0u, 1u, 3u, 4u}) ExpectServes(shard);
  EXPECT_EQ(CodeOf(server_->TryConnect(OptionsFor(2, 1))), Code::kNoShard);
  server_->Expose(2);
  ExpectServes(2);
}

}  // namespace

}  // namespace plov::fabric::verbs
