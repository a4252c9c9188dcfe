#include "client/controls.h"

#include <algorithm>
#include <utility>

#include "client/write_queue.h"

namespace plov {

void Controls::Begin(const verify::Request& request, To to) {
  request_ = request;
  to_ = to;
  asked_.clear();
  replies_.clear();
  left_ = 0;
  error_.reset();
}

void Controls::Choose(const Peers& peers) {
  if (to_ == To::kShardOfKey) asked_ = {{.shard = peers.ShardOf(peers.HashOf(request_.key))}};
  for (uint32_t shard = 0; to_ != To::kShardOfKey && shard < peers.shard_count(); ++shard) {
    const bool is_asked = to_ == To::kAll ? peers.is_wanted(shard) : peers.link(shard) != nullptr;
    if (is_asked) asked_.push_back({.shard = shard});
    if (to_ == To::kOne && is_asked) break;
  }
  replies_.resize(asked_.size());
  left_ = asked_.size();
}

void Controls::Send(const Peers& peers) {
  if (peers.live().empty()) return;
  if (asked_.empty()) Choose(peers);
  for (Asked& asked : asked_) {
    Link* link = peers.link(asked.shard);
    if (asked.id != 0 || link == nullptr) continue;
    verify::Request request = request_;
    request.request_id = link->NextControlId();
    if (link->SendControl(request)) asked.id = request.request_id;
  }
}

const Error* Controls::WhyNotAsked(const Peers& peers) const {
  if (asked_.empty()) return peers.down(0);
  for (const Asked& asked : asked_) {
    if (asked.id == 0 && peers.down(asked.shard) != nullptr) return peers.down(asked.shard);
  }
  return nullptr;
}

bool Controls::OnReply(uint32_t shard, const verify::Reply& reply) {
  const auto at = std::ranges::lower_bound(asked_, shard, {}, &Asked::shard);
  if (at == asked_.end() || at->shard != shard) return false;
  if (at->id != reply.request_id || at->is_answered) return false;
  if (reply.status == Code::kOk) {
    replies_[static_cast<size_t>(at - asked_.begin())] = {std::string(reply.value), reply.version,
                                                          reply.number};
  } else if (!error_) {
    error_ = reply.value.empty() ? ErrorOfStatus(reply.status, reply.version)
                                 : Error{reply.status, std::string(reply.value)};
  }
  at->is_answered = true;
  --left_;
  return true;
}

// Where nothing was sent yet, the next connections may be to a server with other shards. Of a shard of a cluster the next
// primary answers for the former one; and what only READs can be asked of any.
void Controls::OnDown(const Peer& peer) {
  using verify::Operation;
  const bool is_asked_again =
      request_.operation == Operation::kSync || request_.operation == Operation::kStats;
  const bool asks_next =
      (peer.target().part && is_asked_again) || verify::IsOfVector(request_.operation);
  size_t sent = 0, unanswered = 0;
  for (Asked& asked : asked_) {
    if (asked.shard - peer.first_shard() >= peer.shard_count()) continue;
    if (asks_next && !asked.is_answered) asked.id = 0;
    sent += asked.id != 0;
    unanswered += !asked.is_answered;
  }
  if (sent > 0 && unanswered > 0 && !error_) {
    error_ = Error{Code::kUnavailable, "the server went away"};
  }
  const bool is_new = std::ranges::all_of(asked_, [](const Asked& asked) { return asked.id == 0; });
  if (is_new) Begin(request_, to_);
}

Controls::Result Controls::Take() {
  if (error_) return std::unexpected(std::move(*error_));
  return std::move(replies_);
}

}  // namespace plov
