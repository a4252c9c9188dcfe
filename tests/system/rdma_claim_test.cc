// Somebody who has heard a client connect over RDMA tries to come as that client.

#include <gtest/gtest.h>

#include <thread>

#include "fabric/fabric.h"
#include "fabric/random.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/rdma.h"
#include "verify/message.h"
#include "verify/superblock.h"

namespace plov {
namespace {

using fabric::Connection;

const uint64_t kId = fabric::RandomId();

std::expected<std::unique_ptr<Connection>, Error> Connect(const std::string& uri,
                                                          const fabric::Claim& claim) {
  return Connection::Connect(uri, {.shard = 0,
                                   .format_version = verify::kFormatVersion,
                                   .client_id = kId,
                                   .claim = claim,
                                   .deadline = fabric::Clock::now() + std::chrono::seconds(60)});
}

// Says what every client says first, and waits for the answer.
bool Speak(Connection* connection) {
  std::vector<std::byte> buffer(connection->limits().message_bytes_max);
  verify::MessageWriter writer(buffer, kId);
  verify::Request request;
  request.operation = verify::Operation::kConfirm;
  writer.Add(request);
  return connection->Send(writer.Finish()) &&
         test::Eventually([&] { return connection->Receive().has_value(); },
                          std::chrono::minutes(1));
}

TEST(RdmaClaim, WhoHeardAClientConnectIsRefusedAndTheClientGoesOn) {
  if (!test::OverRdma()) GTEST_SKIP() << test::kNoRdma;
  test::Plovd server({"--memory", "32M"});
  fabric::Claimant client;
  const fabric::Claim heard = client.claim();
  auto connection = Connect(server.uri(), heard);
  ASSERT_TRUE(connection) << connection.error().message;
  client.OnConnected();
  ASSERT_TRUE(Speak(connection->get()));
  for (const fabric::Claim& claim : {heard, fabric::Claim{}, fabric::Claimant().claim()}) {
    const auto impostor = Connect(server.uri(), claim);
    ASSERT_FALSE(impostor);
    EXPECT_EQ(impostor.error().code, Code::kUnknown) << impostor.error().message;
  }
  EXPECT_NE(server.Log().find("id belongs to another"), std::string::npos) << server.Log();
  EXPECT_TRUE((*connection)->alive() && Speak(connection->get()));
  auto again = Connect(server.uri(), client.claim());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(Speak(again->get()));
}

}  // namespace
}  // namespace plov
