// Controls: what one blocking call asks the server beside GETs and writes - a request to each of some
// shards - and their replies.
//
// Threads: the client's. Memory that runs out is thrown, and the call ends with it.
#pragma once

#include <plov/error.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "client/peers.h"
#include "verify/message.h"

namespace plov {

class Controls {
 public:
  struct Reply {
    std::string text;
    uint64_t version = 0;
    uint64_t number = 0;
  };
  using Result = std::expected<std::vector<Reply>, Error>;  // by shard

  enum class To {
    kAll,
    kOne,         // the first that is up
    kShardOfKey,  // the request's
  };

  // What the request refers to stays until End.
  void Begin(const verify::Request& request, To to);
  // Replies that are still to come are nobody's.
  void End() { Begin({}, To::kAll); }

  // Sends what has not been sent, where there is a connection and room.
  void Send(const Peers& peers);
  // False when the reply belongs to somebody else.
  bool OnReply(uint32_t shard, const verify::Reply& reply);
  // The peer is not up any more: what was sent there has no reply, and is sent again if the next one can answer it.
  void OnDown(const Peer& peer);

  // Why the next shard that was not asked is not up; null: none is waited for so.
  const Error* WhyNotAsked(const Peers& peers) const;

  // Every shard has replied, or one has refused.
  bool done() const { return error_ || (!asked_.empty() && left_ == 0); }
  // Needs done().
  Result Take();

 private:
  struct Asked {
    uint32_t shard = 0;
    uint64_t id = 0;  // of the request; 0: not sent
    bool is_answered = false;
  };

  void Choose(const Peers& peers);

  verify::Request request_;
  To to_ = To::kAll;
  std::vector<Asked> asked_;  // by shard; empty until there is a connection
  std::vector<Reply> replies_;
  size_t left_ = 0;
  std::optional<Error> error_;
};

}  // namespace plov
