// A GET makes no system call: shown by a process that may make none.

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <plov/client.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/plovd.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

// From here on the kernel kills this process at any call but exit. (Strict seccomp would also take
// away the clock register, which reading the time needs.)
bool ForbidSystemCalls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int GetUnderSeccomp(const test::Plovd& server) {
  Client client = server.Connect();
  const std::string value(200, 'v');
  if (!client.Put("record", value) || !client.Put("inline", "v")) return 1;
  const std::vector<std::string_view> keys = {"record", "inline", "absent"};
  size_t hits = 0;
  const auto work = [&] {
    hits += client.Get("record")->has_value() + client.Get("inline")->has_value();
    client.GetMany(keys,
                   [&hits](size_t, Client::GetResult result) { hits += result->has_value(); });
  };
  work();
  if (!ForbidSystemCalls()) return 77;
  for (int i = 0; i < 10'000; ++i) work();
  ::syscall(SYS_exit, hits == 4 * 10'001 ? 0 : 2);
  return 3;
}

TEST(SystemCalls, AGetMakesNone) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers make system calls of their own";
  std::ifstream clock("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  clock >> name;
  if (name != "tsc" && name != "kvm-clock" && name != "arch_sys_counter") {
    GTEST_SKIP() << "reading the clock '" << name << "' is a system call on this machine";
  }
  const test::Plovd server({"--memory", "64M"});
  test::Child child = test::Child::Fork([&server] { return GetUnderSeccomp(server); });
  const int status = child.Wait();
  if (status == 77) GTEST_SKIP() << "seccomp is not available";
  EXPECT_EQ(status, 0) << "-31 means that a GET made a system call";
}

}  // namespace
}  // namespace plov
