// Redis over a Unix socket, asked by hiredis: one request at a time, or 32 and then their replies.

#include <algorithm>

#include "bench/peers/peer.h"
#include "bench/peers/redis_server.h"

namespace plov::bench {

namespace {

class Redis final : public Peer {
 public:
  Redis(const Work& work, std::shared_ptr<RedisServer> server, RedisClient client)
      : Peer(work), server_(std::move(server)), client_(std::move(client)) {}

  StartedPeer Another() const override {
    auto client = RedisClient::Connect(server_->socket());
    if (!client) return std::unexpected(client.error());
    return std::make_unique<Redis>(work(), server_, std::move(*client));
  }

  bool Can(Way) const override { return true; }

  std::expected<void, Error> Do(Way way, Turn turn) override {
    const bool gets = way == Way::kGet || way == Way::kGetMany;
    const size_t window = way == Way::kGet || way == Way::kPut ? 1 : kPipelined;
    for (size_t done = 0; done < turn.count; done += window) {
      const Turn batch{turn.first + done, std::min(window, turn.count - done)};
      if (auto did = gets ? Get(batch) : Put(batch); !did) return did;
    }
    return {};
  }

 private:
  std::expected<void, Error> Get(Turn batch);
  std::expected<void, Error> Put(Turn batch);

  std::shared_ptr<RedisServer> server_;
  RedisClient client_;
  std::string value_;
};

std::expected<void, Error> Redis::Get(Turn batch) {
  for (const std::string_view key : keys(batch)) client_.AppendGet(key);
  for (const std::string_view key : keys(batch)) {
    const auto reply = client_.Next();
    if (!reply) return std::unexpected(reply.error());
    const bool is_value = (*reply)->type == REDIS_REPLY_STRING;
    if (!is_value || !work().IsRight(key, {(*reply)->str, (*reply)->len})) {
      return work().Wrong(key);
    }
  }
  return {};
}

std::expected<void, Error> Redis::Put(Turn batch) {
  for (size_t place = batch.first; place < batch.first + batch.count; ++place) {
    const std::string_view key = work().keys()[place];
    work().items().FillValue(work().order()[place], key, &value_);
    client_.AppendSet(key, value_);
  }
  for (size_t i = 0; i < batch.count; ++i) {
    if (auto done = client_.NextDone(); !done) return done;
  }
  return {};
}

}  // namespace

StartedPeer StartRedis(const Work& work, const PeerPlace& place) {
  auto server = std::make_shared<RedisServer>(place.folder, "redis");
  auto client = server->Start();
  if (!client) return std::unexpected(client.error());
  auto redis = std::make_unique<Redis>(work, std::move(server), std::move(*client));
  if (auto filled = redis->Do(Way::kPutMany, {0, work.count()}); !filled) {
    return std::unexpected(filled.error());
  }
  return redis;
}

}  // namespace plov::bench
