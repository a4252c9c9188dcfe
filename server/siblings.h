// Siblings: the stores of one server's shards, for COMMITs that read and write several of them.
//
// Thread safety: any, where Turns are held for the stores; it does not change.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cuckoo/hash.h"
#include "server/store.h"
#include "server/turn_lock.h"

namespace plov::server {

class Siblings {
 public:
  struct Sibling {
    Store* store;
    TurnLock* turn;
    std::function<void()> on_commit;  // its store has changed; in its turn
  };

  // All of a server's, by number; they outlive this.
  explicit Siblings(std::vector<Sibling> all) : all_(std::move(all)) {}

  uint32_t Of(std::string_view key) const {
    const uint64_t seed = all_.front().store->superblock().hash_seed;
    return cuckoo::ShardOf(cuckoo::HashKey(key, seed), static_cast<uint32_t>(all_.size()));
  }
  Store* StoreOf(uint32_t number) const { return all_[number].store; }

  // The turn in each of these, from the least number on, so that no two wait for each other. Whoever asks is in no
  // turn.
  class Turns {
   public:
    Turns(const Siblings* of, std::span<const uint32_t> ascending) : of_(of), numbers_(ascending) {
      for (const uint32_t number : numbers_) of_->all_[number].turn->lock();
    }
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;
    ~Turns() {
      for (const uint32_t number : numbers_) {
        of_->all_[number].on_commit();
        of_->all_[number].turn->unlock();
      }
    }

   private:
    const Siblings* of_;
    std::span<const uint32_t> numbers_;
  };

 private:
  std::vector<Sibling> all_;
};

}  // namespace plov::server
