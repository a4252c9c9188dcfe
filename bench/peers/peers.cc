#include <algorithm>

#include "bench/cluster/subject.h"
#include "bench/peers/cache.h"
#include "bench/peers/peer.h"

namespace plov::bench {

namespace {

constexpr size_t kItemsPerCall = 1024;  // operations between two looks at the clock

// The names of functions, or nullptr, come from CMake.
constexpr auto kPeerKinds = std::to_array<PeerKind>({
    {"memory", "the memory itself", "", StartMemory},
    {"lmdb", "LMDB, in process", "liblmdb-dev", PLOV_START_LMDB},
    {"libcuckoo", "libcuckoo, in process", "libcuckoo-dev", PLOV_START_LIBCUCKOO},
    {"redis", "Redis, hiredis", "libhiredis-dev", PLOV_START_REDIS},
    {"redis-benchmark", "redis-benchmark -P 32", "libhiredis-dev", PLOV_START_REDIS_BENCHMARK},
    {"memcached", "memcached", "libmemcached-dev", PLOV_START_MEMCACHED},
});

}  // namespace

std::span<const PeerKind> PeerKinds() { return kPeerKinds; }

const PeerKind* FindPeerKind(std::string_view name) {
  const auto found = std::ranges::find(kPeerKinds, name, &PeerKind::name);
  return found == kPeerKinds.end() ? nullptr : &*found;
}

StartedSubject StartRedisCluster(const std::string& folder) {
  static StartedSubject (*start)(const std::string&) = PLOV_START_REDIS_CLUSTER;
  if (start != nullptr) return start(folder);
  return Fail(Code::kUnavailable, "plov-bench was built without the package libhiredis-dev");
}

StartedCache StartMemcachedCache(const std::string& folder, uint64_t memory_bytes) {
  static StartedCache (*start)(const std::string&, uint64_t) = PLOV_START_MEMCACHED_CACHE;
  if (start != nullptr) return start(folder, memory_bytes);
  return Fail(Code::kUnavailable, "plov-bench was built without the package libmemcached-dev");
}

StartedPeer PeerKind::Start(const Work& work, const PeerPlace& place) const {
  if (start != nullptr) return start(work, place);
  return Fail(Code::kUnavailable,
              "plov-bench was built without the package " + std::string(package));
}

std::expected<double, Error> Peer::Rate(Way way, std::chrono::microseconds duration) {
  using Clock = std::chrono::steady_clock;
  size_t& next = next_.at(static_cast<size_t>(way));
  const auto start = Clock::now();
  auto now = start;
  uint64_t done = 0;
  do {
    if (next >= work().count()) next = 0;
    const Range range{next, std::min(kItemsPerCall, work().count() - next)};
    if (auto did = Do(way, range); !did) return std::unexpected(did.error());
    next += range.count;
    done += range.count;
    now = Clock::now();
  } while (now < start + duration);
  return static_cast<double>(done) / std::chrono::duration<double>(now - start).count();
}

}  // namespace plov::bench
