// Cut proxy: the way of a cluster's servers to their ZooKeeper, which can be cut. Each server has ports of its own for
// all members; while a CutTable has the server cut off from the ensemble, nothing passes, neither way, and no end is told.
//
// Threads: none; it is a process, started before there are threads (program/process.h).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "fabric/cut_switch.h"
#include "program/process.h"

namespace plov::torture {

class CutProxy {
 public:
  // For the hosts below `ensemble`, which the members are together. table: shared memory, outlives this. Errors: kSystem.
  static std::expected<CutProxy, Error> Start(const fabric::CutTable* table,
                                              fabric::HostId ensemble,
                                              const std::vector<uint16_t>& member_ports);

  // "zk://127.0.0.1:PORT,...", the host's way to the members; the root is to follow.
  const std::string& UriFor(fabric::HostId host) const { return uris_.at(host); }

 private:
  CutProxy(std::vector<std::string> uris, program::Process process)
      : uris_(std::move(uris)), process_(std::move(process)) {}

  std::vector<std::string> uris_;
  program::Process process_;
};

}  // namespace plov::torture
