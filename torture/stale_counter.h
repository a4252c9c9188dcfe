// Stale counter: how many GETs of any replica found what had been overwritten before they began.
//
//   StaleCounter counter;
//   counter.Feed(operation);   // every operation once, in any order, when it has ended
//   counter.Advance(horizon);  // often: no later operation starts before `horizon`
//   counter.Finish();
//
// A hit is stale when a store of a higher version had been acknowledged before the GET began. What a
// miss, or a hit after a DELETE, has missed has no version: these are not counted.
//
// Memory:  a map's entry a key, and what the horizon has not passed.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

class StaleCounter {
 public:
  void Feed(const Operation& operation);
  void Advance(Instant horizon);
  void Finish() { Advance(kForever); }

  uint64_t gets() const { return gets_; }  // that were answered, without the tool's own
  uint64_t stale() const { return stale_; }

 private:
  // The end of a store, or the start of a GET that hit.
  struct Event {
    Instant time = 0;
    uint64_t key = 0;
    uint64_t version = 0;
    bool is_get = false;
  };

  std::vector<Event> waiting_;
  std::unordered_map<uint64_t, uint64_t> newest_;  // acknowledged, by key
  uint64_t gets_ = 0;
  uint64_t stale_ = 0;
};

}  // namespace plov::torture
