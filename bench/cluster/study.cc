#include "bench/cluster/study.h"

#include <fmt/core.h>
#include <plov/client.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>

#include "bench/cluster/plov_cluster.h"
#include "bench/peers/plov.h"
#include "bench/shared/scratch_folder.h"
#include "bench/shared/tested_server.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 64, .value_bytes_most = 64};
constexpr uint64_t kItems = 10'000;
// Of load before the harm, and after all keys are there again.
constexpr milliseconds kBefore{300}, kAfter{200};
constexpr std::chrono::seconds kBackWithin{180};

// One kind of calls, one after the other over all keys, until each key has had one since the harm.
class Load {
 public:
  // call: false where it failed.
  Load(const std::atomic<bool>* harmed, std::function<bool(size_t key)> call)
      : harmed_(harmed),
        thread_([this, call = std::move(call)](const std::stop_token& stop) { Run(stop, call); }) {}

  bool is_back() const { return back_.load(); }
  void End() {
    thread_.request_stop();
    thread_.join();
  }
  // After End: the longest time until a key was there, of those that were asked for since the harm or when it came.
  double longest_ms() const { return std::chrono::duration<double, std::milli>(longest_).count(); }
  uint64_t failed() const { return failed_; }

 private:
  void Run(const std::stop_token& stop, const std::function<bool(size_t)>& call) {
    size_t done_since = 0;
    for (size_t key = 0; !stop.stop_requested(); key = (key + 1) % kSubjectKeys) {
      const auto begun = Clock::now();
      while (!call(key) && !stop.stop_requested()) ++failed_;
      if (!harmed_->load()) continue;
      longest_ = std::max(longest_, Clock::now() - begun);
      if (++done_since > kSubjectKeys) back_ = true;  // the first may have been over before
    }
  }

  const std::atomic<bool>* harmed_;
  uint64_t failed_ = 0;
  Clock::duration longest_{0};
  std::atomic<bool> back_ = false;
  std::jthread thread_;
};

class Bench {
 public:
  explicit Bench(const ClusterSettings& settings) : work_(kItems, kShape) {
    study_.settings = settings;
    for (const Way way : {Way::kGet, Way::kGetMany, Way::kPut, Way::kPutMany}) {
      study_.costs.push_back({way, {}, {}});
    }
  }

  std::expected<ClusterStudy, Error> Run() {
    for (const auto step : {&Bench::Start, &Bench::MeasureCosts, &Bench::MeasureHarms}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    }
    return std::move(study_);
  }

 private:
  Outcome Start() {
    auto folder = ScratchFolder::Make();
    if (!folder) return std::unexpected(folder.error());
    folder_.emplace(std::move(*folder));
    Say("starting three ZooKeepers and three servers");
    if (!study_.settings.log.empty()) {
      auto logs = ScratchFolder::MakeIn(study_.settings.log);
      if (!logs) return std::unexpected(logs.error());
      logs_.emplace(std::move(*logs));
    }
    auto plov = PlovCluster::Start(study_.settings.plovd, folder_->path(),
                                   logs_ ? logs_->path() : std::string());
    if (!plov) return std::unexpected(plov.error());
    plov_ = std::move(*plov);
    alone_.emplace(ServerFor(study_.settings.plovd, folder_->path(), kItems, work_.value_bytes()));
    if (auto started = alone_->Start(program::Life::kFirst); !started) return started;
    Say("starting a Redis Cluster");
    auto redis = StartRedisCluster(folder_->path());
    if (redis) redis_ = std::move(*redis);
    if (!redis && redis.error().code != Code::kUnavailable) return std::unexpected(redis.error());
    if (!redis) study_.skipped = redis.error().message;
    return {};
  }

  Outcome MeasureCosts() {
    Say("what replicas cost");
    const auto alone = Plov::Connect(work_, alone_->uri());
    if (!alone) return std::unexpected(alone.error());
    const auto replicated = Plov::Connect(work_, plov_->uri());
    if (!replicated) return std::unexpected(replicated.error());
    for (const auto& one : {&*alone, &*replicated}) {
      if (auto filled = (*one)->Fill(); !filled) return filled;
    }
    for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
      for (CostRow& row : study_.costs) {
        const auto rate = (*alone)->Rate(row.way, study_.settings.duration);
        if (!rate) return std::unexpected(rate.error());
        row.alone.Add(*rate);
        const auto ours = (*replicated)->Rate(row.way, study_.settings.duration);
        if (!ours) return std::unexpected(ours.error());
        row.replicated.Add(*ours);
      }
    }
    return {};
  }

  Outcome MeasureHarms() {
    for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
      for (size_t i = 0; i < kHarmNames.size(); ++i) {
        const auto harm = static_cast<Harm>(i);
        for (const auto& [who, subject] :
             {std::pair(kPlovCluster, static_cast<Subject*>(plov_.get())),
              std::pair(kRedisCluster, redis_.get())}) {
          if (subject == nullptr || !subject->Can(harm)) continue;
          Say(fmt::format("round {} of {}: {}, {}", round + 1, study_.settings.rounds, who,
                          NameOf(harm)));
          if (auto measured = Measure(harm, subject, RowOf(harm, who)); !measured) return measured;
        }
      }
    }
    return {};
  }

  HarmRow* RowOf(Harm harm, std::string_view who) {
    for (HarmRow& row : study_.harms) {
      if (row.harm == harm && row.who == who) return &row;
    }
    return &study_.harms.emplace_back(harm, who);
  }

  static Outcome Measure(Harm harm, Subject* subject, HarmRow* row) {
    const auto writer = subject->Connect();
    const auto reader = subject->Connect();
    if (!writer || !reader) return std::unexpected(writer ? reader.error() : writer.error());
    std::array<uint64_t, kSubjectKeys> begun{}, acknowledged{};
    for (size_t key = 0; key < kSubjectKeys; ++key) {
      const auto found = (*reader)->Get(key);
      if (!found) return std::unexpected(found.error());
      begun[key] = acknowledged[key] = *found;
    }
    const auto before = acknowledged;
    std::atomic<bool> harmed = false;
    Load puts(&harmed, [&](size_t key) {
      if (!(*writer)->Put(key, ++begun[key])) return false;
      acknowledged[key] = begun[key];
      return true;
    });
    Load gets(&harmed, [&](size_t key) { return (*reader)->Get(key).has_value(); });
    std::this_thread::sleep_for(kBefore);
    const auto end = Clock::now() + kBackWithin;
    harmed = true;
    auto done = subject->Do(harm);
    while (done && !(puts.is_back() && gets.is_back())) {
      if (Clock::now() > end) done = Fail(Code::kTimeout, "some keys do not come back");
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (done) std::this_thread::sleep_for(kAfter);
    puts.End();
    gets.End();
    if (!done) return done;
    if (auto mended = subject->Mend(harm); !mended) return mended;
    row->puts_ms.Add(puts.longest_ms());
    row->gets_ms.Add(gets.longest_ms());
    row->failed += puts.failed() + gets.failed();
    for (size_t key = 0; key < kSubjectKeys; ++key) {
      const auto found = (*reader)->Get(key);
      if (!found) return std::unexpected(found.error());
      row->acknowledged += acknowledged[key] - before[key];
      row->lost += acknowledged[key] - std::min(acknowledged[key], *found);
    }
    return {};
  }

  static void Say(const std::string& what) { fmt::print(stderr, "plov-bench cluster: {}\n", what); }

  ClusterStudy study_;
  Work work_;
  std::optional<ScratchFolder> folder_, logs_;
  std::unique_ptr<PlovCluster> plov_;
  std::optional<program::OwnServer> alone_;
  std::unique_ptr<Subject> redis_;
};

}  // namespace

const HarmRow* ClusterStudy::Find(Harm harm, std::string_view who) const {
  const auto found = std::ranges::find_if(
      harms, [&](const HarmRow& row) { return row.harm == harm && row.who == who; });
  return found == harms.end() ? nullptr : &*found;
}

std::expected<ClusterStudy, Error> StudyCluster(const ClusterSettings& settings) {
  return Bench(settings).Run();
}

}  // namespace plov::bench
