// The probes of `plov doctor`: each looks at a few things and says what it found. None needs a
// server or a right that users do not have, and none changes anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "client/cli/finding.h"
#include "client/cli/machine.h"

namespace plov::cli {

// What plovd takes when it is given no --memory.
inline constexpr uint64_t kDefaultMemoryBytes = uint64_t{1} << 30;
// The addresses and the sparse file that it lies in (server/region.h).
inline constexpr uint64_t kDefaultAddressBytes = 3 * kDefaultMemoryBytes;

// The server at `uri`, its socket and the folder of the socket.
void ProbeServer(const std::string& uri, std::chrono::microseconds timeout, Findings* findings);
void ProbeRuntimeFolder(const std::string& uri, Findings* findings);

// Shared memory: whether it can be made, how much there is, in which pages.
void ProbeSharedMemory(Findings* findings);
void ProbeMemory(const Machine& machine, Findings* findings);
void ProbePages(const Machine& machine, Findings* findings);

// What ulimit limits.
void ProbeLimits(Findings* findings);

// The kernel, processors, clock and RDMA devices.
void ProbeKernel(const Machine& machine, Findings* findings);
void ProbeProcessors(const Machine& machine, Findings* findings);
void ProbeDevices(const Machine& machine, Findings* findings);

}  // namespace plov::cli
