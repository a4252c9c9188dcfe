// What a host's name comes to when nobody answers for it in time.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <future>

#include "fabric/verbs/address.h"

namespace plov::fabric::verbs {
namespace {

// While it is set, names wait for it to be ready.
std::shared_future<void> g_answer;

}  // namespace
}  // namespace plov::fabric::verbs

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_name = (hints->ai_flags & AI_NUMERICHOST) == 0;
  if (is_name && plov::fabric::verbs::g_answer.valid()) plov::fabric::verbs::g_answer.wait();
  return real(host, port, hints, found);
}

namespace plov::fabric::verbs {
namespace {

TEST(Resolve, ANameThatIsNotAnsweredForInTimeIsATimeout) {
  std::promise<void> answer;
  g_answer = answer.get_future().share();
  const auto begun = Clock::now();
  const auto address = Resolve({"localhost", "7777"}, begun + std::chrono::milliseconds(20));
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, Code::kTimeout);
  EXPECT_NE(address.error().message.find("localhost"), std::string::npos);
  answer.set_value();
}

TEST(Resolve, AnAddressWaitsForNobody) {
  std::promise<void> answer;
  g_answer = answer.get_future().share();
  EXPECT_TRUE(Resolve({"127.0.0.1", "7777"}, Clock::now()));
  answer.set_value();
}

TEST(Resolve, ANameIsFound) {
  g_answer = {};
  EXPECT_TRUE(Resolve({"localhost", "7777"}, Clock::now() + std::chrono::seconds(30)));
  const auto nobody =
      Resolve({"no-such-host.invalid", "7777"}, Clock::now() + std::chrono::seconds(30));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace plov::fabric::verbs
