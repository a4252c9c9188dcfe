#include "bench/durable/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "bench/durable/logged_server.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/tested_server.h"

namespace plov::bench {

namespace {

constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 64, .value_bytes_most = 64};
constexpr size_t kClients = 4;
// Longer than a round's writes need, so that no snapshot comes by itself.
constexpr uint64_t kSegmentBytes = uint64_t{256} << 20;
constexpr uint64_t kSegmentBytesQuick = uint64_t{8} << 20;
// Redis gets fewer items, which is no burden to it: each 32 of them wait for its sync.
constexpr uint64_t kRedisItemsMax = 50'000;
constexpr uint64_t kDiskFileBytes = uint64_t{64} << 20;
constexpr uint64_t kDiskFileBytesQuick = uint64_t{4} << 20;
// Longer than it takes a quiet log to say that its end is durable (D5 of plov(7)).
constexpr std::chrono::milliseconds kQuiet{1500};
constexpr std::chrono::seconds kIdle{10};
constexpr std::chrono::seconds kIdleQuick{1};
constexpr uint64_t kSnapshotExtraBytes = uint64_t{8} << 20;
constexpr double kSnapshotExtraPart = 0.01;
constexpr double kMiB = 1 << 20;

struct LoggedPlov {
  std::string_view who;
  LogOptions log = {};
  std::optional<program::OwnServer> server = {};
  std::vector<std::unique_ptr<Plov>> clients = {};
};

struct LoggedRedis {
  LoadKey key;
  Way way = Way::kPut;
  std::unique_ptr<Peer> peer = {};
};

class Bench {
 public:
  explicit Bench(const DurableSettings& settings)
      : work_(settings.items, kShape),
        redis_work_(std::min(settings.items, kRedisItemsMax), kShape) {
    study_.settings = settings;
    const size_t part = work_.count() / kClients;
    for (size_t i = 0; i < kClients; ++i) {
      parts_.emplace_back(work_, Range{i * part, part});
      hot_parts_.push_back(Puts::Hot(work_, i + 1));
    }
  }

  std::expected<DurableStudy, Error> Run() {
    for (const auto step : {&Bench::MakeFolders, &Bench::StartPlovs, &Bench::StartRedises}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    }
    const uint32_t rounds = study_.settings.rounds;
    for (uint32_t round = 0; round <= rounds; ++round) {
      Say(round == 0 ? "warming up" : fmt::format("round {} of {}", round, rounds));
      counts_ = round > 0;
      if (auto measured = Round(); !measured) return std::unexpected(measured.error());
      study_.background.EndRound(round > 0);
    }
    if (auto measured = AfterRounds(); !measured) return std::unexpected(measured.error());
    return std::move(study_);
  }

 private:
  Outcome MakeFolders() {
    auto folder = ScratchFolder::Make();
    if (!folder) return std::unexpected(folder.error());
    folder_.emplace(std::move(*folder));
    const std::string& dir = study_.settings.dir;
    auto logs = dir.empty() ? ScratchFolder::Make() : ScratchFolder::MakeIn(dir);
    if (!logs) return std::unexpected(logs.error());
    logs_.emplace(std::move(*logs));
    std::error_code failed;
    study_.log_folder = std::filesystem::absolute(logs_->path(), failed);
    study_.is_on_tmpfs = IsOnTmpfs(study_.log_folder);
    auto disk = BareDisk::Create(study_.log_folder + "/bare",
                                 study_.settings.quick ? kDiskFileBytesQuick : kDiskFileBytes);
    if (!disk) return std::unexpected(disk.error());
    disk_.emplace(std::move(*disk));
    return {};
  }

  // A folder for one more server, in both.
  std::string MakeFolderOf(const std::string& name) {
    std::error_code failed;
    std::filesystem::create_directory(folder_->path() + "/" + name, failed);
    return folder_->path() + "/" + name;
  }

  Outcome StartPlovs() {
    for (const std::string_view who : {kNoLog, kAsync, kAcked, kStrict}) {
      Say(fmt::format("storing {} items in plov, {}", work_.count(), who));
      plovs_.push_back({.who = who});
      if (auto started = StartPlov(&plovs_.back()); !started) return started;
    }
    return {};
  }

  Outcome StartPlov(LoggedPlov* plov) {
    if (plov->who != kNoLog) {
      plov->log = {.folder = study_.log_folder + "/plov-" + std::string(plov->who),
                   .commit = plov->who,
                   .segment_bytes = study_.settings.quick ? kSegmentBytesQuick : kSegmentBytes};
    }
    plov->server.emplace(ServerFor(study_.settings.plovd,
                                   MakeFolderOf(fmt::format("plov-{}", plovs_.size())),
                                   work_.count(), work_.value_bytes()));
    if (auto started = StartLogged(&*plov->server, plov->log); !started) return started;
    while (plov->clients.size() < kClients) {
      auto client = Plov::Connect(work_, plov->server->uri());
      if (!client) return std::unexpected(client.error());
      plov->clients.push_back(std::move(*client));
    }
    if (auto filled = plov->clients[0]->Fill(); !filled) return filled;
    return plov->log.folder.empty() ? Outcome() : AwaitSpares(plov->log);
  }

  Outcome StartRedises() {
    redises_.push_back({.key = {kOnePut, kRedisAlways}, .way = Way::kPut});
    // The last one's sync comes later; what is measured then needs no disk.
    for (const std::string_view who : {kRedisNone, kRedisAlways, kRedisEverysec}) {
      redises_.push_back({.key = {kPuts1600, who}, .way = Way::kPutMany});
    }
    for (LoggedRedis& redis : redises_) {
      Say(fmt::format("storing {} items in {}", redis_work_.count(), redis.key.who));
      if (auto started = StartRedis(&redis); !started) return started;
      if (!study_.skipped.empty()) redises_.clear();
      if (redises_.empty()) break;
    }
    return {};
  }

  Outcome StartRedis(LoggedRedis* redis) {
    const PeerKind* kind = FindPeerKind(redis->way == Way::kPut ? "redis" : "redis-benchmark");
    const std::string name = fmt::format("redis-{}", redis - redises_.data());
    PeerPlace place{.folder = MakeFolderOf(name), .memory_folder = "", .plov = ""};
    if (redis->key.who != kRedisNone) {
      place.log_folder = study_.log_folder + "/" + name;
      place.log_sync = redis->key.who == kRedisAlways ? "always" : "everysec";
      std::error_code failed;
      std::filesystem::create_directory(place.log_folder, failed);
    }
    auto peer = kind->Start(redis_work_, place);
    if (peer) {
      redis->peer = std::move(*peer);
    } else if (peer.error().code == Code::kUnavailable) {
      study_.skipped = peer.error().message;
    } else {
      return std::unexpected(peer.error());
    }
    return {};
  }

  // What is compared with each other stands together, so that it is measured at about one time.
  Outcome Round() {
    for (const auto step : {&Bench::MeasureInFlight, &Bench::MeasureGets, &Bench::MeasureOnePuts}) {
      if (auto done = (this->*step)(); !done) return done;
    }
    // The next round's writes begin with nothing behind them.
    for (LoggedPlov& plov : plovs_) {
      if (plov.who == kNoLog || plov.who == kStrict) continue;
      if (auto taken = TakeSnapshot(&plov.clients[0]->client()); !taken) return taken;
    }
    return {};
  }

  Outcome MeasureInFlight() {
    for (const size_t count : {size_t{1}, kClients}) {
      for (LoggedPlov& plov : plovs_) {
        auto timed = PutsInFlight(std::span(plov.clients).first(count), parts_, duration());
        if (auto added = Take({count == 1 ? kPuts255 : kPuts1020, plov.who}, timed); !added) {
          return added;
        }
        // Else the disk is busy with what this one has written while the next one is measured.
        if (plov.who == kNoLog) continue;
        if (auto synced = plov.clients[0]->client().Sync(); !synced) return synced;
      }
    }
    LoggedPlov& strict = plovs_.back();
    auto hot =
        Take({kHotPuts1020, strict.who}, PutsInFlight(strict.clients, hot_parts_, duration()));
    if (!hot) return hot;
    if (auto synced = strict.clients[0]->client().Sync(); !synced) return synced;
    for (LoggedRedis& redis : redises_) {
      if (redis.way != Way::kPutMany) continue;
      const auto rate = redis.peer->Rate(redis.way, duration());
      if (!rate) return std::unexpected(rate.error());
      if (counts_) study_.RowOf(redis.key)->per_second.Add(*rate);
    }
    return {};
  }

  Outcome MeasureGets() {
    LoggedPlov& strict = plovs_.back();
    Peer* const getter = strict.clients[0].get();
    auto alone = Take({kOneGet, kAlone}, OneAtATime(work_, getter, Way::kGet, duration()));
    if (!alone) return alone;
    Outcome put;
    TimedResult beside;
    {
      SnapshotLoop snapshots = StartSnapshots();
      std::jthread putter([&](const std::stop_token& stop) {
        for (size_t next = 0; put && !stop.stop_requested(); next = (next + 1) % work_.count()) {
          put = strict.clients[1]->Do(Way::kPut, {next, 1});
        }
      });
      beside = OneAtATime(work_, getter, Way::kGet, duration());
      putter.request_stop();
      putter.join();
      if (auto ended = EndSnapshots(&snapshots); !ended) return ended;
    }
    if (!put) return put;
    return Take({kOneGet, kBesideAll}, beside);
  }

  Outcome MeasureOnePuts() {
    for (const auto& [who, bytes] :
         {std::pair{kWrite4K, 4 << 10}, std::pair{kWrite64K, 64 << 10}}) {
      const auto write = [this, bytes] { return disk_->Write(static_cast<size_t>(bytes)); };
      if (auto added = Take({kDiskWrite, who}, TimeCalls(duration(), write)); !added) return added;
    }
    for (LoggedRedis& redis : redises_) {
      if (redis.way != Way::kPut) continue;
      auto added =
          Take(redis.key, OneAtATime(redis_work_, redis.peer.get(), Way::kPut, duration()));
      if (!added) return added;
    }
    Peer* const putter = plovs_.back().clients[0].get();
    auto alone = Take({kOnePut, kStrict}, OneAtATime(work_, putter, Way::kPut, duration()));
    if (!alone) return alone;
    SnapshotLoop snapshots = StartSnapshots();
    const auto beside = OneAtATime(work_, putter, Way::kPut, duration());
    if (auto ended = EndSnapshots(&snapshots); !ended) return ended;
    return Take({kOnePut, kStrictSnapshots}, beside);
  }

  SnapshotLoop StartSnapshots() {
    LoggedPlov& strict = plovs_.back();
    const pid_t server = strict.server->process().pid();
    if (memory_before_ == 0) memory_before_ = OwnMemoryBytes(server);
    return SnapshotLoop(&strict.clients[2]->client(), server);
  }

  Outcome EndSnapshots(SnapshotLoop* snapshots) {
    auto ended = snapshots->Finish();
    memory_most_ = std::max(memory_most_, snapshots->memory_bytes_most());
    if (counts_) study_.snapshots += snapshots->taken();
    return ended;
  }

  Outcome AfterRounds() {
    LoggedPlov& strict = plovs_.back();
    const auto stats = strict.clients[0]->client().ServerStats();
    if (!stats) return std::unexpected(stats.error());
    const auto memory = static_cast<double>(StatOf(stats->front(), "memory_used_bytes"));
    study_.snapshot_target_mib =
        (memory * kSnapshotExtraPart + static_cast<double>(kSnapshotExtraBytes)) / kMiB;
    const uint64_t extra = memory_most_ - std::min(memory_most_, memory_before_);
    study_.snapshot_extra_mib = static_cast<double>(extra) / kMiB;
    Say("what an idle server does");
    std::this_thread::sleep_for(kQuiet);
    auto idle = CpuWhenIdle(strict.server->process(), study_.settings.quick ? kIdleQuick : kIdle);
    if (!idle) return std::unexpected(idle.error());
    study_.idle = std::move(*idle);
    redises_.clear();
    plovs_.clear();
    auto starts = MeasureStarts(study_.settings, {folder_->path(), study_.log_folder},
                                [this](const std::string& what) { Say(what); });
    if (!starts) return std::unexpected(starts.error());
    study_.starts = std::move(*starts);
    return {};
  }

  std::chrono::microseconds duration() const { return study_.settings.duration; }

  Outcome Take(const LoadKey& key, const TimedResult& timed) {
    if (!timed) return std::unexpected(timed.error());
    if (counts_) study_.Add(key, *timed);
    return {};
  }

  void Say(const std::string& what) const { fmt::print(stderr, "plov-bench durable: {}\n", what); }

  DurableStudy study_;
  Work work_;
  Work redis_work_;
  std::vector<Puts> parts_;              // a client's each
  std::vector<Puts> hot_parts_;          // a client each, too
  std::optional<ScratchFolder> folder_;  // of sockets
  std::optional<ScratchFolder> logs_;
  std::optional<BareDisk> disk_;
  std::vector<LoggedPlov> plovs_;  // the last is strict
  std::vector<LoggedRedis> redises_;
  bool counts_ = false;         // a round that is not the first
  uint64_t memory_before_ = 0;  // of the strict server, before its first snapshot
  uint64_t memory_most_ = 0;
};

}  // namespace

const LoadRow* DurableStudy::Find(const LoadKey& key) const {
  const auto found = std::ranges::find(loads, key, &LoadRow::key);
  return found == loads.end() ? nullptr : &*found;
}

LoadRow* DurableStudy::RowOf(const LoadKey& key) {
  auto found = std::ranges::find(loads, key, &LoadRow::key);
  if (found == loads.end()) found = loads.insert(found, {key, {}, {}, {}});
  return &*found;
}

void DurableStudy::Add(const LoadKey& key, const Timed& timed) {
  constexpr double kNsPerUs = 1000;
  LoadRow* const row = RowOf(key);
  row->per_second.Add(timed.per_second);
  row->p50_us.Add(static_cast<double>(timed.latency.Percentile(0.5)) / kNsPerUs);
  row->p99_us.Add(static_cast<double>(timed.latency.Percentile(0.99)) / kNsPerUs);
}

std::expected<DurableStudy, Error> StudyDurable(const DurableSettings& settings) {
  return Bench(settings).Run();
}

}  // namespace plov::bench
