// C API: the asynchronous form.

#include <poll.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiAsync = CapiTest;

struct Log {
  plov_client* client = nullptr;
  std::vector<std::string> lines;
};

std::string Line(plov_code code, const char* message, const std::string& value = "") {
  return code == PLOV_OK ? "ok " + value
                         : std::string(plov_code_name(code)).append(": ").append(message);
}

void OnGet(void* context, const plov_get_result* result) {
  EXPECT_EQ(result->index, 0U);
  static_cast<Log*>(context)->lines.push_back(
      Line(result->code, result->message, String(result->item.value)));
}

void OnWrite(void* context, const plov_write_result* result) {
  EXPECT_EQ(result->index, 0U);
  static_cast<Log*>(context)->lines.push_back(
      Line(result->code, result->message, result->version != 0 ? "version" : "no version"));
}

// An event loop of one client, until nothing is left.
void RunToEnd(plov_client* client) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  size_t left = 0;
  while (plov_poll(client, &left) == PLOV_OK && left > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd event{plov_fd(client), POLLIN, 0};
    const int64_t sleep_ms = std::min<int64_t>((plov_next_poll_us(client) + 999) / 1000, 1000);
    ::poll(&event, 1, static_cast<int>(sleep_ms));
  }
  EXPECT_EQ(left, 0U);
}

TEST_F(CapiAsync, EveryOperationEndsWithItsOutcome) {
  Log log;
  const plov_put_options add = PutOptionsOf(PLOV_ADD);
  plov_client* client = client_.get();
  EXPECT_EQ(plov_start_put(client, plov_text("k"), plov_text("v"), nullptr, OnWrite, &log),
            PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_get(client, plov_text("k"), OnGet, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_put(client, plov_text("k"), plov_text("w"), &add, OnWrite, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_delete(client, plov_text("k"), 999, OnWrite, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_delete(client, plov_text("k"), 0, OnWrite, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_delete(client, plov_text("k"), 0, OnWrite, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_get(client, plov_text("k"), OnGet, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(plov_start_get(client, plov_text(""), OnGet, &log), PLOV_OK);
  RunToEnd(client);
  EXPECT_EQ(log.lines, (std::vector<std::string>{
                           "ok version", "ok v", "PLOV_EXISTS: the key is present already",
                           "PLOV_VERSION_MISMATCH: the key has another version, or another value "
                           "than the expected one",
                           "ok no version", "PLOV_NOT_FOUND: the key is absent",
                           "PLOV_NOT_FOUND: the key is absent",
                           "PLOV_INVALID_ARGUMENT: keys are 1 to 1024 bytes"}));
}

TEST_F(CapiAsync, ManyAreUnderWayAtATime) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key:" + std::to_string(i));
  Log log;
  for (const std::string& key : keys) {
    ASSERT_EQ(plov_start_put(client_.get(), plov_text(key.c_str()), plov_text("v"), nullptr,
                             OnWrite, &log),
              PLOV_OK);
  }
  RunToEnd(client_.get());
  EXPECT_EQ(log.lines, std::vector<std::string>(keys.size(), "ok version"));
}

TEST_F(CapiAsync, CallbacksMayStartOperations) {
  Log log{.client = client_.get(), .lines = {}};
  const auto then_get = [](void* context, const plov_write_result* result) {
    EXPECT_EQ(result->code, PLOV_OK);
    EXPECT_EQ(plov_start_get(static_cast<Log*>(context)->client, plov_text("k"), OnGet, context),
              PLOV_OK);
  };
  ASSERT_EQ(plov_start_put(client_.get(), plov_text("k"), plov_text("v"), nullptr, then_get, &log),
            PLOV_OK);
  RunToEnd(client_.get());
  EXPECT_EQ(log.lines, std::vector<std::string>{"ok v"});
}

TEST_F(CapiAsync, ClosingEndsWhatIsLeftAndStartsNothing) {
  struct Ended {
    plov_client* client;
    int calls = 0;
    plov_code code = PLOV_OK;
    plov_code restarted = PLOV_OK;
    plov_code closed = PLOV_OK;
    std::string message;
  } ended{.client = client_.get(), .message = {}};
  const auto done = [](void* context, const plov_get_result* result) {
    auto* mine = static_cast<Ended*>(context);
    ++mine->calls;
    mine->code = result->code;
    mine->restarted = plov_start_get(mine->client, plov_text("k"), OnGet, nullptr);
    mine->message = LastMessage(mine->client);
    mine->closed = plov_close(mine->client);
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(plov_start_get(client_.get(), plov_text("k"), done, &ended), PLOV_OK);
  }
  client_.reset();
  EXPECT_EQ(ended.calls, 3);
  EXPECT_EQ(ended.code, PLOV_UNAVAILABLE);
  EXPECT_EQ(ended.restarted, PLOV_UNAVAILABLE);
  EXPECT_EQ(ended.message, "the client is being closed");
  EXPECT_EQ(ended.closed, PLOV_INVALID_ARGUMENT);
}

TEST_F(CapiAsync, AStoppedServerEndsWritesWithATimeout) {
  const CClient client = ConnectInC(server_.uri(), 100'000);
  Log log;
  Stop(server_);
  EXPECT_EQ(plov_start_put(client.get(), plov_text("k"), plov_text("v"), nullptr, OnWrite, &log),
            PLOV_OK);
  RunToEnd(client.get());
  server_.Signal(SIGCONT);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_TRUE(log.lines[0].starts_with("PLOV_TIMEOUT: ")) << log.lines[0];
}

TEST_F(CapiAsync, AnIdleClientNeedsNoPollSoon) {
  size_t left = 1;
  EXPECT_EQ(plov_poll(client_.get(), &left), PLOV_OK);
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(plov_poll(client_.get(), nullptr), PLOV_OK);
  EXPECT_GE(plov_fd(client_.get()), 0);
  EXPECT_GT(plov_next_poll_us(client_.get()), 1'000'000);
}

}  // namespace
}  // namespace plov::test
