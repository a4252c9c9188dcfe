// RedisProtocol: Redis's protocol of one connection, from bytes to requests.
//
// Threads: a worker's; the factory any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "door/protocol.h"
#include "door/redis/command.h"
#include "door/redis/multi.h"
#include "door/redis/resp_reader.h"

namespace plov::door::redis {

class RedisProtocol final : public Protocol {
 public:
  RedisProtocol(Connection* connection, const RedisOptions& options, uint64_t id);

  size_t Take(std::string_view input) override;
  bool is_answering() const override { return call_.has_value(); }
  std::span<char> wanted() override { return reader_.wanted(); }
  void Filled(size_t bytes) override { reader_.Filled(bytes); }
  size_t bytes() const override {
    return reader_.bytes() + session_.name.capacity() + multi_.bytes();
  }

 private:
  // What was added refers to the input until the end of the turn; a command of many keys is added in pieces, and the
  // last byte of its request stays untaken until then.
  static constexpr size_t kKeysInOnePiece = 256;

  void Run();
  void RunCommand(const Command* command);
  void Queue(const Command* command);
  bool HasMemory();
  void RefuseArity(const Command& command);
  void Refuse(std::string_view text);
  void RefuseForMemory();
  std::string UnknownText() const;
  void EndRequest();

  Connection* connection_;
  const RedisOptions& options_;
  Session session_;
  Multi multi_;
  RespReader reader_;
  std::optional<Call> call_;  // that is not over
};

class RedisFactory final : public ProtocolFactory {
 public:
  explicit RedisFactory(RedisOptions options) : options_(std::move(options)) {}

  std::unique_ptr<Protocol> Make(Connection* connection) const override {
    // Numbers that stand alone, so relaxed is enough.
    return std::make_unique<RedisProtocol>(connection, options_,
                                           1 + ids_.fetch_add(1, std::memory_order_relaxed));
  }
  std::string_view too_many_connections() const override {
    return "-ERR max number of clients reached\r\n";
  }

 private:
  const RedisOptions options_;
  mutable std::atomic<uint64_t> ids_ = 0;
};

}  // namespace plov::door::redis
