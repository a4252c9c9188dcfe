// Clusters: production caches at Twitter, as a public table describes them.
//
// Source: J. Yang, Y. Yue, R. Vinayak, "A large scale analysis of hundreds of in-memory cache
//         clusters at Twitter", OSDI 2020; data/README.md.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/error.h"

namespace plov::bench {

struct Cluster {
  uint32_t number = 0;
  uint32_t key_bytes = 0;    // in the mean
  uint32_t value_bytes = 0;  // in the mean
  // Names as memcached has them, and their parts of all; they add up to nearly one.
  std::vector<std::pair<std::string, double>> operations;
  std::optional<double> exponent;  // Zipf's; nullopt: the table has none
};

// The table as the project has it: a head, then a line for each cluster.
std::string_view ClustersCsv();

// kInvalidArgument, with the number of the line that is wrong.
std::expected<std::vector<Cluster>, Error> ParseClusters(std::string_view csv);

}  // namespace plov::bench
