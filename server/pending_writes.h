// PendingWrites: writes that are in the log and not yet in the table, in the order of the log (strict; rule D3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
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
  bool inserts;                        // the key was absent: room in the stash is kept for it
  size_t payload_bytes;
  uint32_t expiry;
  std::optional<Writing::Place> place;  // of its record, pinned
};

// At most one of each key.
class PendingWrites {
 public:
  void Add(PendingWrite write) {
    hashes_.insert(write.hash);
    inserts_ += write.inserts;
    writes_.push_back(std::move(write));
  }
  const PendingWrite& first() const { return writes_.front(); }
  void RemoveFirst() {
    hashes_.erase(first().hash);
    inserts_ -= first().inserts;
    writes_.pop_front();
  }

  bool empty() const { return writes_.empty(); }
  size_t size() const { return writes_.size(); }
  // Of a key with this hash.
  bool Has(uint64_t hash) const { return hashes_.contains(hash); }
  // The batch of the oldest; UINT64_MAX: there is none.
  uint64_t first_batch() const { return empty() ? UINT64_MAX : first().batch; }
  // Those that `insert`.
  uint64_t inserts() const { return inserts_; }

 private:
  std::deque<PendingWrite> writes_;
  std::unordered_set<uint64_t> hashes_;
  uint64_t inserts_ = 0;
};

}  // namespace plov::server
