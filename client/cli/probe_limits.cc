#include <fmt/core.h>
#include <sys/resource.h>

#include "client/cli/probes.h"
#include "program/format.h"

namespace plov::cli {

namespace {

// Two descriptors per client and shard in the server, one of them for large values, four in the
// client; the rest is its own.
constexpr uint64_t kFilesPerConnection = 2;
constexpr uint64_t kFilesWanted = 1024;
constexpr uint64_t kFilesNeeded = 64;

// A process that maps a server's shared memory has this much beside it at most.
constexpr uint64_t kAddressSpaceBeside = uint64_t{1} << 29;

uint64_t LimitOf(__rlimit_resource resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(resource, &limit);
  return limit.rlim_cur;
}

void ProbeFiles(Findings* findings) {
  const uint64_t files = LimitOf(RLIMIT_NOFILE);
  if (files >= kFilesWanted) {
    return findings->Ok(
        "open files",
        files == RLIM_INFINITY
            ? std::string("no limit")
            : fmt::format("{} (ulimit -n), enough for about {} "
                          "clients times shards in a server",
                          program::Grouped(files), program::Grouped(files / kFilesPerConnection)));
  }
  const std::string meaning = fmt::format(
      "at most {} (ulimit -n): a server takes up to two for each client and shard", files);
  if (files < kFilesNeeded) return findings->Problem("open files", meaning, "ulimit -n 1024");
  findings->Note("open files", meaning, "ulimit -n 1024");
}

void ProbeAddressSpace(uint64_t memory_bytes, Findings* findings) {
  const uint64_t bytes = LimitOf(RLIMIT_AS);
  if (bytes >= AddressBytes(memory_bytes) + kAddressSpaceBeside) {
    return findings->Ok("address space",
                        bytes == RLIM_INFINITY
                            ? std::string("no limit")
                            : fmt::format("{} (ulimit -v)", program::Bytes(bytes)));
  }
  findings->Problem("address space",
                    fmt::format("at most {} (ulimit -v): client and server map three times the "
                                "server's --memory, which is {}",
                                program::Bytes(bytes), program::Bytes(AddressBytes(memory_bytes))),
                    "ulimit -v unlimited");
}

// Shared memory is a file for the kernel, and limited as one, its holes counted.
void ProbeFileSize(uint64_t memory_bytes, Findings* findings) {
  const uint64_t bytes = LimitOf(RLIMIT_FSIZE);
  if (bytes >= AddressBytes(memory_bytes)) {
    return findings->Ok("file size", bytes == RLIM_INFINITY
                                         ? std::string("no limit")
                                         : fmt::format("{} (ulimit -f)", program::Bytes(bytes)));
  }
  findings->Problem(
      "file size",
      fmt::format("at most {} (ulimit -f), which holds for shared memory too: three times --memory",
                  program::Bytes(bytes)),
      "ulimit -f unlimited");
}

}  // namespace

void ProbeLimits(uint64_t memory_bytes, Findings* findings) {
  ProbeFiles(findings);
  ProbeAddressSpace(memory_bytes, findings);
  ProbeFileSize(memory_bytes, findings);
}

}  // namespace plov::cli
