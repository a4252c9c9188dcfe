#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "client/cli/rdma_checks.h"
#include "program/format.h"

namespace plov::cli {

namespace {

// Of rxe, before and behind a packet's payload (RXE_MAX_HDR_LENGTH of the kernel's rdma_rxe); cards
// need less.
constexpr uint32_t kRoceHeaderBytes = 80;
constexpr uint32_t kRoceMtuMax = 4096;
constexpr uint32_t kUsualMtu = 1024;  // the most that a netdev MTU of 1500 carries
// Netdev MTUs as people set them, for a RoCE MTU of 4096 and of 1024.
constexpr uint32_t kJumboNetdevMtu = 4200;
constexpr uint32_t kUsualNetdevMtu = 1500;

constexpr uint32_t kDepthWanted = 16;  // READs in flight: what cards do, and keeps a wire busy
// One for each client and shard.
constexpr uint32_t kQueuePairsWanted = 1024;

bool IsActive(const RdmaPort& port) { return port.state == "ACTIVE"; }

const Netdev* Find(const RdmaFacts& facts, const std::string& name) {
  const auto found = std::ranges::find(facts.netdevs, name, &Netdev::name);
  return found == facts.netdevs.end() ? nullptr : &*found;
}

std::string SubjectOf(const RdmaDevice& device) { return "RDMA device " + device.name; }

// The link taken from where it is and put on an interface that can be used.
std::string MoveLink(const RdmaDevice& device, const RdmaFacts& facts) {
  return fmt::format("{} && {}",
                     program::AsRoot("rdma link delete " + program::Quoted(device.name)),
                     AddSoftRoce(facts, device.name));
}

Finding NodeFault(const RdmaDevice& device) {
  const std::string file = "/dev/infiniband/" + device.node;
  const size_t colon = device.node_number.find(':');
  const std::string major = device.node_number.substr(0, colon);
  const std::string minor = colon == std::string::npos ? "" : device.node_number.substr(colon + 1);
  return {Severity::kNote, SubjectOf(device),
          fmt::format("{} is not there; is this a container? Then start it with "
                      "--device=/dev/infiniband --cap-add=IPC_LOCK",
                      file),
          fmt::format("{} && {}", program::AsRoot("mkdir -p /dev/infiniband"),
                      program::AsRoot(fmt::format("mknod -m 666 {} c {} {}", file, major, minor)))};
}

// Why the device cannot be opened.
Finding OpenFault(const RdmaDevice& device) {
  const std::string subject = SubjectOf(device);
  if (device.node.empty()) {
    return {Severity::kNote, subject,
            "programs cannot reach it: the module ib_uverbs is not loaded",
            program::AsRoot("modprobe ib_uverbs")};
  }
  if (device.node_file == Node::kAbsent) return NodeFault(device);
  const std::string file = "/dev/infiniband/" + device.node;
  if (device.node_file == Node::kForbidden) {
    return {Severity::kNote, subject, fmt::format("this user may not open {}", file),
            program::AsRoot(fmt::format("chmod a+rw {}", file))};
  }
  if (!device.survey) {
    return {Severity::kNote, subject,
            "rdma-core has no driver for it: the package ibverbs-providers is missing or too old",
            program::AsRoot("apt-get install ibverbs-providers")};
  }
  return {Severity::kNote, subject,
          fmt::format("{} cannot be opened ({}), which the kernel's log may explain", file,
                      std::generic_category().message(device.survey->error_number)),
          program::AsRoot("dmesg | tail")};
}

bool CanBeOpened(const RdmaDevice& device) {
  return device.survey && device.survey->error_number == 0;
}

std::string Restart(const std::string& netdev) {
  const std::string set = "ip link set " + program::Quoted(netdev);
  return fmt::format("{} && {}", program::AsRoot(set + " down"), program::AsRoot(set + " up"));
}

// Why a port that is not ACTIVE is not.
Finding PortFault(const RdmaDevice& device, const RdmaPort& port, const Netdev* netdev) {
  const std::string what = fmt::format("port {} ({}) is {}", port.number, port.link_layer,
                                       port.state.empty() ? "in no known state" : port.state);
  if (port.link_layer == "InfiniBand") {
    if (port.state == "INIT" || port.state == "ARMED") {
      return {Severity::kNote, SubjectOf(device),
              what + ": no subnet manager has set it up; run one on some host of the network",
              program::AsRoot("apt-get install opensm")};
    }
    return {Severity::kNote, SubjectOf(device),
            what + ": no link; see to the cable and to the switch, then look again",
            "rdma link show"};
  }
  if (netdev != nullptr && !netdev->up) {
    return {Severity::kNote, SubjectOf(device),
            fmt::format("{}: its interface {} is down", what, netdev->name),
            program::AsRoot(fmt::format("ip link set {} up", program::Quoted(netdev->name)))};
  }
  if (netdev != nullptr && !netdev->carrier) {
    return {Severity::kNote, SubjectOf(device),
            fmt::format("{}: its interface {} has no carrier; see to the cable and to the other "
                        "end, then look again",
                        what, netdev->name),
            fmt::format("ip link show {}", program::Quoted(netdev->name))};
  }
  return {Severity::kNote, SubjectOf(device), what + ", though its interface is up",
          netdev == nullptr ? "rdma link show" : Restart(netdev->name)};
}

// Traps of soft-RoCE that no state shows.
std::optional<Finding> TrapOf(const RdmaDevice& device, const RdmaFacts& facts) {
  const Netdev* netdev = Find(facts, device.netdev);
  if (!device.soft || (netdev == nullptr && device.netdev.empty())) return std::nullopt;
  if (netdev == nullptr) {
    return Finding{Severity::kNote, SubjectOf(device),
                   fmt::format("soft-RoCE on {}, which is not in this network namespace (it was "
                               "moved, or this is a container): soft-RoCE serves its host's only",
                               device.netdev),
                   MoveLink(device, facts)};
  }
  if (!netdev->loopback) return std::nullopt;
  return Finding{Severity::kNote, SubjectOf(device),
                 fmt::format("soft-RoCE on {}, the loopback interface: it says ACTIVE, but nobody "
                             "can connect to its addresses",
                             netdev->name),
                 MoveLink(device, facts)};
}

void CheckNoAddress(const RdmaDevice& device, const RdmaFacts& facts, Findings* findings) {
  const bool infiniband = std::ranges::any_of(
      device.ports, [](const RdmaPort& port) { return port.link_layer == "InfiniBand"; });
  const std::string netdev = !device.netdev.empty() ? device.netdev : (infiniband ? "ib0" : "eth0");
  const std::string add =
      program::AsRoot(fmt::format("ip address add 192.0.2.1/24 dev {}", program::Quoted(netdev)));
  AddFault(facts,
           {Severity::kNote, SubjectOf(device),
            fmt::format("its interface {} has no IP address, so no URI can name it (an example "
                        "address is shown: take one of your network)",
                        netdev),
            infiniband ? fmt::format("{} && {}", program::AsRoot("modprobe ib_ipoib"), add) : add},
           findings);
}

std::string ServingText(const RdmaDevice& device) {
  std::string text = device.soft ? "soft-RoCE" : "";
  if (!device.netdev.empty()) text.append(text.empty() ? "on " : " on ").append(device.netdev);
  for (const RdmaPort& port : device.ports) {
    if (!text.empty()) text += ", ";
    text += fmt::format("port {} {} ({})", port.number, port.state, port.link_layer);
  }
  text += ", serves";
  for (const std::string& address : device.addresses) text.append(" ").append(UriOf(address));
  if (device.soft) {
    text += "; give other programs a retry_cnt of 1 to 6 on it, for 7 means for ever";
  }
  return text;
}

// Tells which GID other RDMA programs have to be given; plov finds it by the address.
void CheckGids(const RdmaDevice& device, Findings* findings) {
  for (const RdmaPort& port : device.ports) {
    if (port.link_layer != "Ethernet" || port.gids.empty()) continue;
    const auto usable = [](const RdmaGid& gid) { return gid.type == "RoCE v2" && !gid.link_local; };
    auto best = std::ranges::find_if(port.gids, [&usable](const RdmaGid& gid) {
      return usable(gid) && gid.address.find(':') == std::string::npos;
    });
    if (best == port.gids.end()) best = std::ranges::find_if(port.gids, usable);
    std::string list;
    for (const RdmaGid& gid : port.gids) {
      list += fmt::format("{}{} {} {}", list.empty() ? "" : ", ", gid.index, gid.address, gid.type);
    }
    const std::string subject = "RDMA GIDs of " + device.name;
    if (best != port.gids.end()) {
      findings->Ok(subject, fmt::format("index {} is the one to use: plov finds it by its address, "
                                        "perftest by -x {}. Port {} has {}{}",
                                        best->index, best->index, port.number, list,
                                        port.gids.front().link_local ? "; link-local ones reach no "
                                                                       "other network"
                                                                     : ""));
      continue;
    }
    findings->Note(
        subject,
        fmt::format("port {} has no RoCE v2 GID with an address, only {}", port.number, list),
        fmt::format("ip address show {}", program::Quoted(device.netdev)));
  }
}

void CheckMtu(const RdmaDevice& device, const Netdev* netdev, Findings* findings) {
  const std::string subject = "RDMA MTU of " + device.name;
  for (const RdmaPort& port : device.ports) {
    const uint32_t active = port.active_mtu_bytes;
    if (active == 0 || !IsActive(port)) continue;
    if (port.link_layer != "Ethernet" || netdev == nullptr) {
      findings->Ok(subject, fmt::format("port {}: {} bytes of at most {}", port.number, active,
                                        port.max_mtu_bytes));
      continue;
    }
    const std::string meaning = fmt::format("port {}: {} bytes a packet, over a netdev MTU of {}",
                                            port.number, active, netdev->mtu_bytes);
    const std::string set = fmt::format("ip link set {} mtu ", program::Quoted(netdev->name));
    if (active < kUsualMtu) {
      findings->Note(subject, meaning + ": a bucket and its record take more packets than need be",
                     program::AsRoot(set + std::to_string(kUsualNetdevMtu)));
    } else if (active < std::min(kRoceMtuMax, port.max_mtu_bytes)) {
      findings->Note(subject,
                     fmt::format("{}. Values of more than that go in more packets; {} needs a "
                                 "netdev MTU of {} or more, on every host and switch between",
                                 meaning, kRoceMtuMax, kRoceMtuMax + kRoceHeaderBytes),
                     program::AsRoot(set + std::to_string(kJumboNetdevMtu)));
    } else {
      findings->Ok(subject, meaning);
    }
  }
}

void CheckDepth(const RdmaDevice& device, const RdmaFacts& facts, Findings* findings) {
  const fabric::verbs::DeviceSurvey& survey = *device.survey;
  const std::string subject = "RDMA READ depth of " + device.name;
  const std::string depths =
      fmt::format("{} READs in flight answered and {} asked by one connection",
                  survey.responder_depth, survey.initiator_depth);
  const uint32_t depth = std::min(survey.responder_depth, survey.initiator_depth);
  if (depth == 0) {
    return AddFault(facts,
                    {Severity::kNote, subject,
                     depths + ": it cannot do what plov is made of; use another device, or shm: on "
                              "one host",
                     "plovd --listen shm:default &"},
                    findings);
  }
  if (depth >= kDepthWanted) return findings->Ok(subject, depths);
  findings->Note(subject,
                 depths + ": GETs of one connection wait for each other; more clients help", "");
}

void CheckMemory(const RdmaDevice& device, const RdmaFacts& facts, Findings* findings) {
  const uint64_t most = device.survey->max_mr_bytes;
  const std::string subject = "RDMA memory of " + device.name;
  if (most == UINT64_MAX) return findings->Ok(subject, "registers as much at once as there is");
  const std::string meaning = fmt::format("registers up to {} at once", program::Bytes(most));
  if (most >= facts.memory_bytes) return findings->Ok(subject, meaning);
  AddFault(facts,
           {Severity::kNote, subject,
            fmt::format("{}, and a shard is registered at once: {} of --memory are more", meaning,
                        program::Bytes(facts.memory_bytes)),
            fmt::format("plovd --memory {}M", most >> 20)},
           findings);
}

void CheckPairs(const RdmaDevice& device, Findings* findings) {
  const fabric::verbs::DeviceSurvey& survey = *device.survey;
  const std::string subject = "RDMA queue pairs of " + device.name;
  const std::string meaning = fmt::format(
      "{}, and {} registered memories; a connection to a shard takes one of the first on each side",
      program::Grouped(survey.max_qp), program::Grouped(survey.max_mr));
  if (survey.max_qp >= kQueuePairsWanted) return findings->Ok(subject, meaning);
  findings->Note(subject, meaning + ": with fewer shards there is room for more clients",
                 "plovd --shards 1");
}

}  // namespace

bool IsReady(const RdmaDevice& device, const RdmaFacts& facts) {
  return facts.built && facts.cm == Code::kOk && CanBeOpened(device) &&
         device.survey->responder_depth > 0 && device.survey->initiator_depth > 0 &&
         !device.addresses.empty() && std::ranges::any_of(device.ports, IsActive) &&
         !TrapOf(device, facts);
}

void CheckRdmaDevice(const RdmaDevice& device, const RdmaFacts& facts, Findings* findings) {
  const Netdev* netdev = Find(facts, device.netdev);
  const auto trap = TrapOf(device, facts);
  if (!CanBeOpened(device)) AddFault(facts, OpenFault(device), findings);
  if (trap) AddFault(facts, *trap, findings);
  for (const RdmaPort& port : device.ports) {
    if (!IsActive(port)) AddFault(facts, PortFault(device, port, netdev), findings);
  }
  if (device.addresses.empty() && !trap) CheckNoAddress(device, facts, findings);
  if (IsReady(device, facts)) findings->Ok(SubjectOf(device), ServingText(device));
  if (!trap) CheckGids(device, findings);
  if (!CanBeOpened(device)) return;
  CheckMtu(device, netdev, findings);
  CheckDepth(device, facts, findings);
  CheckMemory(device, facts, findings);
  CheckPairs(device, findings);
}

}  // namespace plov::cli
