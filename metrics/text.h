// Prometheus's text of the counters of a server.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "verify/counters.h"
#include "verify/error.h"

namespace plov::metrics {

// Of all shards, in their order. kSystem: this plov was built without prometheus-cpp.
std::expected<std::string, Error> PrometheusText(std::span<const verify::Counters> shards);

}  // namespace plov::metrics
