// RdmaFacts: what this machine has of RDMA, as the kernel's files and rdma-core tell it. Judged
// apart, by rdma_checks.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/verbs/survey.h"
#include "program/machine.h"

namespace plov::cli {

// A network interface of this network namespace.
struct Netdev {
  std::string name;
  bool up = false;       // as ip link set ... up makes it
  bool carrier = false;  // a link at the other end of the cable
  bool loopback = false;
  bool has_address = false;  // an IP address that is not link-local
  uint32_t mtu_bytes = 0;
};

struct RdmaGid {
  uint32_t index = 0;
  std::string address;  // as IPv6 text, or, where it is a mapped one, as IPv4 text
  bool link_local = false;
  std::string type;  // "RoCE v2", "IB/RoCE v1"
  std::string netdev;
};

struct RdmaPort {
  uint32_t number = 0;
  std::string state;       // "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string link_layer;  // "Ethernet", "InfiniBand"
  std::vector<RdmaGid> gids;
  uint32_t active_mtu_bytes = 0;  // 0: the device could not be asked
  uint32_t max_mtu_bytes = 0;
};

// A file in /dev/infiniband. Looked at, because rdma-core tells ENOENT where it is forbidden.
enum class Node { kAbsent, kForbidden, kAllowed };

struct RdmaDevice {
  std::string name;
  bool soft = false;        // soft-RoCE (rdma_rxe)
  std::string netdev;       // that it belongs to; empty where it is not known
  std::string node;         // its name in /dev/infiniband; empty without ib_uverbs
  std::string node_number;  // "231:192"
  Node node_file = Node::kAbsent;
  std::vector<RdmaPort> ports;
  std::vector<std::string> addresses;                 // that rdmacm listens on with this device
  std::optional<fabric::verbs::DeviceSurvey> survey;  // nullopt: rdma-core does not know it
};

enum class Module { kAbsent, kLoadable, kLoaded };  // kLoaded also when it is built in

struct RdmaFacts {
  bool wanted = false;        // the server is named by an rdma: URI
  uint64_t memory_bytes = 0;  // what a plovd here would pin

  bool built = false;
  std::string library;  // "libibverbs.so.1.14.44.0"; empty when not known
  Module rxe = Module::kAbsent;
  bool has_crc32 = false;  // the kernel's crypto knows the checksum that soft-RoCE asks it for

  Code cm = Code::kOk;    // why rdmacm cannot be used
  std::string cm_number;  // of its file, as "10:124"; empty without rdma_ucm
  Node cm_node = Node::kAbsent;

  uint64_t memlock_bytes = 0;       // ulimit -S -l; UINT64_MAX for none
  uint64_t memlock_hard_bytes = 0;  // ulimit -H -l
  bool may_lock = false;            // CAP_IPC_LOCK

  std::vector<Netdev> netdevs;
  std::vector<RdmaDevice> devices;
};

// Looks at the files of `machine`, at this process's limits, and into `survey`.
RdmaFacts GatherRdmaFacts(const program::Machine& machine, const fabric::verbs::Survey& survey);

}  // namespace plov::cli
