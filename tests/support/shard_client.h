// A small client of one shard by its number, and of a cluster's map, below the client library: messages and READs.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/random.h"
#include "verify/cluster_map.h"
#include "verify/message.h"

namespace plov::test {

inline fabric::Deadline Soon() { return fabric::Clock::now() + std::chrono::seconds(30); }

class ShardClient {
 public:
  static std::expected<ShardClient, Error> Connect(const std::string& uri, uint32_t shard) {
    const uint64_t id = fabric::RandomId();
    auto connection = fabric::Connection::Connect(uri, {.shard = shard,
                                                        .format_version = verify::kFormatVersion,
                                                        .client_id = id,
                                                        .deadline = Soon()});
    if (!connection) return std::unexpected(connection.error());
    return ShardClient(std::move(*connection), id);
  }

  struct Answer {
    Code status;
    std::string value;
  };
  // nullopt: the server ended the connection instead.
  std::optional<Answer> Ask(verify::Request request) {
    const fabric::Deadline deadline = Soon();
    request.request_id = ++requests_;
    if (verify::IsWrite(request.operation)) request.sequence = requests_;
    std::vector<std::byte> buffer(connection_->limits().message_bytes_max);
    verify::MessageWriter writer(buffer, id_);
    writer.Add(request);
    connection_->Send(writer.Finish());
    while (connection_->alive() && fabric::Clock::now() < deadline) {
      const auto message = connection_->Receive();
      if (!message) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        continue;
      }
      auto reader =
          verify::MessageReader::Open(*message, id_, verify::MessageReader::Holds::kReplies);
      const auto reply = reader ? reader->NextReply() : std::nullopt;
      if (!reply) return std::nullopt;
      return Answer{reply->status, std::string(reply->value)};
    }
    return std::nullopt;
  }
  std::optional<Answer> Put(std::string_view key, std::string_view value) {
    return Ask({.operation = verify::Operation::kPut,
                .value_bytes = static_cast<uint32_t>(value.size()),
                .key = key,
                .value = value});
  }
  std::optional<Answer> Get(std::string_view key) {
    return Ask({.operation = verify::Operation::kGet, .key = key});
  }

 private:
  ShardClient(std::unique_ptr<fabric::Connection> connection, uint64_t id)
      : connection_(std::move(connection)), id_(id) {}

  std::unique_ptr<fabric::Connection> connection_;
  uint64_t id_;
  uint64_t requests_ = 0;
};

// READs of what a server shows of its cluster.
class MapReader {
 public:
  static std::expected<MapReader, Error> Connect(const std::string& uri, bool reads_only = true) {
    auto connection = fabric::Connection::Connect(uri, {.shard = fabric::kShardMax,
                                                        .format_version = verify::kFormatVersion,
                                                        .client_id = fabric::RandomId(),
                                                        .reads_only = reads_only,
                                                        .deadline = Soon()});
    if (!connection) return std::unexpected(connection.error());
    return MapReader(std::move(*connection));
  }

  bool Read(uint64_t offset, std::span<std::byte> to) {
    const fabric::ReadOp read{
        .offset = offset, .bytes = static_cast<uint32_t>(to.size()), .to = to.data()};
    if (connection_->Read({&read, 1}) != 1) return false;
    std::array<fabric::Completion, 1> done;
    const fabric::Deadline deadline = Soon();
    while (connection_->Poll(done) == 0) {
      if (fabric::Clock::now() > deadline) return false;
    }
    return done[0].status == fabric::Status::kDone;
  }
  std::optional<verify::ClusterHead> Head() {
    verify::ClusterHead head;
    if (!Read(0, std::as_writable_bytes(std::span(&head, 1)))) return std::nullopt;
    return verify::CheckClusterHead(head) ? std::optional(head) : std::nullopt;
  }
  std::optional<verify::ClusterMap> Map() {
    const auto head = Head();
    if (!head) return std::nullopt;
    return verify::ReadMap([this](auto offset, auto to) { return Read(offset, to); },
                           head->cluster_id, head->life);
  }
  uint64_t OathOf(uint32_t shard) {
    uint64_t oath = 0;
    Read(verify::OathOffset(shard), std::as_writable_bytes(std::span(&oath, 1)));
    return oath;
  }
  fabric::Connection& connection() { return *connection_; }

 private:
  explicit MapReader(std::unique_ptr<fabric::Connection> connection)
      : connection_(std::move(connection)) {}

  std::unique_ptr<fabric::Connection> connection_;
};

}  // namespace plov::test
