// RedisServer: a Redis of the tool's own, on a private socket, that keeps nothing; RedisClient: a
// connection to one.
//
// Threads: one for each.
#pragma once

#include <hiredis/hiredis.h>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/peers/work.h"
#include "program/process.h"
#include "verify/error.h"

namespace plov::bench {

struct RedisReplyDeleter {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, RedisReplyDeleter>;

class RedisClient {
 public:
  // Errors: kUnavailable.
  static std::expected<RedisClient, Error> Connect(const std::string& socket);

  // What is appended goes out with the next reply that is asked for; replies come in that order.
  void AppendGet(std::string_view key);
  void AppendSet(std::string_view key, std::string_view value);
  // Errors: kSystem (the connection broke), kProtocol (Redis said no).
  std::expected<RedisReply, Error> Next();
  std::expected<void, Error> NextDone();  // of a SET

 private:
  struct ContextDeleter {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };

  std::unique_ptr<redisContext, ContextDeleter> context_;
};

class RedisServer {
 public:
  // The socket and what Redis writes lie in `folder`, as `name`.
  RedisServer(const std::string& folder, const std::string& name)
      : folder_(folder), socket_(folder + "/" + name + ".sock") {}

  // Returns the first client. Errors: kUnavailable (it is not installed), kSystem.
  std::expected<RedisClient, Error> Start();

  const std::string& socket() const { return socket_; }

 private:
  std::string folder_;
  std::string socket_;
  std::optional<program::Process> process_;
};

}  // namespace plov::bench
