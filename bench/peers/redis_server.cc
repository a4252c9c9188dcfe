#include "bench/peers/redis_server.h"

#include <array>

#include "bench/peers/peer_server.h"

namespace plov::bench {

std::expected<RedisClient, Error> RedisClient::Connect(const std::string& socket) {
  RedisClient client;
  client.context_.reset(::redisConnectUnix(socket.c_str()));
  if (client.context_ != nullptr && client.context_->err == 0) return client;
  return Fail(Code::kUnavailable, "no Redis on " + socket);
}

std::expected<RedisClient, Error> RedisServer::Start() {
  const PeerProgram program{
      .name = "redis-server",
      .package = "redis-server",
      .arguments = {"--port", "0", "--unixsocket", socket_, "--unixsocketperm", "700", "--dir",
                    folder_, "--save", "", "--appendonly", "no", "--maxmemory", "0"}};
  auto process =
      StartPeerServer(program, [this] { return RedisClient::Connect(socket_).has_value(); });
  if (!process) return std::unexpected(process.error());
  process_ = std::move(*process);
  return RedisClient::Connect(socket_);
}

void RedisClient::AppendGet(std::string_view key) {
  std::array<const char*, 2> words = {"GET", key.data()};
  const std::array<size_t, 2> bytes = {3, key.size()};
  ::redisAppendCommandArgv(context_.get(), 2, words.data(), bytes.data());
}

void RedisClient::AppendSet(std::string_view key, std::string_view value) {
  std::array<const char*, 3> words = {"SET", key.data(), value.data()};
  const std::array<size_t, 3> bytes = {3, key.size(), value.size()};
  ::redisAppendCommandArgv(context_.get(), 3, words.data(), bytes.data());
}

std::expected<RedisReply, Error> RedisClient::Next() {
  void* reply = nullptr;
  if (::redisGetReply(context_.get(), &reply) != REDIS_OK) {
    return Fail(Code::kSystem, std::string("Redis: ") + context_->errstr);
  }
  RedisReply owned(static_cast<redisReply*>(reply));
  if (owned->type == REDIS_REPLY_ERROR) {
    return Fail(Code::kProtocol, "Redis: " + std::string(owned->str, owned->len));
  }
  return owned;
}

std::expected<void, Error> RedisClient::NextDone() {
  const auto reply = Next();
  if (!reply) return std::unexpected(reply.error());
  if ((*reply)->type == REDIS_REPLY_STATUS) return {};
  return Fail(Code::kProtocol, "Redis answered a SET with no status");
}

}  // namespace plov::bench
