// Transaction: a COMMIT under way in a shard (verify/transaction.h): its PUTs are placed, one after the other, then all is
// applied at once or nothing is (Store::CommitTogether).
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/sessions.h"
#include "server/store.h"
#include "verify/message.h"
#include "verify/transaction.h"

namespace plov::server {

class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { Reset(); }

  // False: no client of ours sends this to this shard. request: its strings stay until Reset; store: outlives it.
  bool Open(const verify::Request& request, uint64_t client_id, Store* store);
  bool is_open() const { return store_ != nullptr; }
  const verify::Transaction& all() const { return all_; }

  // What there is to do now. nullopt: again. may_wait: as RoomSearch's.
  std::optional<WriteReply> Go(uint64_t now_us, bool may_wait);
  // Whether that is because memory is awaited.
  bool waits() const;

  // It is over, or given up: what is placed and was not applied is free.
  void Reset() {
    if (is_open()) Drop();
  }

 private:
  void Drop();

  Store* store_ = nullptr;
  verify::Transaction all_;
  std::vector<Store::Writing> writings_;  // of its writes
  size_t placed_ = 0;
  RoomSearch room_;  // in the table
};

}  // namespace plov::server
