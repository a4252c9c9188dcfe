#include "bench/evict/study.h"

#include <plov/client.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <unordered_set>

#include "bench/evict/lru_cache.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/tested_server.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{30};  // machines have pauses
// Requests a second: what memcached's client can do, for the same requests are to take both sides as long. plov's
// client tells its server once a second of what it has got.
constexpr double kRate = 40'000;
constexpr uint64_t kTogether = 64;             // requests between two looks at the clock
constexpr uint64_t kDrawnForEachFitting = 20;  // at most, to fill the memory
constexpr double kAsGoodWithin = 0.005;

class PlovCache final : public Cache {
 public:
  static StartedCache Start(const EvictSettings& settings) {
    auto cache = std::make_unique<PlovCache>();
    program::OwnServerOptions own = ServerFor(settings.plovd, "", 0, 0);
    own.memory_bytes = settings.memory_bytes;
    own.evicts = true;
    auto server = TestedServer::Start({.uri = "", .own = own});
    if (!server) return std::unexpected(server.error());
    cache->server_ = std::move(*server);
    ClientOptions options;
    options.timeout = kTimeout;
    auto client = Client::Connect(cache->server_->uri(), options);
    if (!client) return std::unexpected(client.error());
    cache->client_.emplace(std::move(*client));
    return cache;
  }

  std::expected<std::optional<std::string_view>, Error> Get(std::string_view key) override {
    const auto got = client_->Get(key);
    if (!got) return std::unexpected(got.error());
    return *got ? std::optional((*got)->value) : std::nullopt;
  }
  Outcome Put(std::string_view key, std::string_view value) override {
    const auto put = client_->Put(key, value);
    return put ? Outcome() : std::unexpected(put.error());
  }
  std::expected<uint64_t, Error> Items() override {
    const auto memory = server_->Memory();
    if (!memory) return std::unexpected(memory.error());
    return memory->items;
  }

 private:
  std::unique_ptr<TestedServer> server_;
  std::optional<Client> client_;
};

// The client of one cache: it asks for one item after the other.
class LookAside {
 public:
  LookAside(Cache* cache, const EvictWorkload& workload, uint64_t seed)
      : cache_(cache), fitting_(workload.fitting), requests_(workload, seed) {}

  // All of a round: fills the memory, asks `count` times until the cache is as it stays, and as many times again,
  // which count. rate: requests a second; 0: as fast as they go.
  Outcome Run(uint64_t count, double rate, EvictSide* side) {
    if (auto filled = Fill(); !filled) return filled;
    if (auto asked = AskMany(count, rate); !asked) return asked;
    gets_ = hits_ = 0;
    if (auto asked = AskMany(count, rate); !asked) return asked;
    const auto items = cache_->Items();
    if (!items) return std::unexpected(items.error());
    side->hit_ratio.Add(static_cast<double>(hits_) /
                        static_cast<double>(std::max<uint64_t>(gets_, 1)));
    side->items.Add(static_cast<double>(*items));
    side->refused += refused_;
    return {};
  }

 private:
  // Until it is full a cache misses what it was not asked for before, and nothing else: it need not be asked.
  Outcome Fill() {
    std::unordered_set<uint64_t> stored;
    for (uint64_t left = kDrawnForEachFitting * fitting_; left > 0 && stored.size() < fitting_;
         --left) {
      const Operation& operation = requests_.Next();
      if (!stored.insert(operation.number).second) continue;
      if (auto put = Put(operation); !put) return put;
    }
    return {};
  }

  Outcome AskMany(uint64_t count, double rate) {
    const Clock::time_point began = Clock::now();
    for (uint64_t done = 0; done < count; ++done) {
      if (rate > 0 && done % kTogether == 0) {
        const std::chrono::duration<double> due(static_cast<double>(done) / rate);
        std::this_thread::sleep_until(began + std::chrono::duration_cast<Clock::duration>(due));
      }
      if (auto asked = Ask(requests_.Next()); !asked) return asked;
    }
    return {};
  }

  Outcome Ask(const Operation& operation) {
    if (operation.kind != Kind::kGet) return Put(operation);
    const auto got = cache_->Get(operation.key);
    if (!got) return std::unexpected(got.error());
    ++gets_;
    if (!*got) return Put(operation);
    ++hits_;
    if (requests_.IsRight(**got)) return {};
    return Fail(Code::kCorrupt, "the value of " + operation.key + " is not what was stored");
  }

  Outcome Put(const Operation& operation) {
    auto put = cache_->Put(operation.key, requests_.Value());
    if (put || put.error().code != Code::kNoSpace) return put;
    ++refused_;
    return {};
  }

  Cache* cache_;
  uint64_t fitting_;
  Requests requests_;
  uint64_t gets_ = 0;
  uint64_t hits_ = 0;
  uint64_t refused_ = 0;
};

class EvictBench {
 public:
  explicit EvictBench(const EvictSettings& settings) {
    study_.settings = settings;
    const double seconds = std::chrono::duration<double>(settings.duration).count();
    count_ = std::max<uint64_t>(1, static_cast<uint64_t>(seconds * kRate));
  }

  std::expected<EvictStudy, Error> Run() {
    for (const EvictWorkload& workload : study_.settings.workloads) {
      EvictRow& row = study_.rows.emplace_back(EvictRow{.workload = workload});
      for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
        if (auto measured = Measure(round + 1, &row); !measured) {
          return std::unexpected(measured.error());
        }
      }
    }
    return std::move(study_);
  }

 private:
  // Servers of its own, both at the same time; LRU after them.
  Outcome Measure(uint64_t seed, EvictRow* row) {
    auto folder = ScratchFolder::Make();
    if (!folder) return std::unexpected(folder.error());
    const auto plov = PlovCache::Start(study_.settings);
    if (!plov) return std::unexpected(plov.error());
    const auto memcached = StartMemcachedCache(folder->path(), study_.settings.memory_bytes);
    if (!memcached && memcached.error().code != Code::kUnavailable) {
      return std::unexpected(memcached.error());
    }
    if (!memcached) study_.skipped = memcached.error().message;
    Outcome of_memcached;
    std::jthread beside([&] {
      if (!memcached) return;
      LookAside client(memcached->get(), row->workload, seed);
      of_memcached = client.Run(count_, kRate, &row->memcached);
    });
    const Outcome of_plov =
        LookAside(plov->get(), row->workload, seed).Run(count_, kRate, &row->plov);
    beside.join();
    if (auto both = AllOf({of_plov, of_memcached}); !both) return both;
    LruCache lru(std::max<uint64_t>(1, static_cast<uint64_t>(row->plov.items.last())));
    return LookAside(&lru, row->workload, seed).Run(count_, 0, &row->lru);
  }

  EvictStudy study_;
  uint64_t count_;
};

}  // namespace

bool EvictRow::is_as_good() const { return behind() <= kAsGoodWithin; }

std::expected<EvictStudy, Error> StudyEvict(const EvictSettings& settings) {
  return EvictBench(settings).Run();
}

}  // namespace plov::bench
