// Survey: what rdma-core says of this machine, for `plov doctor` and others. What the
// kernel says in files (states, GIDs, netdevs) is not repeated here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/error.h"

namespace plov::fabric::verbs {

struct PortSurvey {
  uint32_t number = 0;
  uint32_t active_mtu_bytes = 0;
  uint32_t max_mtu_bytes = 0;
};

struct DeviceSurvey {
  std::string name;
  int error_number = 0;       // why it could not be opened or asked; the rest is then empty
  uint64_t max_mr_bytes = 0;  // the longest memory that can be registered at once
  uint32_t max_qp = 0;
  uint32_t max_mr = 0;
  uint32_t responder_depth = 0;  // READs in flight that one queue pair answers (max_qp_rd_atom)
  uint32_t initiator_depth = 0;  // and that it asks (max_qp_init_rd_atom)
  std::vector<PortSurvey> ports;
};

// An address of this machine that rdmacm can listen on.
struct AddressSurvey {
  std::string address;  // as inet_ntop(3) writes it
  std::string netdev;
  std::string device;
};

struct Survey {
  bool built = false;   // with rdma-core; without it all else is empty
  std::string library;  // the file name of libibverbs that is loaded, as "libibverbs.so.1.14.44.0"
  std::vector<DeviceSurvey> devices;  // that rdma-core has a driver for
  Code cm = Code::kOk;                // why rdmacm cannot be used
  std::vector<AddressSurvey> addresses;
};

// Opens every device and binds to every address of the machine but loopback and link-local ones,
// and closes all of it again. Nothing is connected, nothing is changed.
// Cost:    some system calls for each device and address.
// Threads: any.
// Source:  ibv_query_device(3), ibv_query_port(3), rdma_bind_addr(3).
Survey TakeSurvey();

}  // namespace plov::fabric::verbs
