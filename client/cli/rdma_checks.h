// What the facts of a machine's RDMA mean for plov, and the commands that mend it. Pure functions:
// they look at nothing but the facts (and at whether this user is root, for "sudo").
#pragma once

#include <string>
#include <string_view>

#include "client/cli/finding.h"
#include "client/cli/rdma_facts.h"

namespace plov::cli {

// Everything on RDMA, the verdict last, as the subject "RDMA". A fault is a kProblem where RDMA is
// wanted and no device can serve or reach a server as it is, else a kNote: shm: needs no RDMA, and
// a second port that is down keeps nobody from the first.
void CheckRdma(const RdmaFacts& facts, Findings* findings);

// Whether RDMA works here: a device that can be opened, with a port that is up and an address.
bool IsReady(const RdmaFacts& facts);
// The same of one device, and the first URI that it can serve.
bool IsReady(const RdmaDevice& device, const RdmaFacts& facts);
std::string UriOf(const std::string& address);

// The commands that add a soft-RoCE link called `name` to a network interface of this machine, on
// one line.
std::string AddSoftRoce(const RdmaFacts& facts, std::string_view name);

// One device: whether it can be used, its ports, GIDs, MTU and limits.
void CheckRdmaDevice(const RdmaDevice& device, const RdmaFacts& facts, Findings* findings);

// A fault of RDMA: see CheckRdma.
void AddFault(const RdmaFacts& facts, Finding fault, Findings* findings);

}  // namespace plov::cli
