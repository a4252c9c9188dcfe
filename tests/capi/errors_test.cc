// C API: what the server or its absence makes of a call.

#include <csignal>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiErrors = CapiTest;

plov_code Put(plov_client* client, const char* key, const std::string& value) {
  return plov_put(client, plov_text(key), plov_bytes(value.data(), value.size()), nullptr, nullptr);
}

TEST(CapiConnecting, FailsWithoutAServer) {
  const TemporaryFolder folder;
  const std::string uri = "shm:" + folder.path() + "/nobody.sock";
  plov_client* client = nullptr;
  plov_error error;
  EXPECT_EQ(plov_connect(uri.c_str(), nullptr, &client, &error), PLOV_UNAVAILABLE);
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(error.code, PLOV_UNAVAILABLE);
  EXPECT_NE(std::string(error.message).find(folder.path()), std::string::npos) << error.message;
  EXPECT_EQ(plov_connect(uri.c_str(), nullptr, &client, nullptr), PLOV_UNAVAILABLE);
}

TEST(CapiConnecting, CutsAMessageThatIsTooLong) {
  const std::string uri = "shm:/" + std::string(2 * PLOV_MESSAGE_BYTES, 'x');
  plov_client* client = nullptr;
  plov_error error;
  EXPECT_EQ(plov_connect(uri.c_str(), nullptr, &client, &error), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message).size(), PLOV_MESSAGE_BYTES - 1U);
}

TEST(CapiConnecting, RefusesWhatIsNoUri) {
  for (const char* uri : {"", "shm:", "http://localhost", "shm:relative/path"}) {
    plov_client* client = nullptr;
    plov_error error;
    EXPECT_EQ(plov_connect(uri, nullptr, &client, &error), PLOV_INVALID_ARGUMENT) << uri;
    EXPECT_STRNE(error.message, "") << uri;
  }
}

TEST_F(CapiErrors, SuccessLeavesNoErrorOfConnecting) {
  plov_client* client = nullptr;
  plov_error error = {PLOV_SYSTEM, "before"};
  ASSERT_EQ(plov_connect(server_.uri().c_str(), nullptr, &client, &error), PLOV_OK);
  EXPECT_EQ(error.code, PLOV_OK);
  EXPECT_STREQ(error.message, "");
  EXPECT_EQ(plov_close(client), PLOV_OK);
}

TEST_F(CapiErrors, BadKeysAreRefused) {
  const std::string too_long(1025, 'k');
  for (const plov_view key : {plov_text(""), plov_bytes(nullptr, 0), plov_text(too_long.c_str())}) {
    plov_item item;
    char buffer[1];
    plov_client* client = client_.get();
    EXPECT_EQ(plov_get(client, key, &item), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_get_into(client, key, buffer, 1, &item), PLOV_INVALID_ARGUMENT);
    uint64_t age_us = 0;
    EXPECT_EQ(plov_age(client, key, &age_us), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_time(client, key, &age_us, &age_us), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_put(client, key, plov_text("v"), nullptr, nullptr), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_compare_and_put(client, key, plov_text("v"), plov_text("w"), nullptr, nullptr),
              PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_increment(client, key, 1, nullptr, nullptr, nullptr), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_touch(client, key, 0, 0, nullptr), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_get_and_touch(client, key, 0, &item), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_delete(client, key, 0), PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(plov_last_error(client)->code, PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(LastMessage(client), "keys are 1 to 1024 bytes");
  }
}

TEST(CapiLimits, LargeValuesAndFullMemoryAreErrors) {
  const Plovd server({"--memory", "16M", "--max-value", "1M"});
  const CClient client = ConnectInC(server.uri());
  EXPECT_EQ(Put(client.get(), "k", std::string((1 << 20) + 1, 'v')), PLOV_TOO_LARGE);
  const std::string value(1 << 20, 'v');
  plov_code code = PLOV_OK;
  int stored = 0;
  for (; stored < 100 && code == PLOV_OK; ++stored) {
    code = Put(client.get(), std::to_string(stored).c_str(), value);
  }
  EXPECT_EQ(code, PLOV_NO_SPACE);
  EXPECT_NE(LastMessage(client.get()).find("--memory"), std::string::npos);
  EXPECT_EQ(Value(client.get(), "0"), value);
}

TEST_F(CapiErrors, AStoppedServerIsATimeoutAndGetsGoOn) {
  const CClient client = ConnectInC(server_.uri(), 100'000);
  ASSERT_EQ(Put(client.get(), "k", "v"), PLOV_OK);
  Stop(server_);
  EXPECT_EQ(Put(client.get(), "k", "w"), PLOV_TIMEOUT);
  EXPECT_EQ(plov_delete(client.get(), plov_text("other"), 0), PLOV_TIMEOUT);
  EXPECT_EQ(plov_increment(client.get(), plov_text("n"), 1, nullptr, nullptr, nullptr),
            PLOV_TIMEOUT);
  EXPECT_EQ(plov_touch(client.get(), plov_text("other"), 1, 0, nullptr), PLOV_TIMEOUT);
  EXPECT_EQ(plov_ping(client.get(), nullptr), PLOV_TIMEOUT);
  EXPECT_EQ(plov_sync(client.get()), PLOV_TIMEOUT);
  const auto ignore = [](void*, uint32_t, const char*) {};
  EXPECT_EQ(plov_server_stats(client.get(), ignore, nullptr), PLOV_TIMEOUT);
  EXPECT_EQ(Value(client.get(), "k"), "v");
  server_.Signal(SIGCONT);
}

TEST_F(CapiErrors, ADeadServerIsUnavailable) {
  const CClient client = ConnectInC(server_.uri(), 200'000);
  ASSERT_EQ(Put(client.get(), "k", "v"), PLOV_OK);
  server_.Signal(SIGKILL);
  ASSERT_EQ(server_.Wait(), -SIGKILL);
  plov_item item;
  EXPECT_EQ(Put(client.get(), "k", "v"), PLOV_UNAVAILABLE);
  EXPECT_EQ(plov_get(client.get(), plov_text("k"), &item), PLOV_UNAVAILABLE);
  EXPECT_EQ(plov_increment(client.get(), plov_text("n"), 1, nullptr, nullptr, nullptr),
            PLOV_UNAVAILABLE);
  EXPECT_EQ(plov_get_and_touch(client.get(), plov_text("k"), 1, &item), PLOV_UNAVAILABLE);
  EXPECT_EQ(plov_ping(client.get(), nullptr), PLOV_UNAVAILABLE);
  EXPECT_EQ(plov_sync(client.get()), PLOV_UNAVAILABLE);
  EXPECT_NE(
      plov_scan(
          client.get(), [](void*, plov_view, const plov_item*) { return true; }, nullptr, nullptr),
      PLOV_OK);
  EXPECT_STRNE(plov_last_error(client.get())->message, "");
}

TEST_F(CapiErrors, AClientReconnectsByItself) {
  const CClient client = ConnectInC(server_.uri());
  ASSERT_EQ(Put(client.get(), "k", "v"), PLOV_OK);
  server_.Signal(SIGTERM);
  ASSERT_EQ(server_.Wait(), 0);
  server_.Restart();
  EXPECT_EQ(Put(client.get(), "other", "w"), PLOV_OK);
  EXPECT_EQ(Value(client.get(), "other"), "w");
  EXPECT_EQ(Value(client.get(), "k"), "PLOV_NOT_FOUND");
  plov_client_stats stats;
  ASSERT_EQ(plov_stats(client.get(), &stats, sizeof(stats)), PLOV_OK);
  EXPECT_GE(stats.reconnects, 1U);
}

}  // namespace
}  // namespace plov::test
