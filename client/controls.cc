#include "client/controls.h"

#include <algorithm>
#include <utility>

#include "client/write_queue.h"

namespace plov {

void Controls::Begin(const verify::Request& request, uint32_t shards_max) {
  request_ = request;
  shards_max_ = shards_max;
  asked_.clear();
  replies_.clear();
  left_ = 0;
  error_.reset();
}

void Controls::Send(Life* life) {
  if (asked_.empty()) {
    const size_t count = std::min(shards_max_, life->shard_count());
    replies_.resize(count);
    asked_.resize(count);
    left_ = count;
  }
  for (uint32_t shard = 0; shard < asked_.size(); ++shard) {
    if (asked_[shard].id != 0) continue;
    verify::Request request = request_;
    request.request_id = life->link(shard).NextControlId();
    if (life->link(shard).SendControl(request)) asked_[shard].id = request.request_id;
  }
}

bool Controls::OnReply(uint32_t shard, const verify::Reply& reply) {
  if (shard >= asked_.size()) return false;
  Asked& asked = asked_[shard];
  if (asked.id != reply.request_id || asked.is_answered) return false;
  if (reply.status == Code::kOk) {
    replies_[shard] = {std::string(reply.value), reply.version};
  } else if (!error_) {
    error_ = reply.value.empty() ? ErrorOfStatus(reply.status, reply.version)
                                 : Error{reply.status, std::string(reply.value)};
  }
  asked.is_answered = true;
  --left_;
  return true;
}

// The next connections may be to a server with other shards.
void Controls::OnReconnect() {
  const bool was_sent =
      std::ranges::any_of(asked_, [](const Asked& asked) { return asked.id != 0; });
  if (was_sent && !done()) error_ = Error{Code::kUnavailable, "the server went away"};
  if (!was_sent) Begin(request_, shards_max_);
}

Controls::Result Controls::Take() {
  if (error_) return std::unexpected(std::move(*error_));
  return std::move(replies_);
}

}  // namespace plov
