// Families: the counters of a server as Prometheus names and counts them: plov_..., in seconds, bytes and
// ratios, `_total` where a number only grows, with the shard as a label.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <string>
#include <vector>

#include "verify/counters.h"

namespace plov::metrics {

// "plov_cpu_seconds_total" for cpu_us.
std::string MetricName(const verify::CounterInfo& info);

// Of all shards, in their order; what no shard tells is left out.
std::vector<prometheus::MetricFamily> FamiliesOf(std::span<const verify::Counters> shards);

}  // namespace plov::metrics
