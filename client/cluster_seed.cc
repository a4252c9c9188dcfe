#include "client/cluster_seed.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "verify/superblock.h"
#include "verify/words.h"

namespace plov {

using fabric::Clock;
using fabric::Deadline;

namespace {

constexpr std::chrono::milliseconds kBetweenMaps{1};

// READs one after the other on a connection; nothing of theirs outlives it, as it goes first.
class SeedReader {
 public:
  SeedReader(std::unique_ptr<fabric::Connection> connection, Deadline deadline)
      : deadline_(deadline), connection_(std::move(connection)) {}

  bool Read(uint64_t offset, std::span<std::byte> to) {
    words_.resize(to.size() / verify::kWordBytes);
    const fabric::ReadOp op{.offset = offset,
                            .bytes = static_cast<uint32_t>(to.size()),
                            .to = std::as_writable_bytes(std::span(words_)).data()};
    if (is_stuck_ || connection_->Read({&op, 1}) != 1 || !Await()) return false;
    std::ranges::copy(std::as_bytes(std::span(words_)), to.begin());
    return true;
  }
  // Until now every READ has completed.
  bool is_good() const { return !is_stuck_ && connection_->alive(); }

 private:
  bool Await() {
    fabric::Completion completion{};
    while (connection_->Poll({&completion, 1}) == 0) {
      is_stuck_ = Clock::now() >= deadline_;
      if (is_stuck_) return false;
      fabric::Wait(connection_.get(), deadline_);
    }
    return completion.status == fabric::Status::kDone;
  }

  Deadline deadline_;
  bool is_stuck_ = false;
  std::vector<uint64_t> words_;
  std::unique_ptr<fabric::Connection> connection_;
};

std::expected<SeededMap, Error> ReadSeed(SeedReader* reader, const std::string& uri,
                                         Deadline deadline) {
  const auto read = [reader](uint64_t offset, std::span<std::byte> to) {
    return reader->Read(offset, to);
  };
  verify::ClusterHead head{};
  if (!read(0, std::as_writable_bytes(std::span(&head, 1)))) {
    return Fail(Code::kUnavailable, "the server at " + uri + " went away");
  }
  if (auto checked = verify::CheckClusterHead(head); !checked) {
    return std::unexpected(checked.error());
  }
  while (true) {
    auto map = verify::ReadMap(read, head.cluster_id, head.life);
    if (map) return SeededMap{head.cluster_id, std::move(*map)};
    if (!reader->is_good()) return Fail(Code::kUnavailable, "the server at " + uri + " went away");
    if (Clock::now() >= deadline) {
      return Fail(Code::kUnavailable, "the server at " + uri + " shows no map of its cluster yet");
    }
    std::this_thread::sleep_for(kBetweenMaps);
  }
}

}  // namespace

std::expected<std::unique_ptr<fabric::Connection>, Error> ConnectToMap(const std::string& uri,
                                                                       Deadline deadline) {
  return fabric::Connection::Connect(uri, {.shard = fabric::kShardMax,
                                           .format_version = verify::kFormatVersion,
                                           .reads_only = true,
                                           .deadline = deadline});
}

std::expected<SeededMap, Error> FetchMap(const std::string& uri, Deadline deadline) {
  auto connection = ConnectToMap(uri, deadline);
  if (!connection && connection.error().code == Code::kNoShard) {
    return Fail(Code::kInvalidArgument,
                "the server at " + uri + " is in no cluster: leave out cluster:");
  }
  if (!connection) return std::unexpected(std::move(connection.error()));
  SeedReader reader(std::move(*connection), deadline);
  return ReadSeed(&reader, uri, deadline);
}

Error IsOfCluster(const std::string& uri) {
  return {Code::kInvalidArgument,
          "the server at " + uri + " is one of a cluster: connect to cluster:" + uri};
}

}  // namespace plov
