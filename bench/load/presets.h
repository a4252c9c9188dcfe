// Presets: workloads that have names.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load/workload.h"
#include "verify/error.h"

namespace plov::bench {

// A production cache at Twitter, as a public table describes it.
//
// Source: J. Yang, Y. Yue, R. Vinayak, "A large scale analysis of hundreds of in-memory cache
//         clusters at Twitter", OSDI 2020; data/README.md.
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

// As --help shows them.
inline constexpr std::string_view kPresetNames =
    "ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-f, herd-95, herd-50, counters, twitter:N";

// Sizes, mix and popularity; a number of items that makes about half a GiB, and a million at most.
// kInvalidArgument with a message that says which names there are, or why this one is not.
//
// Source: YCSB: Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, and the
//         files workloada..f of its repository. HERD: Kalia, Kaminsky, Andersen, "Using RDMA
//         Efficiently for Key-Value Services", SIGCOMM 2014. Twitter: see Cluster.
std::expected<Workload, Error> FindPreset(std::string_view name);

// kInvalidArgument: it has an operation that plov has nothing for.
std::expected<Workload, Error> WorkloadOf(const Cluster& cluster);

// As many items as make about half a GiB of keys and values, 1000 to a million.
uint64_t DefaultItems(const ItemShape& shape);

}  // namespace plov::bench
