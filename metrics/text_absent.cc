// In place of the text where prometheus-cpp was not there when plov was built.

#include "metrics/text.h"

namespace plov::metrics {

std::expected<std::string, Error> PrometheusText(std::span<const verify::Counters>) {
  return Fail(Code::kSystem,
              "this plov was built without metrics for Prometheus: install prometheus-cpp-dev, and "
              "build it anew");
}

}  // namespace plov::metrics
