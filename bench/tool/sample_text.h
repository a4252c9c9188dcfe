// A sample as reports show it.
#pragma once

#include <string>

#include "bench/tool/sample.h"
#include "client/cli/json.h"

namespace plov::bench {

// Median, least and most.
cli::Json JsonOf(const Sample& sample);

// "least..most", each as `shown` writes it.
std::string SpreadOf(const Sample& sample, std::string (*shown)(double));

}  // namespace plov::bench
