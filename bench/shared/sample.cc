#include "bench/shared/sample.h"

namespace plov::bench {

cli::Json JsonOf(const Sample& sample) {
  return {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

std::string SpreadOf(const Sample& sample, std::string (*shown)(double)) {
  return shown(sample.least()) + ".." + shown(sample.most());
}

}  // namespace plov::bench
