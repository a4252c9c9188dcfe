// Device: an RDMA device's active port, and which of its GIDs its packets carry.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "bench/verbs/measure.h"
#include "fabric/verbs/cm.h"
#include "verify/error.h"

namespace plov::bench {

using Context = std::unique_ptr<ibv_context, fabric::verbs::FreeBy<ibv_close_device>>;

struct Device {
  Context context;
  std::string name;
  uint8_t port = 0;
  uint8_t gid_index = 0;
  ibv_gid gid{};
  uint16_t lid = 0;
  bool is_ethernet = false;  // RoCE: paths are told by GIDs
  ibv_mtu mtu = IBV_MTU_256;

  uint32_t mtu_bytes() const { return uint32_t{128} << mtu; }  // IBV_MTU_256 is 1

  // The one that is wanted, else the first with an active port. kUnavailable.
  static std::expected<Device, Error> Open(const WantedDevice& wanted);
};

}  // namespace plov::bench
