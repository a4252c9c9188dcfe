#include "bench/run/study.h"

#include <algorithm>
#include <array>

#include "program/progress.h"

namespace plov::bench {

namespace {

// Of the rate in a closed loop. Near it the latency grows without bounds.
constexpr auto kSweepParts = std::to_array<double>({0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0});

class RunBench {
 public:
  RunBench(const RunSettings& settings, TestedServer* server)
      : server_(server), drive_(settings.drive), workload_(settings.workload) {
    study_.settings = settings;
    study_.uri = drive_.uri = server->uri();
    drive_.before = [this] { cpu_before_ = server_->CpuSeconds(); };
    drive_.after = [this] { cpu_after_ = server_->CpuSeconds(); };
    drive_.progress = [this](uint64_t operations, uint64_t bytes) {
      progress_.Show(operations, bytes);
    };
  }

  std::expected<RunStudy, Error> Run() {
    using Phases = RunSettings::Phases;
    const RunSettings& settings = study_.settings;
    Outcome outcome;
    if (settings.phases != Phases::kRun) outcome = LoadItems();
    if (outcome && settings.phases != Phases::kLoad) outcome = Measure(settings.drive.rate);
    if (outcome && settings.phases != Phases::kLoad && settings.sweep) outcome = Sweep();
    if (!outcome) return std::unexpected(outcome.error());
    if (auto memory = server_->Memory()) study_.memory = *memory;
    return std::move(study_);
  }

 private:
  Outcome LoadItems() {
    const program::Progress timed;
    auto loaded = Load(workload_, drive_);
    study_.load_seconds = timed.seconds();
    progress_.Clear();
    return loaded;
  }

  Outcome Measure(double rate) {
    RunRow row;
    row.rate = drive_.rate = rate;
    std::vector<Result> results;
    row.background.EndRound(false);
    for (uint32_t round = 0; round < study_.settings.rounds; ++round) {
      progress_ = program::Progress();
      drive_.seed = round + 1;
      auto result = Drive(workload_, drive_);
      progress_.Clear();
      if (!result) return std::unexpected(result.error());
      row.background.EndRound(true);
      workload_.items += result->inserted;
      row.per_second.Add(result->per_second);
      if (cpu_before_ && cpu_after_) {
        row.server_cpu_seconds = row.server_cpu_seconds.value_or(0) + *cpu_after_ - *cpu_before_;
      }
      results.push_back(std::move(*result));
    }
    const auto median = results.begin() + static_cast<ptrdiff_t>(results.size() / 2);
    std::ranges::nth_element(results, median, {}, &Result::per_second);
    row.result = std::move(*median);
    for (auto other = results.begin(); other != results.end(); ++other) {
      if (other != median) row.result.AddCounts(*other);
    }
    study_.rows.push_back(std::move(row));
    return {};
  }

  // What the clients' preparations leave of the rate in a closed loop, too.
  Outcome Sweep() {
    const Result& fastest = study_.rows.front().result;
    const double rate = static_cast<double>(fastest.operations()) / study_.settings.rounds /
                        std::max(fastest.seconds, 1e-9);
    for (const double part : kSweepParts) {
      if (auto measured = Measure(std::max(1.0, part * rate)); !measured) return measured;
    }
    return {};
  }

  TestedServer* server_;
  DriveOptions drive_;
  Workload workload_;  // has more items after each run that inserts
  RunStudy study_;
  program::Progress progress_;
  std::optional<double> cpu_before_;
  std::optional<double> cpu_after_;
};

}  // namespace

double RunRow::client_cpu() const {
  const auto operations = static_cast<double>(result.operations());
  return operations > 0 ? result.cpu_seconds * 1e6 / operations : 0;
}

std::optional<double> RunRow::server_cpu() const {
  const auto operations = static_cast<double>(result.operations());
  if (!server_cpu_seconds || operations == 0) return std::nullopt;
  return *server_cpu_seconds * 1e6 / operations;
}

uint64_t RunRow::torn_reads() const {
  return result.stats.torn_buckets + result.stats.torn_records;
}

std::expected<RunStudy, Error> StudyRun(const RunSettings& settings) {
  const auto server = TestedServer::Start(settings.server);
  if (!server) return std::unexpected(server.error());
  return RunBench(settings, server->get()).Run();
}

}  // namespace plov::bench
