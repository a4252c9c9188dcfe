#include "metrics/text.h"

#include <prometheus/text_serializer.h>

#include "metrics/families.h"

namespace plov::metrics {

std::expected<std::string, Error> PrometheusText(std::span<const verify::Counters> shards) {
  return prometheus::TextSerializer().Serialize(FamiliesOf(shards));
}

}  // namespace plov::metrics
