// The asynchronous form.

#include <gtest/gtest.h>
#include <plov/client.h>
#include <poll.h>

#include <functional>
#include <memory>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

// Runs an event loop of one client until nothing is left.
void RunToEnd(Client* client) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (client->Poll() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd poll_fd{client->fd(), POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(client->next_poll());
    ::poll(&poll_fd, 1, static_cast<int>(std::min<int64_t>(wait.count(), 1000)));
  }
}

TEST(Async, EveryOperationEndsOnce) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("k" + std::to_string(i));
  int puts = 0;
  for (const std::string& key : keys) {
    client.StartPut(key, key, {},
                    [&puts](Client::PutResult result) { puts += result.has_value(); });
  }
  RunToEnd(&client);
  EXPECT_EQ(puts, 1000);
  int right = 0;
  for (const std::string& key : keys) {
    client.StartGet(key, [&right, &key](Client::GetResult result) {
      right += result && *result && (*result)->value == key;
    });
  }
  client.StartGet("absent", [&right](Client::GetResult result) { right += result && !*result; });
  RunToEnd(&client);
  EXPECT_EQ(right, 1001);
  int deleted = 0;
  for (const std::string& key : keys) {
    client.StartDelete(key, 0, [&deleted](Client::DeleteResult result) { deleted += *result; });
  }
  RunToEnd(&client);
  EXPECT_EQ(deleted, 1000);
}

TEST(Async, CallbacksMayStartOperations) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  std::string got;
  client.StartPut("k", "v", {}, [&](Client::PutResult) {
    client.StartGet("k", [&got](Client::GetResult result) { got = (*result)->value; });
  });
  RunToEnd(&client);
  EXPECT_EQ(got, "v");
}

// GETs by READs and PUTs by message would overtake each other.
TEST(Async, OperationsOfOneKeyKeepTheirOrder) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  constexpr size_t kKeys = 10, kRounds = 30;
  std::vector<std::string> keys, values;
  for (size_t i = 0; i < kKeys; ++i) keys.push_back("k" + std::to_string(i));
  for (size_t i = 0; i < kRounds; ++i) values.push_back("v" + std::to_string(i));
  int right = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    for (const std::string& key : keys) {
      client.StartPut(key, values[round], {}, [](Client::PutResult put) { EXPECT_TRUE(put); });
      for (int i = 0; i < 2; ++i) {
        client.StartGet(key, [&right, &values, round](Client::GetResult got) {
          right += got && *got && (*got)->value == values[round];
        });
      }
      if (round % 3 != 2) continue;
      client.StartDelete(key, 0, [](Client::DeleteResult gone) { EXPECT_TRUE(gone && *gone); });
      client.StartGet(key, [&right](Client::GetResult got) { right += got && !*got; });
    }
  }
  RunToEnd(&client);
  EXPECT_EQ(right, kKeys * (kRounds * 2 + kRounds / 3));
}

TEST(Async, ABlockingCallComesAfterWhatWasStartedForItsKey) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  const std::vector<std::string_view> keys = {"k", "l"};
  for (int i = 0; i < 100; ++i) {
    const std::string value = std::to_string(i);
    for (const std::string_view key : keys) {
      client.StartPut(key, value, {}, [](Client::PutResult put) { EXPECT_TRUE(put); });
    }
    ASSERT_EQ((*client.Get("k"))->value, value);
    client.GetMany(keys,
                   [&value](size_t, Client::GetResult got) { ASSERT_EQ((*got)->value, value); });
    client.StartGet("k", [&value](Client::GetResult got) { EXPECT_EQ((*got)->value, value); });
    ASSERT_TRUE(client.Put("k", "later"));
  }
  EXPECT_EQ(client.Poll(), 0u);
}

TEST(Async, AWriteThatWasSentIsUnknownToAClientThatIsClosed) {
  const Plovd server({"--memory", "64M"});
  std::vector<Error> errors;
  {
    Client client = server.Connect();
    server.Signal(SIGSTOP);
    client.StartPut("k", "v", {}, [&](Client::PutResult put) { errors.push_back(put.error()); });
    client.Poll();
    client.StartPut("l", "v", {}, [&](Client::PutResult put) { errors.push_back(put.error()); });
  }
  server.Signal(SIGCONT);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, Code::kUnknown);
  EXPECT_NE(errors[0].message.find("the client was closed"), std::string::npos);
  EXPECT_EQ(errors[1].code, Code::kUnavailable);
}

TEST(Async, DestroyingTheClientEndsWhatIsLeft) {
  const Plovd server({"--memory", "64M"});
  int ended = 0;
  {
    Client client = server.Connect();
    client.StartPut("k", "v", {}, [&ended](Client::PutResult result) { ended += !result; });
    client.StartGet("k", [&ended](Client::GetResult result) { ended += !result; });
  }
  EXPECT_EQ(ended, 2);
}

TEST(Async, OperationsStartedWhileTheClientIsDestroyedEndAtOnce) {
  const Plovd server({"--memory", "64M"});
  int ended = 0;
  auto client = std::make_unique<Client>(server.Connect());
  Client* raw = client.get();
  raw->StartPut("k", "v", {}, [&ended, raw](Client::PutResult) {
    ++ended;
    raw->StartPut("l", "v", {}, [&ended](Client::PutResult result) { ended += !result; });
    raw->StartGet("l", [&ended](Client::GetResult result) { ended += !result; });
  });
  client.reset();
  EXPECT_EQ(ended, 3);
}

TEST(Async, PollReturnsThoughCallbacksStartOperationsForEver) {
  const Plovd server({"--memory", "64M"});
  int gets = 0;
  std::function<void()> again;  // outlives the client, whose destruction ends the last GET
  Client client = server.Connect();
  again = [&] {
    client.StartGet("k", [&](Client::GetResult) {
      ++gets;
      again();
    });
  };
  again();
  EXPECT_GT(client.Poll(), 0);
  EXPECT_EQ(client.next_poll().count(), 0);
  EXPECT_GT(gets, 0);
  again = [] {};
}

TEST(Async, BadKeysAreRefusedByCallback) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  int refused = 0;
  client.StartPut("", "v", {}, [&refused](Client::PutResult result) {
    refused += result.error().code == Code::kInvalidArgument;
  });
  client.StartGet("", [&refused](Client::GetResult result) {
    refused += result.error().code == Code::kInvalidArgument;
  });
  RunToEnd(&client);
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace plov
