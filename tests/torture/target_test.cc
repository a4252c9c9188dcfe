// The tool's own questions to the server that it tortures.

#include "torture/target.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/support/plovd.h"

namespace plov::torture {
namespace {

// Longer than one question takes, shorter than all.
constexpr std::chrono::seconds kSilence{3};

std::unique_ptr<Target> TargetOf(const test::Plovd& plovd) {
  ToolOptions options;
  options.server = plovd.uri();
  auto target = Target::Open(options, /*run=*/1);
  if (!target) throw std::runtime_error(target.error().message);
  return std::move(*target);
}

TEST(Target, AsksAgainUntilTheServerAnswers) {
  const test::Plovd plovd({"--memory", "16M"});
  const auto target = TargetOf(plovd);
  EXPECT_TRUE(target->Observe());
  plovd.Signal(SIGSTOP);
  EXPECT_FALSE(target->Observe());  // one question is not enough
  std::thread mend([&plovd] {
    std::this_thread::sleep_for(kSilence);
    plovd.Signal(SIGCONT);
  });
  EXPECT_TRUE(target->ObserveAtLast());
  mend.join();
}

TEST(Target, TakesAServerForGoneAtLast) {
  test::Plovd plovd({"--memory", "16M"});
  const auto target = TargetOf(plovd);
  plovd.Signal(SIGKILL);
  EXPECT_EQ(plovd.Wait(), -SIGKILL);
  EXPECT_FALSE(target->ObserveAtLast());
}

}  // namespace
}  // namespace plov::torture
