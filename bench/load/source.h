// Source: a client's own part of a workload, operation by operation.
//
// Threads: one each.
// Cost:    a few dozen nanoseconds an operation, and what its value takes to write; nothing is
//          allocated once the strings of an Operation have grown.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/load/choice.h"
#include "bench/load/workload.h"
#include "program/random.h"

namespace plov::bench {

class Source {
 public:
  // That of client `index` of `clients`, which insert items of their own: number items + index,
  // then clients more each time. They share a replay by the hash of the key, so that requests for
  // the same key keep their order.
  Source(const Workload& workload, uint32_t index, uint32_t clients, uint64_t seed);

  // Writes the next operation over `operation`. False: the replay is over.
  bool Next(Operation* operation);

  // There are this many items now, from which the next may be chosen.
  void GrowTo(uint64_t items) { choice_.GrowTo(items); }

  // Whether `value` is what all clients write for this operation's key.
  bool IsRight(const Operation& operation, std::string_view value) const;

 private:
  void Generate(Operation* operation);
  bool NextOfReplay(Operation* operation);
  Kind NextKind();

  const Workload& workload_;
  Items items_;
  uint64_t next_insert_;
  uint32_t clients_;
  program::Random random_;
  Choice choice_;
  std::array<uint64_t, kKinds> limits_{};  // of the random number, for each kind
  std::vector<size_t> lines_;              // of the replay, this client's
  size_t next_line_ = 0;
};

}  // namespace plov::bench
