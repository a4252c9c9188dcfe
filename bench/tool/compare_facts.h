// Facts: what a comparison says that is no ratio of rates, each a row of its table.
//
// Threads: as torture::Process, the main thread.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

#include "bench/peers/plov.h"
#include "bench/tool/compare_study.h"
#include "torture/own_server.h"

namespace plov::bench {

// Of a server whose clients get: its CPU time meanwhile, what they get while it is stopped, and its
// CPU time when nobody asks. Errors: GETs that fail while it runs.
std::expected<std::vector<GoalRow>, Error> ServerFacts(torture::Process* server, Plov* cold,
                                                       Plov* known,
                                                       const CompareSettings& settings);

// READs, of small servers of their own whose tables are filled to 75 %. `folder`: theirs.
std::expected<std::vector<GoalRow>, Error> ReadFacts(const std::string& plovd,
                                                     const std::string& folder);

// How full a table of so many buckets can be before a PUT needs it to grow, in percent.
double FillOfTable(uint64_t buckets, uint64_t seed);
GoalRow FillFact();

// GETs over an RDMA device beside perftest, where there is one.
GoalRow WireFact(const CompareSettings& settings);

}  // namespace plov::bench
