#include "client/parked.h"

#include <algorithm>
#include <new>
#include <span>

namespace plov {

bool Parked::Add(size_t shard, const QueuedGet& get) noexcept {
  try {
    shards_[shard].push_back(get);
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++count_;
  return true;
}

void Parked::MoveTo(std::deque<QueuedGet>* queue, size_t first_shard, size_t shard_count) {
  if (count_ == 0) return;
  for (Gets& gets : std::span(shards_).subspan(first_shard, shard_count)) {
    queue->insert(queue->begin(), gets.begin(), gets.end());
    count_ -= gets.size();
    gets = {};
  }
}

Deadline Parked::NextEvent(Deadline otherwise) const {
  if (count_ == 0) return otherwise;
  for (const Gets& gets : shards_) {
    if (!gets.empty()) otherwise = std::min(otherwise, gets.front().deadline);
  }
  return otherwise;
}

}  // namespace plov
