// Exhaustive: every interleaving of one write with one GET, for cases that are small enough.
//
// The server makes one write; before it, after each of its stores and after it the GET's READs get
// any number of steps that can make a difference, Case::steps in all; the rest follows the write.
// Each READ is an instant, or two (Case::cut). Every way to distribute the steps is run once, each
// in a world of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/network.h"

namespace plov::sim {

// Choices that are made anew in each run until every combination was.
class Choices {
 public:
  // 0 .. count - 1, in the order of the calls of a run.
  uint32_t Choose(uint32_t count);
  // Makes the next combination the current one; false when all have been.
  bool Advance();

 private:
  struct Choice {
    uint32_t taken;
    uint32_t count;
  };
  std::vector<Choice> path_;
  size_t at_ = 0;
};

struct Case {
  enum class Write : uint8_t { kPutNew, kOverwrite, kDelete };

  uint64_t seed = 1;  // of hash function, sizes and the halves' order
  uint32_t items = 4;
  Write write = Write::kOverwrite;
  bool same_key = true;       // the GET's key is the write's
  uint32_t value_bytes = 16;  // 16 is inline, 40 a record
  Cut cut = Cut::kWhole;
  uint32_t steps = 4;
  bool known = false;  // the client has found the key before
};

struct CaseResult {
  uint64_t interleavings = 0;
  uint64_t stores = 0;         // of the write
  uint64_t displacements = 0;  // of the write
  uint64_t torn = 0;           // READs, in all interleavings
  uint64_t hits = 0;
  uint64_t misses = 0;
  std::string verdict;  // empty: all were right
};

CaseResult RunCase(const Case& what);

}  // namespace plov::sim
