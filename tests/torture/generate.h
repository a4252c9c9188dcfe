// Histories for the checkers' tests, made from seeds.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

using Random = std::mt19937_64;

inline uint64_t Below(Random* random, uint64_t limit) { return (*random)() % limit; }
inline bool Chance(Random* random, uint64_t percent) { return Below(random, 100) < percent; }

// How a generated history looks; chances in percent.
struct Shape {
  uint32_t processes = 3;
  uint32_t operations = 12;  // together
  Instant length = 8;        // of an operation, at most
  Instant pause = 4;         // between two of a process, at most
  uint64_t gets = 40;
  uint64_t deletes = 15;
  uint64_t conditions = 20;  // of the writes: ADD, REPLACE, by version
  uint64_t unknown = 10;     // of the writes
  uint64_t kills = 2;        // of all: the process ends in the middle
  uint64_t refused = 3;
  uint64_t told = 30;    // DELETE, kExists and kMismatch say the version they met
  bool foreign = false;  // the key holds a foreign value before
};

Shape RandomShape(Random* random);
inline Initial InitialOf(const Shape& shape) {
  return shape.foreign ? Initial::kAnything : Initial::kAbsent;
}

// A right history: operations take effect at random instants of their intervals, unknown ones at
// once, late or never.
std::vector<Operation> GoodHistory(const Shape& shape, Random* random);

// A few operations with fields drawn from few instants, versions and values: right or wrong.
std::vector<Operation> AnyHistory(Random* random);

// Whether every unknown conditional operation expects a version that some other operation tells:
// what histories must be (torture/history.h).
bool ExpectsWhatIsTold(const std::vector<Operation>& history);

std::string Show(const std::vector<Operation>& history);

}  // namespace plov::torture
