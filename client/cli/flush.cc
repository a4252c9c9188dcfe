// flush: the server deletes every item itself. With a prefix, what a scan finds one client deletes in batches, while the other
// one scans on.

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/lines.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "client/cli/scans.h"
#include "program/format.h"
#include "program/progress.h"

namespace plov::cli {

namespace {

constexpr size_t kAnswerBytesMax = 16;

std::string SummaryOf(const Options& options, uint64_t deleted, double seconds) {
  if (!options.json) {
    return fmt::format("deleted {} in {:.3f} s ({:.0f}/s)\n", program::CountOf(deleted, "item"),
                       seconds, static_cast<double>(deleted) / seconds);
  }
  program::Json object = program::Json::object();
  object["server"] = options.server;
  object["deleted"] = deleted;
  object["seconds"] = seconds;
  return program::LineOf(object);
}

class Flusher {
 public:
  // client: a client of its own, beside the one that scans.
  explicit Flusher(Client* client) : client_(client) {}

  // False: it failed, and nothing more is to come.
  bool Take(std::string_view key, const Item& item) {
    batch_.push_back({std::string(key), item.version});
    bytes_ += key.size() + item.value.size();
    if (batch_.size() == kBatchItemsMax) Delete();
    return !failure_;
  }

  // Deletes what is left of the last batch.
  Outcome Finish() {
    if (!failure_) Delete();
    progress_.Clear();
    if (!failure_) return {};
    return std::unexpected(*failure_);
  }

  uint64_t deleted() const { return deleted_; }
  double seconds() const { return progress_.seconds(); }

 private:
  struct Found {
    std::string key;
    Version version;
  };

  // All of the batch at once. Another server's life has other items.
  void Delete() {
    for (const Found& found : batch_) {
      client_->StartDelete(found.key, found.version,
                           [this](const Client::DeleteResult& deleted) { OnDeleted(deleted); });
    }
    while (client_->Poll() > 0) {
      const auto sleep = std::chrono::ceil<std::chrono::milliseconds>(client_->next_poll());
      pollfd readable{client_->fd(), POLLIN, 0};
      ::poll(&readable, 1, static_cast<int>(std::min<int64_t>(sleep.count(), INT_MAX)));
    }
    batch_.clear();
    progress_.Show(deleted_, bytes_);
    if (client_->stats().lives > 0) failure_ = Gone();
  }

  static Error Gone() {
    return {Code::kUnavailable, "the server went away meanwhile: flush again"};
  }

  // An item that was written or deleted since it was found is another one.
  void OnDeleted(const Client::DeleteResult& deleted) {
    if (deleted) {
      deleted_ += *deleted ? 1 : 0;
    } else if (deleted.error().code != Code::kVersionMismatch && !failure_) {
      failure_ = deleted.error().code == Code::kUnknown ? Gone() : deleted.error();
    }
  }

  Client* client_;
  program::Progress progress_;
  std::vector<Found> batch_;
  uint64_t bytes_ = 0;  // of what was found
  uint64_t deleted_ = 0;
  std::optional<Error> failure_;
};

std::expected<uint64_t, Error> CountItems(Client* client, std::string_view prefix) {
  uint64_t count = 0;
  const auto summary = client->Scan([&](std::string_view key, const Item&) {
    count += key.starts_with(prefix) ? 1 : 0;
    return true;
  });
  if (!summary) return std::unexpected(summary.error());
  return count;
}

// Of the user at the terminal.
Outcome Ask(const std::string& question) {
  fmt::print(stderr, "{}", question);
  LineReader lines(STDIN_FILENO, kAnswerBytesMax);
  const auto line = lines.Next();
  if (line.kind == LineReader::Kind::kLine) {
    for (const std::string_view yes : {"y", "Y", "yes", "Yes", "YES"}) {
      if (line.text == yes) return {};
    }
  }
  return Fail(Code::kSystem, "nothing was deleted, for the answer was not y");
}

Outcome AskWhether(const Options& options, Client* client, std::string_view prefix) {
  const auto count = CountItems(client, prefix);
  if (!count) return std::unexpected(count.error());
  const std::string those =
      *count == 1 ? "the one item" : fmt::format("all {} items", program::Grouped(*count));
  const std::string which =
      prefix.empty()
          ? ""
          : fmt::format(" that {} with '{}'", *count == 1 ? "starts" : "start", Printable(prefix));
  return Ask(fmt::format("Delete {} of {}{}? [y/N] ", those, Printable(options.server), which));
}

Outcome FlushAll(const Options& options, Client* client, program::Output* output) {
  const auto begun = std::chrono::steady_clock::now();
  const auto deleted = client->Flush(options.delay.value_or(std::chrono::seconds(0)));
  if (!deleted) return NoUsageError(deleted.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  if (!options.delay) output->Write(SummaryOf(options, *deleted, took.count()));
  return {};
}

Outcome FlushPrefix(const Options& options, Client* client, std::string_view prefix,
                    program::Output* output) {
  auto deleting = Connect(options);
  if (!deleting) return std::unexpected(deleting.error());
  Flusher flusher(&*deleting);
  const auto scanned = client->Scan([&](std::string_view key, const Item& item) {
    return !key.starts_with(prefix) || flusher.Take(key, item);
  });
  const Outcome deleted = flusher.Finish();
  output->Write(SummaryOf(options, flusher.deleted(), flusher.seconds()));
  if (!deleted) return deleted;
  if (!scanned) return std::unexpected(scanned.error());
  return Conclude(options, *scanned);
}

}  // namespace

Outcome Flush(const Options& options, program::Output* output) {
  if (!options.yes && ::isatty(STDIN_FILENO) != 1) {
    return Fail(Code::kInvalidArgument,
                "standard input is not a terminal to ask on: --yes deletes without a question");
  }
  const std::string_view prefix = options.words.empty() ? "" : std::string_view(options.words[0]);
  if (options.delay && !prefix.empty()) {
    return Fail(Code::kInvalidArgument, "--delay is for every item: no PREFIX goes with it");
  }
  auto client = Connect(options);
  if (!client) return std::unexpected(client.error());
  if (!options.yes) {
    if (auto agreed = AskWhether(options, &*client, prefix); !agreed) return agreed;
  }
  return prefix.empty() ? FlushAll(options, &*client, output)
                        : FlushPrefix(options, &*client, prefix, output);
}

}  // namespace plov::cli
