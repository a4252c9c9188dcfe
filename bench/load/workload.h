// Workload: which operations come how often, on which items.
//
// Threads: constant once made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "bench/load/choice.h"
#include "bench/load/items.h"
#include "bench/load/operation.h"
#include "bench/load/replay.h"

namespace plov::bench {

// Shares of the kinds; they need not add up to one.
struct Mix {
  std::array<double, kKinds> shares{};

  double& operator[](Kind kind) { return shares[static_cast<size_t>(kind)]; }
  double operator[](Kind kind) const { return shares[static_cast<size_t>(kind)]; }
  double total() const { return std::accumulate(shares.begin(), shares.end(), 0.0); }
  double part(Kind kind) const { return (*this)[kind] / total(); }
};

struct Workload {
  std::string name;
  ItemShape shape;
  uint64_t items = 0;
  Popularity popularity = Popularity::kUniform;
  double exponent = kYcsbExponent;
  Mix mix;
  // Instead of all of the above.
  std::shared_ptr<const Replay> replay;
  bool repeats = false;  // the replay, from its start when it is over

  // Keys and values of an item, in the mean.
  double item_bytes() const {
    if (replay) return replay->item_bytes();
    return shape.key_bytes +
           (static_cast<double>(shape.value_bytes_least) + shape.value_bytes_most) / 2;
  }
};

}  // namespace plov::bench
