#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "client/cli/probes.h"
#include "fabric/os.h"
#include "program/format.h"

namespace plov::cli {

namespace {

using std::chrono::duration;

// A segment of the usual size, and the two spares beside it.
constexpr uint64_t kSegmentsBytes = uint64_t{3} * 64 << 20;
// A PUT that takes longer than this one time in two is slower than most disks with spinning plates.
constexpr duration<double> kSlow = std::chrono::milliseconds(10);
constexpr duration<double> kWritingMax = std::chrono::seconds(3);  // of each size

constexpr auto kInMemory = std::to_array<std::string_view>({"tmpfs", "ramfs", "devtmpfs"});
// Those that plovd refuses (log/posix_disk.cc), as the kernel calls them.
constexpr auto kOnNetwork = std::to_array<std::string_view>(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "fuse.sshfs", "fuse.glusterfs"});

struct Mount {
  std::string type;
  std::string source;
  std::string options;
};

// The line of mountinfo with this device; the last one, which hides the others.
std::optional<Mount> MountOf(const program::Machine& machine, dev_t device) {
  const auto text = machine.Read("/proc/self/mountinfo");
  if (!text) return std::nullopt;
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  std::optional<Mount> found;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, numbers, root, point, per_mount, word;
    words >> id >> parent >> numbers >> root >> point >> per_mount;
    if (numbers != wanted) continue;
    while (words >> word && word != "-") continue;
    Mount mount;
    if (words >> mount.type >> mount.source >> mount.options) found = std::move(mount);
  }
  return found;
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Of a partition its disk's.
std::optional<std::string> WriteCacheOf(const program::Machine& machine, dev_t device) {
  const std::string folder = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
  auto cache = machine.Read(folder + "/queue/write_cache");
  return cache ? cache : machine.Read(folder + "/../queue/write_cache");
}

void ProbeFileSystem(const std::string& folder, const std::optional<Mount>& mount,
                     Findings* findings) {
  if (!mount) return findings->Ok("log file system", "unknown: the system does not tell its mount");
  if (Contains(kOnNetwork, mount->type)) {
    return findings->Problem(
        "log file system",
        fmt::format("{} is on a network ({}), which may lose what was synced", folder, mount->type),
        "");
  }
  if (Contains(kInMemory, mount->type)) {
    return findings->Note(
        "log file system",
        fmt::format("{} is in memory ({}): the log is gone when the host restarts", folder,
                    mount->type),
        "");
  }
  findings->Ok("log file system", fmt::format("{} on {}", mount->type, mount->source));
}

bool IgnoresFlush(const Mount& mount) {
  const std::string options = fmt::format(",{},", mount.options);
  return options.find(",nobarrier,") != options.npos || options.find(",barrier=0,") != options.npos;
}

// Whether what is synced is on the disk, and not in the memory of the disk.
void ProbeFlush(const program::Machine& machine, dev_t device, const std::optional<Mount>& mount,
                Findings* findings) {
  if (mount && (Contains(kInMemory, mount->type) || Contains(kOnNetwork, mount->type))) return;
  if (mount && IgnoresFlush(*mount)) {
    return findings->Problem(
        "log flush",
        fmt::format("{} is mounted so that a sync flushes nothing ({}): a loss "
                    "of power loses what was acknowledged",
                    mount->source, mount->options),
        "");
  }
  struct stat status;
  const bool has_device = mount && mount->source.starts_with("/dev/") &&
                          ::stat(machine.PathOf(mount->source).c_str(), &status) == 0 &&
                          S_ISBLK(status.st_mode);
  auto cache = WriteCacheOf(machine, device);
  if (!cache && has_device) cache = WriteCacheOf(machine, status.st_rdev);
  if (!cache) {
    return findings->Ok("log flush", "unknown: the system does not tell the disk's write cache");
  }
  findings->Ok("log flush", cache->starts_with("write back")
                                ? "the disk has a write cache, which each sync flushes"
                                : fmt::format("the disk says that it needs none ({})", *cache));
}

void ProbeSpace(const std::string& folder, uint64_t memory_bytes, Findings* findings) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0) return;
  const uint64_t free = status.f_bavail * status.f_frsize;
  const uint64_t needed = kSegmentsBytes + memory_bytes;
  const std::string amount = fmt::format("{} free of {}", program::Bytes(free),
                                         program::Bytes(status.f_blocks * status.f_frsize));
  if (free >= needed) return findings->Ok("log space", amount);
  const std::string meaning = fmt::format(
      "{}: three segments take {}, and a snapshot of a plovd of {} as much again as it "
      "holds",
      amount, program::Bytes(kSegmentsBytes), program::Bytes(memory_bytes));
  if (free < kSegmentsBytes) return findings->Problem("log space", meaning, "");
  findings->Note("log space", meaning, "");
}

// The times of durable writes of so many bytes, one after the other, into what is written already, as a
// segment is. Empty, with errno: one failed.
std::vector<double> TimeWrites(int fd, size_t bytes, size_t count) {
  using Clock = std::chrono::steady_clock;
  const std::vector<char> piece(bytes, 'x');
  std::vector<double> seconds;
  const auto end = Clock::now() + kWritingMax;
  for (size_t i = 0; i < count && (i == 0 || Clock::now() < end); ++i) {
    const auto began = Clock::now();
    const auto put = ::pwrite(fd, piece.data(), bytes, static_cast<off_t>(i * bytes));
    if (put != static_cast<ssize_t>(bytes)) {
      if (put >= 0) errno = ENOSPC;
      return {};
    }
    seconds.push_back(duration<double>(Clock::now() - began).count());
  }
  std::ranges::sort(seconds);
  return seconds;
}

// A file without a name for durable writes; none, with errno.
fabric::Fd MakeFile(const std::string& folder, size_t bytes) {
  std::string name = folder + "/plov-doctor.XXXXXX";
  const fabric::Fd made(::mkostemp(name.data(), O_CLOEXEC));
  if (!made) return {};
  fabric::Fd file(::open(name.c_str(), O_RDWR | O_DSYNC | O_CLOEXEC));
  const int open_error = errno;
  ::unlink(name.c_str());
  errno = open_error;
  if (!file) return {};
  const std::vector<char> zeros(bytes);
  const auto put = ::pwrite(made.get(), zeros.data(), bytes, 0);
  if (put == static_cast<ssize_t>(bytes) && ::fdatasync(made.get()) == 0) return file;
  if (put >= 0 && put < static_cast<ssize_t>(bytes)) errno = ENOSPC;
  return {};
}

double At(const std::vector<double>& sorted, double part) {
  const auto index = static_cast<size_t>(part * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

void ProbeCommits(const std::string& folder, Findings* findings) {
  constexpr size_t kSmall = 4096;
  constexpr size_t kLarge = 65536;
  constexpr size_t kSmallCount = 300;
  constexpr size_t kLargeCount = 100;
  const auto fail = [&] {
    findings->Problem(
        "log commits",
        fmt::format("{} cannot be written: {}", folder, std::generic_category().message(errno)),
        "");
  };
  const fabric::Fd file = MakeFile(folder, kLarge * kLargeCount);
  if (!file) return fail();
  const auto small = TimeWrites(file.get(), kSmall, kSmallCount);
  if (small.empty()) return fail();
  const auto large = TimeWrites(file.get(), kLarge, kLargeCount);
  if (large.empty()) return fail();
  const auto us = [](double seconds) { return static_cast<uint64_t>(seconds * 1e6); };
  const std::string times = fmt::format(
      "4 KiB durable in {} us (median), {} us (one in 100 takes longer); 64 KiB in {} and {} us",
      us(At(small, 0.5)), us(At(small, 0.99)), us(At(large, 0.5)), us(At(large, 0.99)));
  if (duration<double>(At(small, 0.5)) <= kSlow) return findings->Ok("log commits", times);
  findings->Note("log commits",
                 times + ": each PUT waits so long for the disk, unless with --commit async", "");
}

std::string ParentOf(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const size_t slash = folder.rfind('/');
  if (slash == folder.npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

}  // namespace

void ProbeLog(const program::Machine& machine, const std::string& folder, uint64_t memory_bytes,
              Findings* findings) {
  // What plovd makes at its first start lies where its parent does.
  std::string place = folder;
  struct stat status;
  if (::stat(place.c_str(), &status) != 0 && errno == ENOENT) place = ParentOf(folder);
  if (::stat(place.c_str(), &status) != 0) {
    return findings->Problem("log folder",
                             fmt::format("{}: {}", place, std::generic_category().message(errno)),
                             fmt::format("mkdir -p {}", program::Quoted(place)));
  }
  if (!S_ISDIR(status.st_mode)) {
    return findings->Problem("log folder", fmt::format("{} is not a folder", place), "");
  }
  findings->Ok("log folder", place == folder ? folder
                                             : fmt::format("{} is made at the first start, in {}",
                                                           folder, place));
  const auto mount = MountOf(machine, status.st_dev);
  ProbeFileSystem(place, mount, findings);
  ProbeFlush(machine, status.st_dev, mount, findings);
  ProbeSpace(place, memory_bytes, findings);
  ProbeCommits(place, findings);
}

}  // namespace plov::cli
