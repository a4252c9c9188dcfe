// The probes of `plov doctor`: each looks at a few things and says what it found. None needs a
// server or a right that users do not have, and none changes anything; ProbeLog writes to a file
// that has no name.
// memory_bytes: the --memory of the server that there is or shall be.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "client/cli/finding.h"
#include "cluster/values.h"
#include "program/machine.h"

namespace plov::cli {

// The addresses and the sparse file that a server's --memory lies in (server/region.h).
constexpr uint64_t AddressBytes(uint64_t memory_bytes) {
  constexpr uint64_t kTimes = 3;
  return memory_bytes > UINT64_MAX / kTimes ? UINT64_MAX : kTimes * memory_bytes;
}

// The server at `uri`, its socket and the folder of the socket.
void ProbeServer(const std::string& uri, std::chrono::microseconds timeout, Findings* findings);
void ProbeRuntimeFolder(const std::string& uri, Findings* findings);

// How long a connection and READs take, on whatever fabric.
void ProbeReads(const std::string& uri, std::chrono::microseconds timeout, Findings* findings);

// Shared memory: whether it can be made, how much there is, in which pages.
void ProbeSharedMemory(Findings* findings);
void ProbeMemory(const program::Machine& machine, uint64_t memory_bytes, Findings* findings);
void ProbePages(const program::Machine& machine, uint64_t memory_bytes, Findings* findings);

// A cluster with its coordinator, and its servers. ProbeValues: what the coordinator holds of it.
void ProbeCluster(const std::string& uri, const std::string& auth_file,
                  std::chrono::microseconds timeout, Findings* findings);
void ProbeValues(const cluster::Values& values, const std::string& uri, Findings* findings);

// What ulimit limits.
void ProbeLimits(uint64_t memory_bytes, Findings* findings);

// The folder of plovd --log, and the disk below it.
void ProbeLog(const program::Machine& machine, const std::string& folder, uint64_t memory_bytes,
              Findings* findings);

// The kernel, processors and clock.
void ProbeKernel(const program::Machine& machine, Findings* findings);
void ProbeProcessors(const program::Machine& machine, Findings* findings);

// RDMA devices and what they need, locked memory among it.
void ProbeRdma(const program::Machine& machine, const std::string& uri, uint64_t memory_bytes,
               Findings* findings);

}  // namespace plov::cli
