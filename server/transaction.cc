#include "server/transaction.h"

#include <algorithm>
#include <utility>

namespace plov::server {

using verify::Operation;

bool Transaction::Open(const verify::Request& request, uint64_t client_id, Store* store) {
  if (request.rendezvous || request.conditional) return false;
  auto decoded = verify::DecodeTransaction(request.value);
  const auto owns = [store](const auto& one) { return store->Owns(one.key); };
  if (!decoded || !std::ranges::all_of(decoded->reads, owns) ||
      !std::ranges::all_of(decoded->writes, owns)) {
    return false;
  }
  store_ = store;
  all_ = std::move(*decoded);
  for (verify::Request& write : all_.writes) write.sequence = request.sequence;
  writings_.resize(all_.writes.size());
  for (Store::Writing& writing : writings_) writing.client_id = client_id;
  placed_ = 0;
  room_ = {.means = RoomSearch::Means::kExpired};
  return true;
}

std::optional<WriteReply> Transaction::Go(uint64_t now_us, bool may_wait) {
  room_.may_wait = may_wait;
  for (; placed_ < writings_.size(); ++placed_) {
    const verify::Request& write = all_.writes[placed_];
    if (write.operation == Operation::kDelete) continue;
    Store::Writing& writing = writings_[placed_];
    writing.room.may_wait = may_wait;
    const auto status = store_->Place(write, now_us, &writing);
    if (!status) return std::nullopt;
    if (*status != Code::kOk) return store_->Refusal(*status);
  }
  return store_->CommitTogether({.reads = all_.reads, .writes = all_.writes, .writings = writings_},
                                now_us, &room_);
}

bool Transaction::waits() const {
  return room_.waits() || (placed_ < writings_.size() && writings_[placed_].room.waits());
}

void Transaction::Drop() {
  for (Store::Writing& writing : writings_) store_->Abandon(&writing);
  writings_.clear();
  all_ = {};
  store_ = nullptr;
}

}  // namespace plov::server
