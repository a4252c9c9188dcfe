#include "bench/load/workload.h"

#include <numeric>

namespace plov::bench {

double Mix::total() const { return std::accumulate(shares.begin(), shares.end(), 0.0); }

double Workload::item_bytes() const {
  if (replay) return replay->item_bytes();
  return shape.key_bytes +
         (static_cast<double>(shape.value_bytes_least) + shape.value_bytes_most) / 2;
}

}  // namespace plov::bench
