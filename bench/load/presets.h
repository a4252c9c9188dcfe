// Presets: workloads that have names.
#pragma once

#include <expected>
#include <string_view>

#include "bench/load/clusters.h"
#include "bench/load/workload.h"

namespace plov::bench {

// As --help shows them.
inline constexpr std::string_view kPresetNames =
    "ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-f, herd-95, herd-50, twitter:N";

// Sizes, mix and popularity; a number of items that makes about half a GiB, and a million at most.
// kInvalidArgument with a message that says which names there are, or why this one is not.
//
// Source: YCSB: Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, and the
//         files workloada..f of its repository. HERD: Kalia, Kaminsky, Andersen, "Using RDMA
//         Efficiently for Key-Value Services", SIGCOMM 2014. Twitter: clusters.h.
std::expected<Workload, Error> FindPreset(std::string_view name);

// kInvalidArgument: it has an operation that plov has nothing for.
std::expected<Workload, Error> WorkloadOf(const Cluster& cluster);

// As many items as make about half a GiB of keys and values, 1000 to a million.
uint64_t DefaultItems(const ItemShape& shape);

}  // namespace plov::bench
