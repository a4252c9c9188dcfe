// What a start says of a host that its memory would fill.

#include "server/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/folder.h"

namespace plov::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine of 8000 MiB, 2000 of them in use.
class HostMemory : public ::testing::Test {
 protected:
  HostMemory() {
    Write("/proc/meminfo",
          "MemTotal:        8192000 kB\nMemFree:          100 kB\nMemAvailable:    6144000 kB\n");
  }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string Warning(uint64_t memory_mib, uint64_t own_bytes = 0) const {
    return WarnOfHostMemory({.memory_bytes = memory_mib << 20}, own_bytes, folder_.path());
  }

  test::TemporaryFolder folder_;
};

TEST_F(HostMemory, IsFineUpToNineTenths) {
  EXPECT_THAT(Warning(5100), IsEmpty());
  EXPECT_THAT(Warning(5300),
              HasSubstr("--memory, 5300 MiB, and the 2000 MiB that others use come to 91 % of the "
                        "host's 8000 MiB"));
  EXPECT_THAT(Warning(7900), HasSubstr("123 %"));
  EXPECT_THAT(Warning(5300, uint64_t{1000} << 20), IsEmpty()) << "it is not taken twice";
}

TEST_F(HostMemory, OfAGroupWhoseLimitIsLower) {
  Write("/proc/self/cgroup", "0::/system.slice/plovd.service\n");
  Write("/sys/fs/cgroup/system.slice/plovd.service/memory.max", "max\n");
  Write("/sys/fs/cgroup/system.slice/plovd.service/memory.current", "1048576\n");
  Write("/sys/fs/cgroup/system.slice/memory.max", std::to_string(1000 << 20) + "\n");
  Write("/sys/fs/cgroup/system.slice/memory.current", std::to_string(500 << 20) + "\n");
  Write("/sys/fs/cgroup/system.slice/memory.stat",
        "anon 5\ninactive_file " + std::to_string(300 << 20) + "\n");
  EXPECT_THAT(Warning(600), IsEmpty());
  EXPECT_THAT(Warning(800), HasSubstr("the 200 MiB that others use come to 100 % of control group "
                                      "/system.slice's 1000 MiB"));
}

TEST_F(HostMemory, OfTheRootGroupThatAContainerSees) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", std::to_string(1000 << 20) + "\n");
  Write("/sys/fs/cgroup/memory.current", "0\n");
  EXPECT_THAT(Warning(899), IsEmpty());
  EXPECT_THAT(Warning(950), HasSubstr("1000 MiB"));
}

TEST_F(HostMemory, OfAGroupOfTheFirstKind) {
  Write("/proc/self/cgroup", "12:pids:/x\n9:memory:/docker\n0::/docker\n");
  Write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", std::to_string(1000 << 20) + "\n");
  Write("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", std::to_string(100 << 20) + "\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_THAT(Warning(700), IsEmpty());
  EXPECT_THAT(Warning(850), HasSubstr("control group /docker's"));
}

TEST_F(HostMemory, WarmMemoryThatIsThereCountsOnce) {
  Write("/proc/meminfo", "MemTotal:  102400 kB\nMemAvailable:  81920 kB\n");
  const ServerOptions options{.memory_bytes = uint64_t{75} << 20,
                              .warm_path = folder_.path() + "/w"};
  EXPECT_FALSE(WarnOfHostMemory(options, WarmBytes(options), folder_.path()).empty());
  std::ofstream(options.warm_path) << std::string(size_t{8} << 20, 'x');
  EXPECT_THAT(WarnOfHostMemory(options, WarmBytes(options), folder_.path()), IsEmpty());
}

TEST_F(HostMemory, HugePagesAreNobodyElses) {
  const ServerOptions options{.memory_bytes = uint64_t{7900} << 20, .huge_pages = HugePages::kYes};
  EXPECT_THAT(WarnOfHostMemory(options, WarmBytes(options), folder_.path()), IsEmpty());
}

TEST_F(HostMemory, GarbageIsNoReasonToFail) {
  Write("/proc/meminfo", "MemTotal: x\nMemAvailable");
  Write("/proc/self/cgroup", "0::");
  EXPECT_THAT(Warning(1), IsEmpty());
  Write("/proc/self/cgroup", "");
  EXPECT_THAT(Warning(1), IsEmpty());
}

}  // namespace
}  // namespace plov::server
