#include "bench/compare/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
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

// A server of plov's, and clients that remember nothing or all.
struct Ours {
  std::optional<program::OwnServer> server = {};
  uint64_t memory_bytes = 0;  // with all items, more than when it was empty
  std::unique_ptr<Plov> cold = {};
  std::unique_ptr<Plov> known = {};
};

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
    if (auto made = MakeFolders(); !made) return std::unexpected(made.error());
    const auto table = StartPlov(&ours_, "plov", 0);
    if (!table) return std::unexpected(table.error());
    comparison_.table = *table;
    const auto records = StartPlov(&records_, "plov with records", verify::kBucketBytesMin);
    if (!records) return std::unexpected(records.error());
    comparison_.table_of_records = *records;
    if (auto started = StartPeers(); !started) return std::unexpected(started.error());
    AddMemoryGoals();
    AddSides();
    const uint32_t rounds = comparison_.settings.rounds;
    for (uint32_t round = 0; round <= rounds; ++round) {
      Say(round == 0 ? "warming up" : fmt::format("round {} of {}", round, rounds));
      if (auto measured = Round(round > 0); !measured) return std::unexpected(measured.error());
      comparison_.background.EndRound(round > 0);
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

  // bucket_bytes: 0, as it chooses.
  std::expected<TableSize, Error> StartPlov(Ours* ours, std::string_view name,
                                            uint32_t bucket_bytes) {
    Say(fmt::format("storing {} items in {}", comparison_.settings.items, name));
    const std::string folder = fmt::format("{}/{}", folders_[0].path(), bucket_bytes);
    std::filesystem::create_directory(folder);
    program::OwnServerOptions options =
        ServerFor(comparison_.settings.plovd, folder, work_.count(), work_.value_bytes());
    options.bucket_bytes = bucket_bytes;
    options.huge_pages = comparison_.settings.huge_pages;
    ours->server.emplace(options);
    if (auto started = ours->server->Start(program::Life::kFirst); !started) {
      return std::unexpected(started.error());
    }
    const uint64_t empty_bytes = ours->server->process().ResidentBytes();
    auto cold = Plov::Connect(work_, ours->server->uri());
    if (!cold) return std::unexpected(cold.error());
    auto known = Plov::Connect(work_, ours->server->uri(),
                               {.location_cache_bytes = CacheBytesFor(work_.count())});
    if (!known) return std::unexpected(known.error());
    ours->cold = std::move(*cold);
    ours->known = std::move(*known);
    if (auto filled = ours->cold->Fill(); !filled) return std::unexpected(filled.error());
    auto table = AwaitSteadyTable(ours);
    ours->memory_bytes = ours->server->process().ResidentBytes() - empty_bytes;
    return table;
  }

  // Until the server has freed the table that it grew from. It drops clients that do not confirm the
  // new one in time, and the peer `memory`, whose READs are its own, never does.
  static std::expected<TableSize, Error> AwaitSteadyTable(Ours* ours) {
    const auto end = std::chrono::steady_clock::now() + kSteadyWithin;
    while (true) {
      for (Plov* plov : {ours->cold.get(), ours->known.get()}) plov->client().Poll();
      const auto stats = ours->cold->client().ServerStats();
      if (!stats) return std::unexpected(stats.error());
      const std::string& shard = stats->at(0);
      const TableSize size{StatOf(shard, "buckets"), StatOf(shard, "bucket_bytes")};
      if (StatOf(shard, "growing") == 0 &&
          StatOf(shard, "table_bytes") == size.buckets * size.bucket_bytes) {
        return size;
      }
      if (std::chrono::steady_clock::now() > end) {
        return Fail(Code::kTimeout, "the server's table is still growing");
      }
      std::this_thread::sleep_for(kSteadyLook);
    }
  }

  Outcome StartPeers() {
    // The chain that is the memory's limit has records.
    const PeerPlace place{.folder = folders_[0].path(),
                          .memory_folder = folders_[1].path(),
                          .plov = records_.server->uri()};
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

  // Before PUTs overwrite items.
  void AddMemoryGoals() {
    const auto count = static_cast<double>(work_.count());
    for (const FactGoal& goal : kMemoryGoals) {
      GoalRow row(goal);
      const auto peer =
          std::ranges::find(peers_, goal.peer, [](const auto& entry) { return entry.first->name; });
      row.peer = FindPeerKind(goal.peer)->title;
      if (peer == peers_.end()) {
        row.skipped = WhySkipped(comparison_, goal.peer);
      } else {
        const auto ours = static_cast<double>(ours_.memory_bytes);
        const auto theirs = static_cast<double>(peer->second->memory_bytes());
        row.own_value = fmt::format("{:.0f} bytes", ours / count);
        row.peer_value = fmt::format("{:.0f} bytes", theirs / count);
        row.measured.Add(ours / theirs);
      }
      memory_goals_.push_back(std::move(row));
    }
  }

  // What is compared with each other stands together, so that it is measured at about one time.
  void AddSides() {
    const auto add = [this](std::string_view who, std::string_view title, Way way, Peer* peer) {
      sides_.push_back({.peer = peer, .row = comparison_.rates.size()});
      comparison_.rates.push_back({.who = who, .title = title, .way = way, .per_second = {}});
    };
    for (const Way way : {Way::kGet, Way::kGetMany, Way::kPut, Way::kPutMany}) {
      const bool puts = way == Way::kPut || way == Way::kPutMany;
      add(kCold, puts ? "plov" : "plov, location unknown", way, ours_.cold.get());
      if (!puts) add(kKnown, "plov, location known", way, ours_.known.get());
      add(kColdRecords, puts ? "plov, records" : "plov, records, unknown", way,
          records_.cold.get());
      if (!puts) add(kKnownRecords, "plov, records, known", way, records_.known.get());
      for (const auto& [kind, peer] : peers_) {
        if (peer->Can(way)) add(kind->name, kind->title, way, peer.get());
      }
    }
  }

  Outcome Round(bool counts) {
    // What the PUTs of the round before have made old is found again.
    for (Plov* known : {ours_.known.get(), records_.known.get()}) {
      if (auto warm = known->WarmUp(); !warm) return warm;
    }
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
    add(std::move(memory_goals_));
    Say("what the server does meanwhile");
    auto server =
        ServerFacts(&ours_.server->process(), ours_.cold.get(), ours_.known.get(), settings);
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
  Ours ours_;
  Ours records_;
  std::vector<std::pair<const PeerKind*, std::unique_ptr<Peer>>> peers_;
  std::vector<Measured> sides_;
  std::vector<GoalRow> memory_goals_;
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
