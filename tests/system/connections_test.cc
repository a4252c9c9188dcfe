// How many clients plovd takes, and what it says to those that are too many.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool OverRdma(const Plovd& server) { return server.uri().starts_with("rdma:"); }

Error ErrorOfConnecting(const std::string& uri) {
  auto client = Client::Connect(uri, {.timeout = std::chrono::seconds(20)});
  EXPECT_FALSE(client.has_value());
  return client ? Error{Code::kOk, ""} : client.error();
}

uint64_t StatOf(Client* client, const std::string& name) {
  const auto texts = client->ServerStats();
  if (!texts) return UINT64_MAX;
  const std::string& text = texts->front();
  const size_t at = ("\n" + text).find("\n" + name + " ");
  return at == std::string::npos ? UINT64_MAX : std::stoull(text.substr(at + name.size()));
}

// Waits for the log to say so.
bool Says(const Plovd& server, const std::string& text) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (server.Log().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Connections, OneClientTooManyIsToldTheLimitAndSoIsTheLog) {
  Plovd server({"--memory", "64M", "--shards", "2", "--max-clients", "2"});
  Client first = server.Connect();
  {
    Client second = server.Connect();
    const Error error = ErrorOfConnecting(server.uri());
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr("--max-clients"));
    EXPECT_TRUE(Says(server, "refused a client"));
    EXPECT_EQ(StatOf(&first, "clients"), 2u);
    EXPECT_EQ(StatOf(&first, "clients_refused"), 1u);
    EXPECT_GT(StatOf(&first, "connection_bytes_max"), 0u);
    EXPECT_TRUE(first.Put("k", "v") && second.Put("k", "w"));
  }
  // The second's end is noticed a moment later.
  for (int tries = 0; tries < 1000 && StatOf(&first, "clients") > 1; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(server.Connect().Put("k", "v"));
}

TEST(Connections, OneClientTooManyOfAUserIsToldTheLimit) {
  Plovd server({"--memory", "64M", "--max-clients-per-user", "1"});
  if (OverRdma(server)) GTEST_SKIP() << "users are not known over RDMA";
  Client first = server.Connect();
  EXPECT_THAT(ErrorOfConnecting(server.uri()).message, HasSubstr("--max-clients-per-user"));
}

TEST(Connections, LimitOfOpenFilesThatIsTooLowIsSaidAtStart) {
  Plovd enough({"--memory", "64M", "--max-clients", "10"});
  EXPECT_THAT(enough.Log(), Not(HasSubstr("open files")));
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max >= 1'000'000) GTEST_SKIP() << "this machine's limit is enough for all";
  Plovd server({"--memory", "64M", "--max-clients", "1000000"});
  EXPECT_TRUE(Says(server, "the limit of open files is " + std::to_string(files.rlim_max)));
  EXPECT_THAT(server.Log(), HasSubstr("--max-clients 1000000 needs 2000"));
}

TEST(Connections, SoftLimitOfOpenFilesIsRaised) {
  Plovd server({"--memory", "64M"});
  rlimit own{};
  rlimit of_server{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &of_server), 0);
  EXPECT_EQ(of_server.rlim_cur, own.rlim_max);
}

// Whatever finds none: the connection, its memory, or the copy of its socket.
TEST(Connections, ClientsThatFindNoDescriptorAreToldWhyAndSoIsTheLog) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers look at memory through a pipe";
  Plovd server({"--memory", "64M"});
  if (OverRdma(server)) GTEST_SKIP() << "a connection over RDMA takes no descriptor";
  Client first = server.Connect();
  rlimit former{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &former), 0);
  rlimit low{48, former.rlim_max};  // above what the server has itself
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &low, nullptr), 0);
  std::vector<Client> served;
  const auto connect = [&] {
    auto client = Client::Connect(server.uri(), {.timeout = std::chrono::seconds(20)});
    if (client) served.push_back(std::move(*client));
    return client ? Error{Code::kOk, ""} : client.error();
  };
  for (int round = 0; round < 3; ++round, --low.rlim_cur) {
    ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &low, nullptr), 0);
    Error refused{Code::kOk, ""};
    while (refused.code == Code::kOk && served.size() < 100) refused = connect();
    EXPECT_EQ(refused.code, Code::kUnavailable);
    EXPECT_THAT(refused.message,
                AllOf(HasSubstr("limit of open files, which is "), HasSubstr("LimitNOFILE=")));
  }
  EXPECT_TRUE(Says(server, "has no file descriptor left: raise its limit of open files"));
  EXPECT_TRUE(first.Put("k", "v")) << "who is connected goes on";
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &former, nullptr), 0);
  EXPECT_TRUE(server.Connect().Put("k", "v"));
}

}  // namespace
}  // namespace plov
