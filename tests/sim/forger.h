// Forger: a writer of keys of its own. Its values are full of records that it made of other keys, each
// as one lay in memory that may be used again by now, sealed under the seeds that all clients know. If
// such a value lay in memory as it was sent, who remembers a place there would take one for the key's
// (rules R4 and W11 of plov(7)).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/sim/random.h"
#include "tests/sim/server_process.h"

namespace plov::sim {

class Forger {
 public:
  explicit Forger(Random* random) : random_(random) {}

  static bool IsItsKey(std::string_view key) { return key.starts_with("forger:"); }

  // Between two turns of the server: looks at a bucket, as anybody may, or writes.
  void Step(ServerProcess* server, uint32_t value_bytes_max);

 private:
  using Words = std::vector<uint64_t>;

  void Look(const server::Store& store);
  std::string Value(size_t bytes) const;

  Random* random_;
  std::deque<Words> records_;
  uint64_t last_mask_ = 0;  // that was seen: perhaps the next one is the same
};

}  // namespace plov::sim
