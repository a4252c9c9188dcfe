#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "client/cli/probes.h"
#include "program/format.h"

namespace plov::cli {

namespace {

constexpr size_t kProbeBytes = 4096;

// Does what plovd and its clients do with a page. Returns the step that failed, or nullptr.
const char* TrySharedMemory() {
  const int fd = ::memfd_create("plov-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return "memfd_create";
  const char* failed = nullptr;
  const std::string self = fmt::format("/proc/self/fd/{}", fd);
  int read_only = -1;
  if (::ftruncate(fd, kProbeBytes) != 0) {
    failed = "ftruncate";
  } else if (::fallocate(fd, 0, 0, kProbeBytes) != 0) {
    failed = "fallocate";
  } else if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    failed = "F_ADD_SEALS";
  } else if ((read_only = ::open(self.c_str(), O_RDONLY | O_CLOEXEC)) < 0) {
    failed = "open of /proc/self/fd";
  } else {
    void* memory = ::mmap(nullptr, kProbeBytes, PROT_READ, MAP_SHARED, read_only, 0);
    if (memory == MAP_FAILED) failed = "mmap";
    if (memory != MAP_FAILED) ::munmap(memory, kProbeBytes);
  }
  const int error_number = errno;
  if (read_only >= 0) ::close(read_only);
  ::close(fd);
  errno = error_number;
  return failed;
}

std::string SmallerServer(uint64_t bytes) {
  return fmt::format("plovd --memory {}M", std::max<uint64_t>(bytes / 2 >> 20, 16));
}

// The smallest limit on the way from the process's own group to the root.
std::optional<uint64_t> GroupLimit(const program::Machine& machine, std::string group,
                                   std::string_view top, std::string_view file) {
  std::optional<uint64_t> least;
  while (true) {
    const auto limit = machine.ReadNumber(fmt::format("{}{}/{}", top, group, file));
    if (limit && (!least || *limit < *least)) least = limit;
    if (group.empty()) return least;
    group.erase(std::min(group.rfind('/'), group.size()));
  }
}

std::optional<uint64_t> MemoryGroupLimit(const program::Machine& machine) {
  const auto groups = machine.Read("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  const auto path_behind = [&groups](std::string_view mark) -> std::optional<std::string> {
    const size_t at = groups->find(mark);
    if (at == std::string::npos) return std::nullopt;
    const size_t from = at + mark.size();
    std::string path = groups->substr(from, groups->find('\n', from) - from);
    return path == "/" ? "" : path;
  };
  if (const auto first = path_behind(":memory:")) {
    return GroupLimit(machine, *first, "/sys/fs/cgroup/memory", "memory.limit_in_bytes");
  }
  if (const auto second = path_behind("0::")) {
    return GroupLimit(machine, *second, "/sys/fs/cgroup", "memory.max");
  }
  return std::nullopt;
}

// physical_bytes: of the machine.
void ProbeGroup(const program::Machine& machine, uint64_t physical_bytes, uint64_t memory_bytes,
                Findings* findings) {
  const auto limit = MemoryGroupLimit(machine);
  if (!limit || *limit >= physical_bytes) {
    return findings->Ok("cgroup", "no memory limit below the machine's");
  }
  if (*limit > memory_bytes) {
    return findings->Ok("cgroup", fmt::format("limits memory to {}, a server's shared memory "
                                              "counted",
                                              program::Bytes(*limit)));
  }
  findings->Problem("cgroup",
                    fmt::format("limits memory to {}: a plovd of {} would be killed as it fills",
                                program::Bytes(*limit), program::Bytes(memory_bytes)),
                    SmallerServer(*limit));
}

void ProbeOvercommit(const program::Machine& machine, Findings* findings) {
  const auto mode = machine.ReadNumber("/proc/sys/vm/overcommit_memory");
  if (!mode) return;
  if (*mode != 2) {
    return findings->Ok("overcommit", fmt::format("vm.overcommit_memory is {}", *mode));
  }
  findings->Note("overcommit",
                 "vm.overcommit_memory is 2: memory that is only reserved counts, so plovd may be "
                 "refused what is free",
                 program::AsRoot("sysctl vm.overcommit_memory=0"));
}

constexpr auto kTransparentPath = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

// That which is chosen, where it gives plovd such pages.
std::optional<std::string_view> TransparentMode(const program::Machine& machine) {
  const std::string modes = machine.Read(kTransparentPath).value_or("");
  for (const std::string_view mode : {"[always]", "[within_size]", "[advise]", "[force]"}) {
    if (modes.find(mode) != std::string::npos) return mode;
  }
  return std::nullopt;
}

void ProbeHugePages(const program::Machine& machine, uint64_t memory_bytes, Findings* findings) {
  const auto free = machine.ReadNumber("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  const uint64_t bytes = free.value_or(0) << 21;
  if (bytes >= memory_bytes) {
    return findings->Ok("huge pages",
                        fmt::format("{} free, for plovd --hugepages yes", program::Bytes(bytes)));
  }
  const std::string few = fmt::format(
      "{} free: plovd --hugepages yes needs as much as its --memory", program::Bytes(bytes));
  if (TransparentMode(machine)) return findings->Ok("huge pages", few);
  const uint64_t wanted = ((memory_bytes - 1) >> 21) + 1;
  findings->Note("huge pages", few,
                 program::AsRoot(fmt::format("sysctl vm.nr_hugepages={}", wanted)));
}

void ProbeTransparent(const program::Machine& machine, Findings* findings) {
  if (!machine.Read(kTransparentPath)) return;
  if (const auto mode = TransparentMode(machine)) {
    return findings->Ok("transparent huge pages",
                        fmt::format("{}, for shards of 64 MiB and more", *mode));
  }
  findings->Note("transparent huge pages",
                 "shared memory is in pages of 4 KiB, so GETs in a large table wait for the TLB",
                 program::WriteAsRoot("advise", kTransparentPath));
}

void ProbeShmMount(const program::Machine& machine, Findings* findings) {
  struct statvfs status;
  if (::statvfs(machine.PathOf("/dev/shm").c_str(), &status) != 0) {
    return findings->Ok("/dev/shm", "is not there, and not used");
  }
  findings->Ok("/dev/shm",
               fmt::format("{} free of {}; used only by a plovd --warm whose file is there",
                           program::Bytes(status.f_bavail * status.f_frsize),
                           program::Bytes(status.f_blocks * status.f_frsize)));
}

}  // namespace

void ProbeSharedMemory(Findings* findings) {
  const char* failed = TrySharedMemory();
  if (failed == nullptr) {
    return findings->Ok("shared memory", "can be made, sealed and mapped (memfd)");
  }
  findings->Problem("shared memory",
                    fmt::format("{} fails: {}; is this a container whose policy forbids it?",
                                failed, std::generic_category().message(errno)),
                    "docker run --security-opt seccomp=unconfined ...");
}

void ProbeMemory(const program::Machine& machine, uint64_t memory_bytes, Findings* findings) {
  const uint64_t total = machine.ReadField("/proc/meminfo", "MemTotal").value_or(0) << 10;
  const uint64_t available = machine.ReadField("/proc/meminfo", "MemAvailable").value_or(0) << 10;
  const std::string amount =
      fmt::format("{} available of {}", program::Bytes(available), program::Bytes(total));
  if (total == 0) {
    findings->Note("memory", "cannot be told without /proc",
                   program::AsRoot("mount -t proc proc /proc"));
  } else if (total < memory_bytes) {
    findings->Problem(
        "memory",
        fmt::format("{}: too little for a plovd of {}", amount, program::Bytes(memory_bytes)),
        SmallerServer(total));
  } else if (available < memory_bytes) {
    findings->Note(
        "memory",
        fmt::format("{}: a plovd of {} could not be filled", amount, program::Bytes(memory_bytes)),
        SmallerServer(available));
  } else {
    findings->Ok("memory", amount);
  }
  ProbeGroup(machine, total, memory_bytes, findings);
  ProbeOvercommit(machine, findings);
}

void ProbePages(const program::Machine& machine, uint64_t memory_bytes, Findings* findings) {
  ProbeHugePages(machine, memory_bytes, findings);
  ProbeTransparent(machine, findings);
  ProbeShmMount(machine, findings);
}

}  // namespace plov::cli
