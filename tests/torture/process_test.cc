// Children of the tool.

#include "program/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "program/interrupt.h"

namespace plov::torture {
namespace {

const std::vector<std::string> kSleep = {"/bin/sleep", "100"};

// While a child was still a copy of the tool, it was a member of the tool's group, and what was
// sent to that group ended it.
TEST(Process, RunsItsProgramInItsOwnGroupAsSoonAsItIsStarted) {
  const auto program = std::filesystem::canonical(kSleep[0]);
  for (int i = 0; i < 50; ++i) {
    const auto process = program::Process::Start(kSleep, {});
    ASSERT_TRUE(process);
    EXPECT_EQ(::getpgid(process->pid()), process->pid());
    const auto link = "/proc/" + std::to_string(process->pid()) + "/exe";
    EXPECT_EQ(std::filesystem::read_symlink(link), program);
  }
}

TEST(Process, SaysAtOnceThatThereIsNoProgram) {
  const auto process = program::Process::Start({"/nowhere/plovd"}, {});
  ASSERT_FALSE(process);
  EXPECT_NE(process.error().message.find("/nowhere/plovd"), std::string::npos);
}

TEST(Process, TakesSignalsWhoeverStartedItIgnoresOrBlocksThem) {
  sigset_t signals;
  sigset_t former;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, &former);
  auto process = program::Process::Start(kSleep, {});
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  ASSERT_TRUE(process);
  process->Terminate();
  EXPECT_TRUE(process->Await(std::chrono::seconds(60)));
  EXPECT_EQ(process->ending(), "signal 15");
}

TEST(Interrupt, SaysWhichSignalCameAndFromWhom) {
  sigset_t former;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &former);
  program::BlockInterrupts();
  EXPECT_EQ(program::AwaitInterrupt(std::chrono::milliseconds(1)), std::nullopt);
  ::kill(::getpid(), SIGHUP);
  const auto interrupt = program::AwaitInterrupt(std::chrono::seconds(60));
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  ASSERT_TRUE(interrupt);
  EXPECT_EQ(interrupt->find("SIGHUP from process " + std::to_string(::getpid()) + " ("), 0U);
}

}  // namespace
}  // namespace plov::torture
