#include "bench/compare/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "bench/shared/scratch_folder.h"
#include "bench/shared/tested_server.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 64, .value_bytes_most = 64};
constexpr std::chrono::seconds kSteadyWithin{60};
constexpr std::chrono::milliseconds kSteadyLook{10};

// One side at one kind of work.
struct Measured {
  Peer* peer;
  size_t row;  // of Comparison::rates
};

class Bench {
 public:
  explicit Bench(const CompareSettings& settings) : work_(settings.items, kShape) {
    comparison_.settings = settings;
  }

  std::expected<Comparison, Error> Run() {
    for (const auto step : {&Bench::MakeFolders, &Bench::StartPlov, &Bench::StartPeers}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    }
    AddSides();
    const uint32_t rounds = comparison_.settings.rounds;
    for (uint32_t round = 0; round <= rounds; ++round) {
      Say(round == 0 ? "warming up" : fmt::format("round {} of {}", round, rounds));
      if (auto measured = Round(round > 0); !measured) return std::unexpected(measured.error());
    }
    if (auto added = AddFacts(); !added) return std::unexpected(added.error());
    return std::move(comparison_);
  }

 private:
  Outcome MakeFolders() {
    for (const auto place : {program::Place::kDisk, program::Place::kMemory}) {
      auto folder = ScratchFolder::Make(place);
      if (!folder) return std::unexpected(folder.error());
      folders_.push_back(std::move(*folder));
    }
    return {};
  }

  Outcome StartPlov() {
    Say(fmt::format("storing {} items in plov", comparison_.settings.items));
    program::OwnServerOptions options = ServerFor(comparison_.settings.plovd, folders_[0].path(),
                                                  work_.count(), work_.value_bytes());
    // The chain that is the memory's limit has records.
    options.bucket_bytes = verify::kBucketBytesMin;
    options.huge_pages = comparison_.settings.huge_pages;
    server_.emplace(options);
    if (auto started = server_->Start(program::Life::kFirst); !started) return started;
    auto cold = Plov::Connect(work_, server_->uri());
    if (!cold) return std::unexpected(cold.error());
    auto known = Plov::Connect(work_, server_->uri(),
                               {.location_cache_bytes = CacheBytesFor(work_.count())});
    if (!known) return std::unexpected(known.error());
    cold_ = std::move(*cold);
    known_ = std::move(*known);
    if (auto filled = cold_->Fill(); !filled) return filled;
    return AwaitSteadyTable();
  }

  // Until the server has freed the table that it grew from. It drops clients that do not confirm the
  // new one in time, and the peer `memory`, whose READs are its own, never does.
  Outcome AwaitSteadyTable() {
    const auto end = std::chrono::steady_clock::now() + kSteadyWithin;
    while (true) {
      for (Plov* plov : {cold_.get(), known_.get()}) plov->client().Poll();
      const auto stats = cold_->client().ServerStats();
      if (!stats) return std::unexpected(stats.error());
      const std::string& shard = stats->at(0);
      const uint64_t table_bytes = StatOf(shard, "buckets") * StatOf(shard, "bucket_bytes");
      if (StatOf(shard, "growing") == 0 && StatOf(shard, "table_bytes") == table_bytes) return {};
      if (std::chrono::steady_clock::now() > end) {
        return Fail(Code::kTimeout, "the server's table does not come to rest");
      }
      std::this_thread::sleep_for(kSteadyLook);
    }
  }

  Outcome StartPeers() {
    auto stats = cold_->client().ServerStats();
    if (!stats) return std::unexpected(stats.error());
    comparison_.buckets = StatOf(stats->at(0), "buckets");
    const PeerPlace place{
        .folder = folders_[0].path(), .memory_folder = folders_[1].path(), .plov = server_->uri()};
    for (const PeerKind* kind : comparison_.settings.peers) {
      Say(fmt::format("storing them in {}", kind->title));
      auto peer = kind->Start(work_, place);
      if (!peer && peer.error().code != Code::kUnavailable) return std::unexpected(peer.error());
      if (peer) {
        peers_.emplace_back(kind, std::move(*peer));
      } else {
        comparison_.skipped.push_back({kind, peer.error().message});
      }
    }
    return {};
  }

  // What is compared with each other stands together, so that it is measured at about one time.
  void AddSides() {
    const auto add = [this](std::string_view who, std::string_view title, Way way, Peer* peer) {
      sides_.push_back({.peer = peer, .row = comparison_.rates.size()});
      comparison_.rates.push_back({.who = who, .title = title, .way = way, .per_second = {}});
    };
    for (const Way way : {Way::kGet, Way::kGetMany, Way::kPut, Way::kPutMany}) {
      const bool puts = way == Way::kPut || way == Way::kPutMany;
      add(kCold, puts ? "plov" : "plov, location unknown", way, cold_.get());
      if (!puts) add(kKnown, "plov, location known", way, known_.get());
      for (const auto& [kind, peer] : peers_) {
        if (peer->Can(way)) add(kind->name, kind->title, way, peer.get());
      }
    }
  }

  Outcome Round(bool counts) {
    // What the PUTs of the round before have made old is found again.
    if (auto warm = known_->WarmUp(); !warm) return warm;
    for (Measured& side : sides_) {
      RateRow& row = comparison_.rates[side.row];
      const auto rate = side.peer->Rate(row.way, comparison_.settings.duration);
      if (!rate) return std::unexpected(rate.error());
      if (counts) row.per_second.Add(*rate);
    }
    return {};
  }

  Outcome AddFacts() {
    AddRateGoals(&comparison_);
    const CompareSettings& settings = comparison_.settings;
    const auto add = [this](std::vector<GoalRow> rows) {
      for (GoalRow& row : rows) comparison_.goals.push_back(std::move(row));
    };
    Say("what the server does meanwhile");
    auto server = ServerFacts(&server_->process(), cold_.get(), known_.get(), settings);
    if (!server) return std::unexpected(server.error());
    add(std::move(*server));
    Say("READs");
    auto reads = ReadFacts(settings.plovd, folders_[0].path() + "/reads");
    if (!reads) return std::unexpected(reads.error());
    add(std::move(*reads));
    add({FillFact(), WireFact(settings)});
    return {};
  }

  void Say(const std::string& what) const { fmt::print(stderr, "plov-bench compare: {}\n", what); }

  Comparison comparison_;
  Work work_;
  std::vector<ScratchFolder> folders_;  // one on disk, one in memory
  std::optional<program::OwnServer> server_;
  std::unique_ptr<Plov> cold_;
  std::unique_ptr<Plov> known_;
  std::vector<std::pair<const PeerKind*, std::unique_ptr<Peer>>> peers_;
  std::vector<Measured> sides_;
};

}  // namespace

const RateRow* Comparison::FindRate(std::string_view who, Way way) const {
  const auto found = std::ranges::find_if(
      rates, [&](const RateRow& row) { return row.who == who && row.way == way; });
  return found == rates.end() ? nullptr : &*found;
}

std::expected<Comparison, Error> Compare(const CompareSettings& settings) {
  return Bench(settings).Run();
}

}  // namespace plov::bench
