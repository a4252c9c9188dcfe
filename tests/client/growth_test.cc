// A client whose server's table grows: nothing is missed, and the server learns what it may reuse.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <set>

#include "tests/client/growing_server.h"

namespace plov {
namespace {

using test::GrowingServer;
using Step = GrowingServer::Step;
using Versions = std::vector<uint64_t>;
using std::chrono::milliseconds;

// GETs of every item, and of keys that are absent; each with the right answer and none by message.
void ExpectFindsAll(const GrowingServer& server, Client* client) {
  for (const auto& [key, value] : server.items()) {
    const auto hit = client->Get(key);
    ASSERT_TRUE(hit) << key << ": " << hit.error().message;
    ASSERT_TRUE(hit->has_value()) << key << " was missed";
    EXPECT_EQ((*hit)->value, value);
  }
  for (int i = 0; i < 100; ++i) {
    const auto miss = client->Get("absent:" + std::to_string(i));
    ASSERT_TRUE(miss && !miss->has_value());
  }
  EXPECT_EQ(client->stats().fallbacks, 0);
}

// The same by GetMany; `each` is called after every result.
void ExpectManyFindsAll(const GrowingServer& server, Client* client,
                        const std::function<void(size_t)>& each) {
  const std::vector<std::string> keys = server.keys();
  std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int i = 0; i < 20; ++i) views.insert(views.begin() + 2 * i, "absent");
  size_t done = 0;
  client->GetMany(views, [&](size_t index, Client::GetResult result) {
    const auto item = server.items().find(std::string(views[index]));
    if (!result) {
      ADD_FAILURE() << views[index] << ": " << result.error().message;
    } else if (item == server.items().end()) {
      EXPECT_FALSE(result->has_value()) << views[index];
    } else if (!result->has_value()) {
      ADD_FAILURE() << views[index] << " was missed";
    } else {
      EXPECT_EQ((*result)->value, item->second);
    }
    each(done++);
  });
  EXPECT_EQ(done, views.size());
  EXPECT_EQ(client->stats().fallbacks, 0);
}

void RunToEnd(Client* client) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (client->Poll() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd poll_fd{client->fd(), POLLIN, 0};
    const auto wait = std::chrono::ceil<milliseconds>(client->next_poll());
    ::poll(&poll_fd, 1, static_cast<int>(std::min<int64_t>(wait.count(), 1000)));
  }
}

// Clients that connect before each step, and a remembered location or none of each key.
TEST(Growth, EveryKeyIsFoundAtEveryStepByClientsOfEveryAge) {
  for (const size_t cache_bytes : {size_t{0}, size_t{1} << 16}) {
    GrowingServer server;
    std::vector<Client> clients;
    for (size_t step = 0; step <= GrowingServer::kStepCount; ++step) {
      if (step > 0) server.Grow(GrowingServer::kSteps[step - 1]);
      clients.push_back(server.Connect({.location_cache_bytes = cache_bytes}));
      for (size_t client = 0; client < clients.size(); ++client) {
        SCOPED_TRACE("step " + std::to_string(step) + ", client " + std::to_string(client));
        server.While([&] { ExpectFindsAll(server, &clients[client]); });
      }
    }
    EXPECT_EQ(server.asked(), 0);
  }
}

// The first client walks through all steps; what it knows of the old table is of no use any more.
TEST(Growth, AnOldTableWhoseMemoryIsReusedIsNotLookedAtAnyMore) {
  GrowingServer server;
  Client client = server.Connect();
  for (const Step step : GrowingServer::kSteps) {
    server.Grow(step);
    server.While([&] { ExpectFindsAll(server, &client); });
  }
  ASSERT_EQ(server.last_confirmed(), server.version());
  server.Reuse();
  const ClientStats before = client.stats();
  server.While([&] { ExpectFindsAll(server, &client); });
  EXPECT_EQ(client.stats().torn_buckets, before.torn_buckets);
  EXPECT_EQ(client.stats().refreshes, before.refreshes);
}

TEST(Growth, EachSuperblockIsConfirmedOnceWhenItIsTakenOver) {
  GrowingServer server;
  Client client = server.Connect();
  EXPECT_EQ(server.confirmed(), Versions({1})) << "the one that was read on connecting, at once";
  const auto get_all = [&] { server.While([&] { ExpectFindsAll(server, &client); }); };
  server.Grow(Step::kListNext);
  get_all();
  EXPECT_EQ(server.confirmed(), Versions({1})) << "nothing said yet that it is old";
  server.Grow(Step::kMoveHalf);
  get_all();
  EXPECT_EQ(server.confirmed(), Versions({1, 2}));
  server.Grow(Step::kMoveRest);
  server.Grow(Step::kListNextOnly);
  get_all();
  EXPECT_EQ(server.confirmed(), Versions({1, 2})) << "the old table is still looked at";
  server.Grow(Step::kRetireHalf);
  get_all();
  EXPECT_EQ(server.confirmed(), Versions({1, 2, 3}));
  server.Grow(Step::kRetireRest);
  get_all();
  EXPECT_EQ(server.confirmed(), Versions({1, 2, 3}));
  EXPECT_EQ(client.stats().refreshes, 2);
}

// A superblock READ again after one GET, and confirmed before that GET's call has returned.
TEST(Growth, OneGetConfirms) {
  GrowingServer server;
  Client client = server.Connect();
  server.GrowAll();
  server.While([&] {
    const auto hit = client.Get("key:0");
    ASSERT_TRUE(hit && hit->has_value());
  });
  EXPECT_EQ(server.confirmed(), Versions({1, 3}));
}

TEST(Growth, OneGetManyConfirms) {
  GrowingServer server;
  Client client = server.Connect();
  server.GrowAll();
  const std::vector<std::string_view> keys = {"key:0"};
  server.While([&] {
    client.GetMany(keys, [](size_t, Client::GetResult hit) { EXPECT_TRUE(hit && *hit); });
  });
  EXPECT_EQ(server.confirmed(), Versions({1, 3}));
}

// Nobody's replies are taken for the confirmation's, nor is it waited for.
TEST(Growth, MessagesGoOnBesideTheConfirmation) {
  GrowingServer server;
  Client client = server.Connect();
  for (const Step step : GrowingServer::kSteps) {
    server.Grow(step);
    server.While([&] {
      EXPECT_TRUE(client.Ping());
      ExpectFindsAll(server, &client);
      EXPECT_TRUE(client.Sync());
    });
  }
  EXPECT_EQ(server.confirmed(), Versions({1, 2, 3}));
}

// As many messages as may be are unanswered when the view changes; later GETs make up for it.
TEST(Growth, AConfirmationThatFoundNoRoomIsSentLater) {
  GrowingServer server;
  Client client = server.Connect();
  size_t stored = 0;
  const auto on_stored = [&](Client::PutResult result) { stored += result.has_value(); };
  server.answers = false;
  server.GrowAll();
  server.While([&] {
    for (int i = 0; i < 8; ++i) {
      client.StartPut("new", "value", {}, on_stored);
      client.Poll();
    }
    EXPECT_TRUE(client.Get("key:0"));
  });
  EXPECT_EQ(client.stats().refreshes, 1);
  EXPECT_EQ(server.confirmed(), Versions({1})) << "the test needs a full house";
  server.answers = true;
  server.While([] {});
  server.While([&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.Get("key:0"));
  });
  EXPECT_EQ(server.confirmed(), Versions({1, 3})) << "GETs alone must do";
  server.While([&] { RunToEnd(&client); });
  EXPECT_EQ(stored, 8);
}

// The whole growth, or one home of it, in the middle of a window of lookups.
TEST(Growth, ViewsChangeUnderAWindowOfLookups) {
  for (const size_t cache_bytes : {size_t{0}, size_t{1} << 16}) {
    for (size_t moment = 0; moment < 72; ++moment) {
      SCOPED_TRACE(moment);
      GrowingServer server;
      Client client = server.Connect({.location_cache_bytes = cache_bytes, .window = 16});
      server.While([&] {
        if (cache_bytes > 0) ExpectManyFindsAll(server, &client, [](size_t) {});
        ExpectManyFindsAll(server, &client, [&](size_t done) {
          if (done == moment) server.GrowAll();
        });
      });
      EXPECT_EQ(server.asked(), 0);
    }
  }
}

TEST(Growth, HomesMoveUnderAWindowOfLookups) {
  for (const size_t first : {0u, 5u, 17u}) {
    GrowingServer server;
    Client client = server.Connect({.location_cache_bytes = 0, .window = 16});
    server.Grow(Step::kListNext);
    server.While([&] {
      ExpectManyFindsAll(server, &client, [&](size_t done) {
        if (done < first) return;
        if (!server.MoveOneHome() && server.version() == 2) {
          server.Grow(Step::kListNextOnly);
          server.Grow(Step::kRetireHalf);
        }
      });
      ExpectFindsAll(server, &client);
    });
    EXPECT_EQ(server.asked(), 0);
  }
}

TEST(Growth, TheAsynchronousFormFollows) {
  GrowingServer server;
  Client client = server.Connect({.location_cache_bytes = 0, .window = 8});
  for (const Step step : GrowingServer::kSteps) {
    server.Grow(step);
    size_t right = 0;
    const std::vector<std::string> keys = server.keys();
    server.While([&] {
      for (const std::string& key : keys) {
        client.StartGet(key, [&, &key = key](Client::GetResult hit) {
          right += hit && *hit && (*hit)->value == server.items().at(key);
        });
      }
      RunToEnd(&client);
    });
    EXPECT_EQ(right, keys.size());
  }
  EXPECT_EQ(server.confirmed(), Versions({1, 2, 3}));
  EXPECT_EQ(server.asked(), 0);
}

// An inline item of the next table stays where it was found, though that table is the first now.
TEST(Growth, LocationsInTheNextTableOutliveTheOld) {
  GrowingServer server;
  server.Grow(Step::kListNext);
  server.Grow(Step::kMoveHalf);
  server.Grow(Step::kMoveRest);
  Client client = server.Connect();
  server.While([&] { ExpectFindsAll(server, &client); });
  server.Grow(Step::kListNextOnly);
  server.Grow(Step::kRetireHalf);
  server.Grow(Step::kRetireRest);
  const auto absent = [&] { EXPECT_TRUE(client.Get("absent")); };
  server.While(absent);  // which shows the client the new superblock
  ASSERT_EQ(server.last_confirmed(), 3);
  const ClientStats before = client.stats();
  server.While([&] {
    for (const auto& [key, value] : server.items()) EXPECT_TRUE(client.Get(key));
  });
  EXPECT_EQ(client.stats().reads - before.reads, server.items().size()) << "one READ each";
  EXPECT_EQ(client.stats().known_misses, before.known_misses);
}

// The server says that the superblock is old, and publishes no other.
TEST(GrowthAgainstTheRules, ASuperblockThatStaysOldLeadsToTheServer) {
  for (const bool retired : {true, false}) {
    GrowingServer server;
    Client client = server.Connect();
    if (retired) {
      server.RetireAll();
    } else {
      server.ForwardAll();
    }
    server.While([&] {
      const auto hit = client.Get("key:3");
      ASSERT_TRUE(hit) << hit.error().message;
      ASSERT_TRUE(hit->has_value());
      EXPECT_EQ((*hit)->value, server.items().at("key:3"));
      const auto miss = client.Get("absent");
      EXPECT_TRUE(miss && !miss->has_value());
    });
    EXPECT_EQ(server.asked(), retired ? 2 : 1) << "a hit under forward needs nobody";
    EXPECT_EQ(server.confirmed(), Versions({1}));
  }
}

TEST(GrowthAgainstTheRules, AWindowOfThemEndsToo) {
  GrowingServer server;
  Client client = server.Connect({.window = 16});
  server.RetireAll();
  const std::vector<std::string> keys = server.keys();
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  size_t right = 0;
  server.While([&] {
    client.GetMany(views, [&](size_t index, Client::GetResult hit) {
      right += hit && *hit && (*hit)->value == server.items().at(keys[index]);
    });
  });
  EXPECT_EQ(right, keys.size());
  EXPECT_EQ(server.asked(), keys.size());
}

TEST(GrowthAgainstTheRules, ATornSuperblockLeadsToTheServer) {
  GrowingServer server;
  Client client = server.Connect();
  server.GrowAll();
  server.TearSuperblock();
  server.While([&] {
    const auto hit = client.Get("key:3");
    ASSERT_TRUE(hit) << hit.error().message;
    EXPECT_TRUE(hit->has_value());
  });
  EXPECT_EQ(server.asked(), 1);
  EXPECT_EQ(server.confirmed(), Versions({1}));
  server.Publish();
  server.While([&] { ASSERT_TRUE(client.Get("key:3")); });
  EXPECT_EQ(server.asked(), 1) << "and is forgotten when it is whole again";
}

// As when the server was stopped while it wrote the superblock.
TEST(GrowthAgainstTheRules, ATornSuperblockAndNoAnswerIsATimeoutWithinTheDeadline) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(500)});
  server.GrowAll();
  server.TearSuperblock();
  server.answers = false;
  const auto start = std::chrono::steady_clock::now();
  server.While([&] {
    const auto hit = client.Get("key:3");
    ASSERT_FALSE(hit);
    EXPECT_EQ(hit.error().code, Code::kTimeout);
  });
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(500));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(GrowthAgainstTheRules, ASuperblockOfAnotherLifeIsAProtocolError) {
  GrowingServer server;
  Client client = server.Connect();
  server.RetireAll();
  server.PublishForeign();
  server.While([&] {
    EXPECT_EQ(client.Get("key:3").error().code, Code::kProtocol);
    EXPECT_EQ(client.Scan([](std::string_view, const Item&) { return true; }).error().code,
              Code::kProtocol);
  });
  EXPECT_EQ(server.confirmed(), Versions({1}));
}

TEST(GrowthAgainstTheRules, AServerThatGoesDuringARefreshIsUnavailable) {
  auto server = std::make_unique<GrowingServer>();
  Client client = server->Connect({.timeout = milliseconds(500)});
  server->RetireAll();
  server.reset();
  EXPECT_EQ(client.Get("key:3").error().code, Code::kUnavailable);
}

// A client that slept through everything is closed; the memory that it had looked at is reused.
TEST(GrowthClosed, AClientComesBackAndFindsAll) {
  for (size_t steps = 0; steps <= GrowingServer::kStepCount; ++steps) {
    SCOPED_TRACE(steps);
    GrowingServer server;
    Client client = server.Connect();
    server.While([&] { ExpectFindsAll(server, &client); });
    for (size_t step = 0; step < steps; ++step) server.Grow(GrowingServer::kSteps[step]);
    server.CloseAll();
    if (steps == GrowingServer::kStepCount) server.Reuse();
    server.While([&] { ExpectFindsAll(server, &client); });
    EXPECT_EQ(client.stats().reconnects, 1);
    EXPECT_EQ(server.opened(), 2);
    EXPECT_EQ(server.confirmed(), steps == 0   ? Versions({1, 1})
                                  : steps <= 3 ? Versions({1, 2})
                                               : Versions({1, 3}));
    EXPECT_EQ(server.asked(), 0);
  }
}

TEST(GrowthClosed, AWindowOfLookupsGoesOn) {
  // Half of a window is READ together, the last of the 72 keys, too.
  for (size_t moment = 0; moment < 72 - 8; moment += 7) {
    GrowingServer server;
    Client client = server.Connect({.window = 16});
    server.While([&] {
      ExpectManyFindsAll(server, &client, [&](size_t done) {
        if (done != moment) return;
        server.GrowAll();
        server.AskToCloseAll();
        server.Reuse();
      });
    });
    EXPECT_EQ(client.stats().reconnects, 1);
    EXPECT_EQ(server.last_confirmed(), server.version());
  }
}

}  // namespace
}  // namespace plov
