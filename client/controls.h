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

#include "client/life.h"
#include "verify/message.h"

namespace plov {

class Controls {
 public:
  struct Reply {
    std::string text;
    uint64_t version = 0;
  };
  using Result = std::expected<std::vector<Reply>, Error>;  // by shard

  // Asks the first `shards_max` shards, or all where there are not so many. What the request refers to
  // stays until End.
  void Begin(const verify::Request& request, uint32_t shards_max);
  // Replies that are still to come are nobody's.
  void End() { Begin({}, 0); }

  // Sends what has not been sent, where there is room.
  void Send(Life* life);
  // False when the reply belongs to somebody else.
  bool OnReply(uint32_t shard, const verify::Reply& reply);
  // The connections were made anew: what was sent has no reply any more.
  void OnReconnect();

  // Every shard has replied, or one has refused.
  bool done() const { return error_ || (!asked_.empty() && left_ == 0); }
  // Needs done().
  Result Take();

 private:
  struct Asked {
    uint64_t id = 0;  // of the request; 0: not sent
    bool is_answered = false;
  };

  verify::Request request_;
  uint32_t shards_max_ = 0;
  std::vector<Asked> asked_;  // by shard; empty until there is a connection to tell how many
  std::vector<Reply> replies_;
  size_t left_ = 0;
  std::optional<Error> error_;
};

}  // namespace plov
