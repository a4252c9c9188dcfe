// Shard: commands of operators, which the main thread answers. No turn waits for that.

#include <algorithm>

#include "server/shard.h"

namespace plov::server {

using verify::Reply;
using verify::Request;

Shard::Outcome Shard::HandleCommand(Peer* peer, size_t room, Reply* reply) {
  if (commands_ == nullptr) {
    reply->status = Code::kInvalidArgument;
    return Outcome::kDone;
  }
  Batch& batch = *peer->batch;
  if (batch.command == nullptr) {
    batch.command = std::make_shared<Command>();
    batch.command->name = batch.request->key;
    batch.command->argument = batch.request->value;
    batch.command->may_change =
        admission_ == nullptr || admission_->access().MayAdminister({.user = peer->owner.user});
    commands_->Post(batch.command);
  }
  if (!batch.command->is_answered.load(std::memory_order_acquire)) return Outcome::kAsks;
  reply->status = batch.command->status;
  const size_t fits = std::max(room, verify::ReplyBytes(0)) - verify::ReplyBytes(0);
  reply->value = std::string_view(batch.command->text).substr(0, fits);
  reply->value_bytes = static_cast<uint32_t>(reply->value.size());
  return Outcome::kDone;
}

}  // namespace plov::server
