// Parked: the GETs whose shard is not up, until it is or their deadlines end.
//
// Threads: the client's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "client/get.h"

namespace plov {

// A GET that has no place in the window.
struct QueuedGet {
  std::string_view key;
  GetSink sink;
  Deadline deadline;
  bool of_many = false;  // it is GetMany's, which has the sink but for the index
  Version refused = Get::kNotRefused;
};

class Parked {
 public:
  // Makes room for so many shards; never for less than there are.
  void Reserve(size_t shard_count) { shards_.resize(std::max(shards_.size(), shard_count)); }

  size_t count() const { return count_; }
  // False, and nothing has changed: memory ran out.
  bool Add(size_t shard, const QueuedGet& get) noexcept;
  // Those of the shards from the first on go to the front of a queue: they are older than what is there.
  void MoveTo(std::deque<QueuedGet>* queue, size_t first_shard, size_t shard_count);
  Deadline NextEvent(Deadline otherwise) const;

  // Takes those that are late out, and calls on_late(shard, QueuedGet) for each, which may add none.
  template <typename OnLate>
  void Expire(Deadline now, OnLate&& on_late) {
    for (size_t shard = 0; count_ > 0 && shard < shards_.size(); ++shard) {
      auto& gets = shards_[shard];
      const auto is_late = [now](const QueuedGet& get) { return get.deadline <= now; };
      if (gets.empty() || !is_late(gets.front())) continue;
      Remove(&gets, is_late, [&](const QueuedGet& get) { on_late(shard, get); });
    }
  }
  // The same of those that are GetMany's.
  template <typename OnRemoved>
  void RemoveMany(OnRemoved&& on_removed) {
    for (size_t shard = 0; count_ > 0 && shard < shards_.size(); ++shard) {
      Remove(
          &shards_[shard], [](const QueuedGet& get) { return get.of_many; }, on_removed);
    }
  }

 private:
  using Gets = std::vector<QueuedGet>;

  void Remove(Gets* gets, auto&& condition, auto&& on_removed) {
    count_ -= std::erase_if(*gets, [&](const QueuedGet& get) {
      if (!condition(get)) return false;
      on_removed(get);
      return true;
    });
  }

  std::vector<Gets> shards_;  // the oldest first
  size_t count_ = 0;
};

}  // namespace plov
