// Warnings: what a shard's log says of its memory and its table, each thing once.
//
// Thread safety: one thread, the shard's.
#pragma once

#include <cstdint>

#include "server/fullness.h"
#include "server/store.h"

namespace plov::server {

class Warnings {
 public:
  // A host that gives no more memory. Cheap: for every turn.
  void LookAtHost(const Store& store) {
    if (store.region().host().episodes() != host_episodes_) TellHost(store);
  }

  // How full the memory is, and whether keys collide.
  void Look(const Store& store);

 private:
  void TellHost(const Store& store);
  void LookHowFull(const Store& store);
  void LookAtEviction(const Store& store);
  void LookAtStash(const Store& store);

  Fullness fullness_;
  uint64_t host_episodes_ = 0;  // of refusals, logged
  bool evicts_ = false;         // was logged
  uint64_t stashed_ = 0;        // items, when they were logged last
};

}  // namespace plov::server
