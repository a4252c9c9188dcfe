// PendingWrites: writes that are in the log and not yet in the table, in the order of the log (strict; rule D3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "server/writing.h"
#include "verify/bucket.h"

namespace plov::server {

// A write that is in the log and not yet in the table.
struct PendingWrite {
  uint64_t batch;
  uint64_t version;
  uint64_t hash;
  std::string key;
  std::optional<verify::Bucket> item;  // none: it is deleted
  bool inserts;                        // the key will be absent: room in the stash is kept for it
  size_t payload_bytes;
  uint32_t expiry;
  std::optional<Writing::Place> place;  // of its record, pinned
  bool awaited = false;  // a write waits until it is published, and so do those after it
  size_t together = 1;   // so many writes are published together, of which it is the first
};

class PendingWrites {
 public:
  // together: it is the first of so many that are published together.
  void Add(PendingWrite write, size_t together = 1) {
    write.together = together;
    last_[write.hash] = first_number_ + writes_.size();
    inserts_ += write.inserts;
    writes_.push_back(std::move(write));
  }
  const PendingWrite& first() const { return writes_.front(); }
  void RemoveFirst() {
    if (const auto it = last_.find(first().hash); it->second == first_number_) last_.erase(it);
    inserts_ -= first().inserts;
    writes_.pop_front();
    ++first_number_;
  }

  bool empty() const { return writes_.empty(); }
  size_t size() const { return writes_.size(); }
  // The last one of a key with this hash; nullptr: there is none.
  PendingWrite* Last(uint64_t hash) {
    if (empty()) return nullptr;
    const auto it = last_.find(hash);
    return it == last_.end() ? nullptr : &writes_[it->second - first_number_];
  }
  // The batch of the oldest; UINT64_MAX: there is none.
  uint64_t first_batch() const { return empty() ? UINT64_MAX : first().batch; }
  // Those that `insert`.
  uint64_t inserts() const { return inserts_; }

 private:
  std::deque<PendingWrite> writes_;
  uint64_t first_number_ = 0;                    // of the oldest; the next ones are counted on
  std::unordered_map<uint64_t, uint64_t> last_;  // by hash, the number of the last one
  uint64_t inserts_ = 0;
};

}  // namespace plov::server
