// The probes of `plov doctor` on machines made of a few files.

#include "client/cli/probes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace plov::cli {
namespace {

void ProbeMemoryOfOneGib(const program::Machine& machine, Findings* findings) {
  ProbeMemory(machine, uint64_t{1} << 30, findings);
}
void ProbePagesOfOneGib(const program::Machine& machine, Findings* findings) {
  ProbePages(machine, uint64_t{1} << 30, findings);
}

class Probes : public testing::Test {
 protected:
  Probes() {
    std::string name = "/tmp/plov-probes.XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Probes() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void WriteMemory(uint64_t total_mib, uint64_t available_mib) {
    Write("/proc/meminfo", "MemTotal:       " + std::to_string(total_mib << 10) +
                               " kB\nMemFree: 1 kB\nMemAvailable:   " +
                               std::to_string(available_mib << 10) + " kB\n");
  }

  using Probe = void (*)(const program::Machine&, Findings*);
  // What a probe finds on a subject; nullopt when it says nothing of it.
  std::optional<Finding> Find(Probe probe, const std::string& subject) const {
    Findings findings;
    probe(program::Machine(root_), &findings);
    for (const Finding& finding : findings.all()) {
      if (finding.subject == subject) return finding;
    }
    return std::nullopt;
  }
  Severity VerdictOf(Probe probe, const std::string& subject) const {
    const auto finding = Find(probe, subject);
    EXPECT_TRUE(finding) << subject;
    return finding ? finding->severity : Severity::kOk;
  }

  std::string root_;
};

TEST_F(Probes, KernelsBefore5_1AreAProblem) {
  for (const char* old : {"3.10.0-1160.el7", "4.19.0", "5.0.21", "5", "odd"}) {
    Write("/proc/sys/kernel/osrelease", old);
    EXPECT_EQ(VerdictOf(ProbeKernel, "kernel"), Severity::kProblem) << old;
  }
  for (const char* good : {"5.1.0", "5.10.0-8-amd64", "6.1.0\n", "10.0"}) {
    Write("/proc/sys/kernel/osrelease", good);
    EXPECT_EQ(VerdictOf(ProbeKernel, "kernel"), Severity::kOk) << good;
  }
}

TEST_F(Probes, MemoryIsHeldAgainstWhatAServerTakes) {
  WriteMemory(8192, 4096);
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "memory"), Severity::kOk);
  WriteMemory(8192, 512);
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "memory"), Severity::kNote);
  EXPECT_EQ(Find(ProbeMemoryOfOneGib, "memory")->mend, "plovd --memory 256M");
  WriteMemory(512, 400);
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "memory"), Severity::kProblem);
}

TEST_F(Probes, TheSmallestLimitOfTheControlGroupsCounts) {
  WriteMemory(8192, 8000);
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "cgroup"), Severity::kOk);
  Write("/proc/self/cgroup", "0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "cgroup"), Severity::kOk);
  Write("/sys/fs/cgroup/a/memory.max", std::to_string(512 << 20));
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "cgroup"), Severity::kProblem);
  EXPECT_EQ(Find(ProbeMemoryOfOneGib, "cgroup")->mend, "plovd --memory 256M");
  Write("/sys/fs/cgroup/a/memory.max", std::to_string(uint64_t{2} << 30));
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "cgroup"), Severity::kOk);
  Write("/proc/self/cgroup", "12:cpu:/\n7:memory:/\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "cgroup"), Severity::kProblem);
}

TEST_F(Probes, StrictOvercommitIsNoted) {
  Write("/proc/sys/vm/overcommit_memory", "0\n");
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "overcommit"), Severity::kOk);
  Write("/proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(VerdictOf(ProbeMemoryOfOneGib, "overcommit"), Severity::kNote);
}

TEST_F(Probes, HugePagesAreOfferedWhenTheyAreMissing) {
  constexpr auto kFree = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
  Write(kFree, "0\n");
  const auto finding = Find(ProbePagesOfOneGib, "huge pages");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kNote);
  EXPECT_NE(finding->mend.find("sysctl vm.nr_hugepages=512"), std::string::npos);
  Write(kFree, "512\n");
  EXPECT_EQ(VerdictOf(ProbePagesOfOneGib, "huge pages"), Severity::kOk);
  constexpr auto kTransparent = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  Write(kTransparent, "always within_size advise [never] deny force\n");
  EXPECT_EQ(VerdictOf(ProbePagesOfOneGib, "transparent huge pages"), Severity::kNote);
  EXPECT_NE(Find(ProbePagesOfOneGib, "transparent huge pages")->mend.find("echo advise"),
            std::string::npos);
  for (const char* modes : {"always [within_size] advise", "always within_size [advise]"}) {
    Write(kTransparent, modes);
    EXPECT_EQ(VerdictOf(ProbePagesOfOneGib, "transparent huge pages"), Severity::kOk) << modes;
    Write(kFree, "511\n");
    EXPECT_EQ(VerdictOf(ProbePagesOfOneGib, "huge pages"), Severity::kOk) << "these do as well";
  }
}

TEST_F(Probes, SlowClocksAndGovernorsAreNoted) {
  EXPECT_FALSE(Find(ProbeProcessors, "clock"));
  Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  Write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm \n");
  EXPECT_EQ(VerdictOf(ProbeProcessors, "clock"), Severity::kNote);
  EXPECT_EQ(Find(ProbeProcessors, "clock")->mend, "");
  Write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet\n");
  EXPECT_NE(Find(ProbeProcessors, "clock")->mend.find("echo tsc"), std::string::npos);
  Write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  EXPECT_EQ(VerdictOf(ProbeProcessors, "clock"), Severity::kOk);
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(VerdictOf(ProbeProcessors, "frequency"), Severity::kNote);
}

TEST_F(Probes, WhatIsWantedIsTheMemoryOfTheServer) {
  WriteMemory(8192, 4096);
  Findings findings;
  ProbeMemory(program::Machine(root_), uint64_t{16} << 30, &findings);
  ASSERT_FALSE(findings.all().empty());
  EXPECT_EQ(findings.all()[0].severity, Severity::kProblem);
  EXPECT_NE(findings.all()[0].meaning.find("a plovd of 16.0 GiB"), std::string::npos);
}

TEST(Machine, AFileThatCannotBeReadIsNone) {
  EXPECT_FALSE(program::Machine().Read("/proc"));
  EXPECT_FALSE(program::Machine().Read("/proc/self/mem"));  // opens, and fails to be read
  EXPECT_EQ(program::Machine().Read("/dev/null"), "");
}

TEST(Machine, WordsForTheShellAreQuotedWhenTheyMust) {
  EXPECT_EQ(program::Quoted("shm:/tmp/a-b_c.sock"), "shm:/tmp/a-b_c.sock");
  EXPECT_EQ(program::Quoted("a b"), "'a b'");
  EXPECT_EQ(program::Quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(program::Quoted(""), "''");
}

TEST(Machine, AnEmptyMachineMakesNoProbeFail) {
  const program::Machine nothing("/nonexistent");
  Findings findings;
  ProbeKernel(nothing, &findings);
  ProbeMemoryOfOneGib(nothing, &findings);
  ProbePagesOfOneGib(nothing, &findings);
  ProbeProcessors(nothing, &findings);
  for (const Finding& finding : findings.all()) {
    EXPECT_NE(finding.severity, Severity::kProblem) << finding.subject;
  }
}

// A folder on a disk that the machine's files describe as they say.
class LogProbes : public Probes {
 protected:
  Finding FindOn(const std::string& mount, const std::string& cache, const std::string& subject) {
    struct stat status;
    EXPECT_EQ(::stat(root_.c_str(), &status), 0);
    const std::string device =
        std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    Write("/proc/self/mountinfo", "22 1 0:5 / /proc rw - proc proc rw\n23 1 " + device +
                                      " / / rw,relatime shared:1 - " + mount + "\n");
    const std::string queue = "/sys/dev/block/" + device + "/queue/write_cache";
    if (cache.empty()) {
      std::filesystem::remove(root_ + queue);
    } else {
      Write(queue, cache);
    }
    Findings findings;
    ProbeLog(program::Machine(root_), root_, 1, &findings);
    for (const Finding& finding : findings.all()) {
      if (finding.subject == subject) return finding;
    }
    return {Severity::kOk, subject, "", ""};
  }
  Severity FileSystem(const std::string& mount) {
    return FindOn(mount, "", "log file system").severity;
  }
  Finding Flush(const std::string& mount, const std::string& cache) {
    return FindOn(mount, cache, "log flush");
  }
};

TEST_F(LogProbes, NetworksAndMemoryAreNoDisk) {
  EXPECT_EQ(FileSystem("ext4 /dev/sda1 rw"), Severity::kOk);
  EXPECT_EQ(FileSystem("tmpfs tmpfs rw"), Severity::kNote);
  EXPECT_EQ(FileSystem("nfs4 host:/export rw"), Severity::kProblem);
  EXPECT_EQ(FileSystem("fuse.sshfs host: rw"), Severity::kProblem);
}

TEST_F(LogProbes, FlushesAreToldWhereTheyCanBe) {
  const std::string disk = "ext4 /dev/none rw";
  EXPECT_NE(Flush(disk, "write back\n").meaning.find("each sync flushes"), std::string::npos);
  EXPECT_NE(Flush(disk, "write through\n").meaning.find("needs none"), std::string::npos);
  EXPECT_NE(Flush(disk, "").meaning.find("unknown"), std::string::npos);
  EXPECT_EQ(Flush("ext4 /dev/none rw,barrier=0", "write back").severity, Severity::kProblem);
  EXPECT_EQ(Flush("xfs /dev/none rw,nobarrier", "write back").severity, Severity::kProblem);
  EXPECT_EQ(Flush("tmpfs tmpfs rw", "").meaning, "");
}

}  // namespace
}  // namespace plov::cli
