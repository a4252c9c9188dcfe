#include "server/stream_link.h"

#include <tuple>
#include <utility>

#include "fabric/os.h"

namespace plov::server {

void StreamLink::Send(std::vector<std::byte> message) {
  const size_t bytes = message.size();
  Connect();
  const bool has_room = waiting_.empty() || waiting_bytes_ + bytes <= waiting_bytes_max_;
  if (!is_up() || !has_room) return;
  waiting_.push_back({cluster::PartWriter(std::move(message)), bytes});
  waiting_bytes_ += bytes;
  SendParts();
}

bool StreamLink::Step() {
  if (!is_up()) {
    Take();
    return is_up();
  }
  if (!connection_->alive()) {
    connection_.reset();
    waiting_.clear();
    waiting_bytes_ = 0;
    has_ended_ = true;
    dialer_->Ask(shard_);
    return true;
  }
  bool did = false;
  while (connection_->Receive()) did = true;  // there is room for more
  if (did && !waiting_.empty() && waiting_.front().parts.has_begun()) has_moved_ = true;
  return SendParts() || did;
}

void StreamLink::Connect() {
  if (!is_up()) Take();
  if (!is_up()) dialer_->Ask(shard_);
}

void StreamLink::Take() {
  connection_ = dialer_->Take(shard_);
  if (!is_up()) return;
  has_ended_ = false;
  if (epoll_fd_ >= 0) std::ignore = fabric::Watch(epoll_fd_, connection_->fd());
}

bool StreamLink::TakeLoss() {
  const bool is_lost = has_ended_ && dialer_->IsAway(shard_);
  if (is_lost) has_ended_ = false;
  return is_lost;
}

bool StreamLink::SendParts() {
  bool did = false;
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (!connection_->Send(first.parts.Next(connection_->limits().message_bytes_max))) break;
    did = true;
    first.parts.Taken();
    if (!first.parts.done()) continue;
    waiting_bytes_ -= first.bytes;
    waiting_.pop_front();
  }
  return did;
}

}  // namespace plov::server
