// A program that is interrupted all the time, as one under a profiler is. A signal ends a wait that has
// a limit, whatever its handler asks for (signal(7)), and must not end a call of the client.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <chrono>
#include <string>

#include "tests/support/plovd.h"

namespace plov {
namespace {

class Alarms {
 public:
  explicit Alarms(suseconds_t every_us) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &former_);
    Set(every_us);
  }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;
  ~Alarms() {
    Set(0);
    ::sigaction(SIGALRM, &former_, nullptr);
  }

 private:
  static void Set(suseconds_t every_us) {
    const timeval every{.tv_sec = 0, .tv_usec = every_us};
    const itimerval timer{.it_interval = every, .it_value = every};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }

  struct sigaction former_ {};
};

TEST(Signals, EndNoCall) {
  const test::Plovd server({"--memory", "64M"});
  const Alarms alarms(500);
  const std::string large(3'000'000, 'x');
  for (int life = 0; life < 20; ++life) {
    SCOPED_TRACE(life);
    auto client = Client::Connect(server.uri(), {.timeout = std::chrono::seconds(60)});
    ASSERT_TRUE(client) << client.error().message;
    ASSERT_TRUE(client->Put("small", "v"));
    ASSERT_TRUE(client->Put("large", large));
    const auto got = client->Get("large");
    ASSERT_TRUE(got && *got && (*got)->value == large);
    size_t items = 0;
    const auto scanned = client->Scan([&](std::string_view, const Item&) { return ++items > 0; });
    ASSERT_TRUE(scanned);
    EXPECT_EQ(items, 2);
    EXPECT_TRUE(client->ServerStats());
  }
}

}  // namespace
}  // namespace plov
