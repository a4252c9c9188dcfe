// Transaction: a COMMIT under way in a shard (verify/transaction.h): its PUTs are placed, one after the other, then all is
// applied at once or nothing is (W12). Its keys are the shard's, or also its siblings'.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/sessions.h"
#include "server/siblings.h"
#include "server/store.h"
#include "verify/message.h"
#include "verify/transaction.h"

namespace plov::server {

class Transaction {
 public:
  Transaction() = default;
  Transaction(Transaction&&) = default;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() { Reset(); }

  // False: no client of ours sends this to this shard. request: its strings stay until Reset. own: the shard's store.
  // siblings: null if it takes no keys but its own. They outlive this.
  bool Open(const verify::Request& request, uint64_t client_id, Store* own,
            const Siblings* siblings = nullptr);
  bool is_open() const { return !parts_.empty(); }

  // Of one shard: what there is to do now. nullopt: again. may_wait: as RoomSearch's, in the shard itself.
  std::optional<WriteReply> Go(uint64_t now_us, bool may_wait);
  // Whether that is because memory is awaited.
  bool waits() const;

  // Of several: as much, in the turns of all of them, so in none of the shard's. Then answer() is there, or again.
  bool is_of_several() const { return parts_.size() > 1; }
  void GoInTurns(uint64_t now_us, bool may_wait);
  const std::optional<WriteReply>& answer() const { return answer_; }
  // Before Reset where there is no answer: what is placed is free. request's strings may be gone.
  void GiveUpInTurns();
  // What one shard is to do.
  Store::Together together() { return parts_.front().together(); }

  // It is over, or given up: what one shard has placed and was not applied is free.
  void Reset();

 private:
  // What is of one store.
  struct Part {
    Store* store;
    bool is_own = false;
    std::vector<verify::TransactionRead> reads = {};
    std::vector<verify::Request> writes = {};
    std::vector<Store::Writing> writings = {};  // of its writes
    size_t placed = 0;
    size_t staged = 0;
    RoomSearch room = {.means = RoomSearch::Means::kExpired};  // in the table

    Store::Together together() { return {reads, writes, writings}; }
    std::optional<Code> Place(uint64_t now_us, bool may_wait);
    void Abandon();
    bool waits() const;
  };

  bool TakeKey(std::string_view key, const Store& own);
  void MakeParts(Store* own);
  Part* PartOf(std::string_view key);
  uint64_t Stage(uint64_t now_us);
  void Publish(uint64_t version);

  const Siblings* siblings_ = nullptr;
  std::vector<uint32_t> numbers_;  // of its shards, ascending; empty: its own alone
  std::vector<Part> parts_;        // of these
  std::vector<Part*> order_;       // of the writes
  std::optional<WriteReply> answer_;
};

}  // namespace plov::server
