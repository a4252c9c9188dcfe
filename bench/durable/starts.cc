#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "bench/durable/logged_server.h"
#include "bench/durable/study.h"
#include "bench/peers/plov.h"
#include "bench/shared/tested_server.h"
#include "verify/log.h"

namespace plov::bench {

namespace {

constexpr uint32_t kKeyBytes = 16;
constexpr uint64_t kPayloadBytesMax = uint64_t{128} << 20;
constexpr std::chrono::seconds kEndsWithin{60};

std::string NameOf(const StartRow& row) {
  return fmt::format("{}-{}", row.from_snapshot ? "snapshot" : "replay", row.value_bytes);
}

class StartCase {
 public:
  StartCase(const DurableSettings& settings, const StartPlace& place, const StartRow& row)
      : row_(row),
        log_{.folder = place.log_folder + "/" + NameOf(row),
             .commit = kAsync,
             .segment_bytes = settings.quick ? uint64_t{1} << 20 : LogOptions().segment_bytes,
             .takes_snapshots = false},
        options_(ServerFor(settings.plovd, place.folder + "/" + NameOf(row), row.items,
                           row.value_bytes)) {}

  const StartRow& row() const { return row_; }

  // Stores the items, and ends the server that did.
  Outcome Fill(const Work& work) {
    std::error_code failed;
    std::filesystem::create_directory(options_.folder, failed);
    log_.takes_snapshots = row_.from_snapshot;
    program::OwnServer server(options_);
    if (auto started = StartLogged(&server, log_); !started) return started;
    log_.takes_snapshots = false;  // each start may bring one about
    auto client = Plov::Connect(work, server.uri());
    if (!client) return std::unexpected(client.error());
    if (auto filled = (*client)->Fill(); !filled) return filled;
    if (row_.from_snapshot) {
      if (auto taken = TakeSnapshot(&(*client)->client()); !taken) return taken;
    }
    return End(&server);
  }

  Outcome Measure() {
    program::OwnServer server(options_);
    const auto start = std::chrono::steady_clock::now();
    if (auto started = StartLogged(&server, log_); !started) return started;
    row_.seconds.Add(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    auto client = Client::Connect(server.uri());
    if (!client) return std::unexpected(client.error());
    const auto stats = client->ServerStats();
    if (!stats) return std::unexpected(stats.error());
    if (const uint64_t items = StatOf(stats->front(), "items"); items != row_.items) {
      return Fail(Code::kCorrupt,
                  fmt::format("{} items were stored, {} were restored", row_.items, items));
    }
    return End(&server);
  }

 private:
  // The next start finds the file that it begins with.
  Outcome End(program::OwnServer* server) {
    if (auto ready = AwaitSpares(log_); !ready) return ready;
    server->process().Terminate();
    if (server->process().Await(kEndsWithin)) return {};
    return Fail(Code::kTimeout, "the server does not end");
  }

  StartRow row_;
  LogOptions log_;
  program::OwnServerOptions options_;
};

}  // namespace

uint64_t StartRow::bytes() const { return items * verify::LoggedBytes(kKeyBytes, value_bytes); }

Sample StartRow::Rate(double amount) const {
  Sample rates;
  for (size_t round = 0; round < seconds.size(); ++round) {
    rates.Add(amount / seconds.at(round));
  }
  return rates;
}

std::expected<std::vector<StartRow>, Error> MeasureStarts(
    const DurableSettings& settings, const StartPlace& place,
    const std::function<void(const std::string&)>& say) {
  std::vector<StartCase> cases;
  for (const uint32_t value_bytes : {64u, 1024u}) {
    const uint64_t items = std::min(settings.items, kPayloadBytesMax / (kKeyBytes + value_bytes));
    say(fmt::format("storing {} items with values of {}", items, value_bytes));
    const Work work(items, {.key_bytes = kKeyBytes,
                            .value_bytes_least = value_bytes,
                            .value_bytes_most = value_bytes});
    for (const bool from_snapshot : {false, true}) {
      cases.emplace_back(
          settings, place,
          StartRow{.value_bytes = value_bytes, .from_snapshot = from_snapshot, .items = items});
      if (auto filled = cases.back().Fill(work); !filled) return std::unexpected(filled.error());
    }
  }
  for (uint32_t round = 0; round < settings.rounds; ++round) {
    say(fmt::format("starts, round {} of {}", round + 1, settings.rounds));
    for (StartCase& one : cases) {
      if (auto measured = one.Measure(); !measured) return std::unexpected(measured.error());
    }
  }
  std::vector<StartRow> rows;
  for (const StartCase& one : cases) rows.push_back(one.row());
  return rows;
}

}  // namespace plov::bench
