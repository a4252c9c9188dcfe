#include <algorithm>

#include "bench/peers/peer.h"

namespace plov::bench {

namespace {

constexpr size_t kTurn = 1024;  // operations between two looks at the clock

#ifdef PLOV_BENCH_LMDB
constexpr PeerStart kStartLmdb = StartLmdb;
#else
constexpr PeerStart kStartLmdb = nullptr;
#endif
#ifdef PLOV_BENCH_LIBCUCKOO
constexpr PeerStart kStartLibcuckoo = StartLibcuckoo;
#else
constexpr PeerStart kStartLibcuckoo = nullptr;
#endif
#ifdef PLOV_BENCH_HIREDIS
constexpr PeerStart kStartRedis = StartRedis;
constexpr PeerStart kStartRedisBenchmark = StartRedisBenchmark;
#else
constexpr PeerStart kStartRedis = nullptr;
constexpr PeerStart kStartRedisBenchmark = nullptr;
#endif
#ifdef PLOV_BENCH_LIBMEMCACHED
constexpr PeerStart kStartMemcached = StartMemcached;
#else
constexpr PeerStart kStartMemcached = nullptr;
#endif

constexpr auto kPeerKinds = std::to_array<PeerKind>({
    {"memory", "the memory itself", "", StartMemory},
    {"lmdb", "LMDB, in process", "liblmdb-dev", kStartLmdb},
    {"libcuckoo", "libcuckoo, in process", "libcuckoo-dev", kStartLibcuckoo},
    {"redis", "Redis, hiredis", "libhiredis-dev", kStartRedis},
    {"redis-benchmark", "redis-benchmark -P 32", "libhiredis-dev", kStartRedisBenchmark},
    {"memcached", "memcached", "libmemcached-dev", kStartMemcached},
});

}  // namespace

std::span<const PeerKind> PeerKinds() { return kPeerKinds; }

const PeerKind* FindPeerKind(std::string_view name) {
  const auto found = std::ranges::find(kPeerKinds, name, &PeerKind::name);
  return found == kPeerKinds.end() ? nullptr : &*found;
}

std::expected<double, Error> Peer::Rate(Way way, std::chrono::microseconds duration) {
  using Clock = std::chrono::steady_clock;
  size_t& next = next_.at(static_cast<size_t>(way));
  const auto start = Clock::now();
  auto now = start;
  uint64_t done = 0;
  do {
    if (next >= work().count()) next = 0;
    const Turn turn{next, std::min(kTurn, work().count() - next)};
    if (auto did = Do(way, turn); !did) return std::unexpected(did.error());
    next += turn.count;
    done += turn.count;
    now = Clock::now();
  } while (now < start + duration);
  return static_cast<double>(done) / std::chrono::duration<double>(now - start).count();
}

}  // namespace plov::bench
