#include "bench/busy/study.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "bench/peers/plov.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/tested_server.h"
#include "fabric/os.h"

namespace plov::bench {

namespace {

constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 64, .value_bytes_most = 64};
constexpr uint64_t kItems = 10'000;  // not the memory is measured
constexpr uint64_t kShardBytes = uint64_t{32} << 20;
constexpr uint32_t kLoopsPerProcessor = 2;
constexpr uint32_t kShardsMax = 256;  // of plovd
constexpr std::array kWays = {Way::kPut, Way::kPutMany};

using Clients = std::vector<std::unique_ptr<Peer>>;

// Threads that do nothing, as fast as they can.
class BusyLoops {
 public:
  explicit BusyLoops(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) continue;
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

// Of so many of the clients together, each in a thread of its own.
std::expected<double, Error> RateOf(const Clients& clients, size_t count, Way way,
                                    std::chrono::microseconds duration) {
  std::vector<std::expected<double, Error>> rates(count);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] { rates[i] = clients[i]->Rate(way, duration); });
    }
  }
  double sum = 0;
  for (const auto& rate : rates) {
    if (!rate) return std::unexpected(rate.error());
    sum += *rate;
  }
  return sum;
}

class Bench {
 public:
  explicit Bench(const BusySettings& settings) : work_(kItems, kShape) {
    study_.settings = settings;
    study_.processors = fabric::ProcessorCount();
    for (size_t busy = 0; busy < kBusyNames.size(); ++busy) {
      for (const Way way : kWays) study_.rows.push_back({static_cast<Busy>(busy), way, {}, {}});
    }
  }

  std::expected<BusyStudy, Error> Run() {
    if (auto started = Start(); !started) return std::unexpected(started.error());
    for (uint64_t round = 0; round < study_.settings.rounds; ++round) {
      for (BusyRow& row : study_.rows) {
        if (auto measured = Measure(&row); !measured) return std::unexpected(measured.error());
      }
    }
    return study_;
  }

 private:
  size_t clients_max() const { return size_t{4} * study_.processors; }

  Outcome Start() {
    auto folder = ScratchFolder::Make();
    if (!folder) return std::unexpected(folder.error());
    folder_.emplace(std::move(*folder));
    if (auto one = StartPlov(1, &one_shard_, &of_one_shard_); !one) return one;
    const uint32_t shards = std::min(2 * study_.processors, kShardsMax);
    if (auto many = StartPlov(shards, &many_shards_, &of_many_shards_); !many) return many;
    return StartRedis();
  }

  Outcome StartPlov(uint32_t shards, std::optional<program::OwnServer>* server, Clients* clients) {
    program::OwnServerOptions options =
        ServerFor(study_.settings.plovd, folder_->path(), kItems, work_.value_bytes());
    options.listen = "shm:" + folder_->path() + "/" + std::to_string(shards) + ".sock";
    options.shards = shards;
    options.memory_bytes = kShardBytes * shards;
    server->emplace(options);
    if (auto started = (*server)->Start(program::Life::kFirst); !started) return started;
    const size_t count = shards == 1 ? clients_max() : 1;
    for (size_t i = 0; i < count; ++i) {
      auto client = Plov::Connect(work_, (*server)->uri());
      if (!client) return std::unexpected(client.error());
      clients->push_back(std::move(*client));
    }
    return static_cast<Plov*>(clients->front().get())->Fill();
  }

  Outcome StartRedis() {
    const PeerKind* kind = FindPeerKind("redis");
    auto first = kind->Start(
        work_, {.folder = folder_->path(), .memory_folder = folder_->path(), .plov = ""});
    if (!first && first.error().code == Code::kUnavailable) {
      study_.skipped = first.error().message;
      return {};
    }
    if (!first) return std::unexpected(first.error());
    of_redis_.push_back(std::move(*first));
    while (of_redis_.size() < clients_max()) {
      auto client = of_redis_.front()->Another();
      if (!client) return std::unexpected(client.error());
      of_redis_.push_back(std::move(*client));
    }
    return {};
  }

  Outcome Measure(BusyRow* row) {
    const BusyLoops loops(row->busy == Busy::kLoops ? kLoopsPerProcessor * study_.processors : 0);
    const size_t count = row->busy == Busy::kClients ? clients_max() : 1;
    const auto duration = study_.settings.duration;
    const Clients& ours = row->busy == Busy::kShards ? of_many_shards_ : of_one_shard_;
    const auto plov = RateOf(ours, count, row->way, duration);
    if (!plov) return std::unexpected(plov.error());
    row->plov.Add(*plov);
    if (of_redis_.empty()) return {};
    const auto redis = RateOf(of_redis_, count, row->way, duration);
    if (!redis) return std::unexpected(redis.error());
    row->redis.Add(*redis);
    return {};
  }

  BusyStudy study_;
  Work work_;
  std::optional<ScratchFolder> folder_;
  std::optional<program::OwnServer> one_shard_;
  std::optional<program::OwnServer> many_shards_;
  Clients of_one_shard_;
  Clients of_many_shards_;
  Clients of_redis_;
};

}  // namespace

const BusyRow& BusyStudy::Find(Busy busy, Way way) const {
  return *std::ranges::find_if(
      rows, [&](const BusyRow& row) { return row.busy == busy && row.way == way; });
}

std::expected<BusyStudy, Error> StudyBusy(const BusySettings& settings) {
  return Bench(settings).Run();
}

}  // namespace plov::bench
