// Redis, on a private socket, keeping nothing or what it appends to a file: asked by hiredis over a
// Unix socket, one request at a time or 32 and then their replies; and by redis-benchmark -P 32, which
// keeps it busier than one connection can, with fifty of them. That has keys of its own,
// key:000000000000 and on, as long as those of the work, and looks at no value.

#include <fmt/core.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/peers/peer.h"
#include "bench/peers/peer_server.h"

namespace plov::bench {

namespace {

constexpr double kFirstRate = 100'000;  // before it is known
constexpr double kRequestsMin = 20'000;

struct RedisReplyDeleter {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, RedisReplyDeleter>;

class RedisClient {
 public:
  // Errors: kUnavailable.
  static std::expected<RedisClient, Error> Connect(const std::string& socket) {
    RedisClient client;
    client.context_.reset(::redisConnectUnix(socket.c_str()));
    if (client.context_ != nullptr && client.context_->err == 0) return client;
    return Fail(Code::kUnavailable, "no Redis on " + socket);
  }

  // What is appended goes out with the next reply that is asked for; replies come in that order.
  void AppendGet(std::string_view key) {
    std::array<const char*, 2> words = {"GET", key.data()};
    const std::array<size_t, 2> bytes = {3, key.size()};
    ::redisAppendCommandArgv(context_.get(), 2, words.data(), bytes.data());
  }

  void AppendSet(std::string_view key, std::string_view value) {
    std::array<const char*, 3> words = {"SET", key.data(), value.data()};
    const std::array<size_t, 3> bytes = {3, key.size(), value.size()};
    ::redisAppendCommandArgv(context_.get(), 3, words.data(), bytes.data());
  }

  // Errors: kSystem (the connection broke), kProtocol (Redis said no).
  std::expected<RedisReply, Error> Next() {
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

  // of a SET
  std::expected<void, Error> NextDone() {
    const auto reply = Next();
    if (!reply) return std::unexpected(reply.error());
    if ((*reply)->type == REDIS_REPLY_STATUS) return {};
    return Fail(Code::kProtocol, "Redis answered a SET with no status");
  }

 private:
  struct ContextDeleter {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };

  std::unique_ptr<redisContext, ContextDeleter> context_;
};

class RedisServer {
 public:
  // The socket lies in the place's folder, as `name`.
  RedisServer(const PeerPlace& place, const std::string& name)
      : place_(place), socket_(place.folder + "/" + name + ".sock") {}

  // Returns the first client. Errors: kUnavailable (it is not installed), kSystem.
  std::expected<RedisClient, Error> Start() {
    const bool has_log = !place_.log_folder.empty();
    PeerProgram program{
        .name = "redis-server",
        .package = "redis-server",
        .arguments = {"--port", "0", "--unixsocket", socket_, "--unixsocketperm", "700", "--dir",
                      has_log ? place_.log_folder : place_.folder, "--save", "", "--maxmemory", "0",
                      "--appendonly", has_log ? "yes" : "no"}};
    if (has_log) {  // and never written anew, which would be measured at times
      program.arguments.insert(program.arguments.end(), {"--appendfsync", place_.log_sync,
                                                         "--auto-aof-rewrite-percentage", "0"});
    }
    auto process =
        StartPeerServer(program, [this] { return RedisClient::Connect(socket_).has_value(); });
    if (!process) return std::unexpected(process.error());
    process_.emplace(std::move(*process));
    return RedisClient::Connect(socket_);
  }

  uint64_t memory_bytes() const { return process_->memory_bytes(); }

  const std::string& socket() const { return socket_; }

 private:
  PeerPlace place_;
  std::string socket_;
  std::optional<PeerServer> process_;
};

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
  uint64_t memory_bytes() const override { return server_->memory_bytes(); }

  std::expected<void, Error> Do(Way way, Range range) override {
    const bool gets = way == Way::kGet || way == Way::kGetMany;
    const size_t window = way == Way::kGet || way == Way::kPut ? 1 : kPipelined;
    for (size_t done = 0; done < range.count; done += window) {
      const Range batch{range.first + done, std::min(window, range.count - done)};
      if (auto did = gets ? Get(batch) : Put(batch); !did) return did;
    }
    return {};
  }

 private:
  std::expected<void, Error> Get(Range batch) {
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

  std::expected<void, Error> Put(Range batch) {
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

  std::shared_ptr<RedisServer> server_;
  RedisClient client_;
  std::string value_;
};

class RedisBenchmark final : public Peer {
 public:
  RedisBenchmark(const Work& work, const PeerPlace& place)
      : Peer(work), server_(place, "redis-benchmark") {}

  std::expected<void, Error> Open() {
    if (program::FindInPath("redis-benchmark").empty()) {
      return Fail(Code::kUnavailable,
                  "redis-benchmark is not in PATH: install the package redis-tools");
    }
    auto client = server_.Start();
    if (!client) return std::unexpected(client.error());
    const std::string value(work().value_bytes(), 'v');
    for (uint64_t first = 0; first < work().count(); first += kPipelined) {
      const uint64_t end = std::min(first + kPipelined, work().count());
      for (uint64_t i = first; i < end; ++i) client->AppendSet(fmt::format("key:{:012}", i), value);
      for (uint64_t i = first; i < end; ++i) {
        if (auto done = client->NextDone(); !done) return done;
      }
    }
    return {};
  }

  bool Can(Way way) const override { return way == Way::kGetMany || way == Way::kPutMany; }
  std::expected<void, Error> Do(Way way, Range range) override {
    const auto rate = Run(way, range.count);
    if (!rate) return std::unexpected(rate.error());
    return {};
  }

  // As many requests as take about so long.
  std::expected<double, Error> Rate(Way way, std::chrono::microseconds duration) override {
    double& last = rates_.at(static_cast<size_t>(way));
    const double seconds = std::chrono::duration<double>(duration).count();
    const double requests = std::max(kRequestsMin, (last > 0 ? last : kFirstRate) * seconds);
    const auto rate = Run(way, static_cast<uint64_t>(requests));
    if (rate) last = *rate;
    return rate;
  }

 private:
  std::expected<double, Error> Run(Way way, uint64_t requests) const {
    const auto text =
        OutputOf({.name = "redis-benchmark",
                  .package = "redis-tools",
                  .arguments = {"-s", server_.socket(), "-P", std::to_string(kPipelined), "-n",
                                std::to_string(requests), "-r", std::to_string(work().count()),
                                "-d", std::to_string(work().value_bytes()), "--csv", "-t",
                                way == Way::kGetMany ? "get" : "set"}});
    if (!text) return std::unexpected(text.error());
    return ParseRedisBenchmark(*text, way == Way::kGetMany ? "GET" : "SET");
  }

  RedisServer server_;
  std::array<double, kWayNames.size()> rates_{};
};

}  // namespace

std::expected<double, Error> ParseRedisBenchmark(std::string_view text, std::string_view test) {
  const std::string start = fmt::format("\"{}\",\"", test);
  const size_t at = text.find(start);
  double rate = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + start.size(), text.data() + text.size(), rate);
  }
  if (rate > 0) return rate;
  return Fail(Code::kProtocol, "redis-benchmark printed no rate");
}

StartedPeer StartRedisBenchmark(const Work& work, const PeerPlace& place) {
  auto benchmark = std::make_unique<RedisBenchmark>(work, place);
  if (auto opened = benchmark->Open(); !opened) return std::unexpected(opened.error());
  return benchmark;
}

StartedPeer StartRedis(const Work& work, const PeerPlace& place) {
  auto server = std::make_shared<RedisServer>(place, "redis");
  auto client = server->Start();
  if (!client) return std::unexpected(client.error());
  auto redis = std::make_unique<Redis>(work, std::move(server), std::move(*client));
  if (auto filled = redis->Do(Way::kPutMany, {0, work.count()}); !filled) {
    return std::unexpected(filled.error());
  }
  return redis;
}

}  // namespace plov::bench
