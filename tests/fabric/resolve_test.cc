// What a host's name comes to when nobody answers for it in time.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <future>
#include <mutex>
#include <string_view>
#include <utility>

#include "fabric/verbs/address.h"

namespace plov::fabric::verbs {
namespace {

// While there is an answer, names wait for it. A thread that resolves one may outlive its test and
// this program's statics.
struct Names {
  std::mutex mutex;
  std::shared_future<void> answer;
};
Names& TheNames() {
  static Names* const names = new Names;
  return *names;
}

void WaitFor(std::shared_future<void> answer) {
  const std::lock_guard lock(TheNames().mutex);
  TheNames().answer = std::move(answer);
}

std::shared_future<void> Awaited() {
  const std::lock_guard lock(TheNames().mutex);
  return TheNames().answer;
}

}  // namespace
}  // namespace plov::fabric::verbs

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_name = (hints->ai_flags & AI_NUMERICHOST) == 0;
  const auto answer = plov::fabric::verbs::Awaited();
  if (is_name && answer.valid()) answer.wait();
  // As every name server would answer (RFC 6761), where there is one.
  if (std::string_view(host).ends_with(".invalid")) return EAI_NONAME;
  return real(host, port, hints, found);
}

namespace plov::fabric::verbs {
namespace {

TEST(Resolve, ANameThatIsNotAnsweredForInTimeIsATimeout) {
  std::promise<void> answer;
  WaitFor(answer.get_future().share());
  const auto begun = Clock::now();
  const auto address = Resolve({"localhost", "7777"}, begun + std::chrono::milliseconds(20));
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, Code::kTimeout);
  EXPECT_NE(address.error().message.find("localhost"), std::string::npos);
  answer.set_value();
}

TEST(Resolve, AnAddressWaitsForNobody) {
  std::promise<void> answer;
  WaitFor(answer.get_future().share());
  EXPECT_TRUE(Resolve({"127.0.0.1", "7777"}, Clock::now()));
  answer.set_value();
}

TEST(Resolve, ANameIsFound) {
  WaitFor({});
  EXPECT_TRUE(Resolve({"localhost", "7777"}, Clock::now() + std::chrono::seconds(30)));
  const auto nobody =
      Resolve({"no-such-host.invalid", "7777"}, Clock::now() + std::chrono::seconds(30));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace plov::fabric::verbs
