#include "client/cli/rdma_facts.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

namespace plov::cli {

namespace {

constexpr auto kDevices = "/sys/class/infiniband";
constexpr auto kNodes = "/sys/class/infiniband_verbs";
constexpr auto kNetdevs = "/sys/class/net";
constexpr unsigned kIpcLock = 14;  // CAP_IPC_LOCK (linux/capability.h)

// "4: ACTIVE" is ACTIVE.
std::string BehindColon(const std::string& text) {
  const size_t at = text.find(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

template <typename Number>
std::optional<Number> NumberIn(std::string_view text, int base) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, base);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return number;
}

// The number that a hexadecimal text begins with, "0x" before it or not.
uint64_t Hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return NumberIn<uint64_t>(text, 16).value_or(0);
}

// nullopt of an entry that is not in use.
std::optional<RdmaGid> GidOf(const std::string& text) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, text.c_str(), &six) != 1 || IN6_IS_ADDR_UNSPECIFIED(&six)) {
    return std::nullopt;
  }
  RdmaGid gid;
  gid.link_local = IN6_IS_ADDR_LINKLOCAL(&six);
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (IN6_IS_ADDR_V4MAPPED(&six)) {
    ::inet_ntop(AF_INET, &six.s6_addr[12], name.data(), name.size());
  } else {
    ::inet_ntop(AF_INET6, &six, name.data(), name.size());
  }
  gid.address = name.data();
  return gid;
}

std::vector<RdmaGid> GidsIn(const program::Machine& machine, const std::string& port) {
  std::vector<RdmaGid> gids;
  for (const std::string& name : machine.List(port + "/gids")) {
    const auto index = NumberIn<uint32_t>(name, 10);
    const auto text = machine.Read(fmt::format("{}/gids/{}", port, name));
    auto gid = index && text ? GidOf(*text) : std::nullopt;
    if (!gid) continue;
    gid->index = *index;
    gid->type = machine.Read(fmt::format("{}/gid_attrs/types/{}", port, name)).value_or("");
    gid->netdev = machine.Read(fmt::format("{}/gid_attrs/ndevs/{}", port, name)).value_or("");
    gids.push_back(std::move(*gid));
  }
  std::ranges::sort(gids, {}, &RdmaGid::index);
  return gids;
}

std::vector<RdmaPort> PortsOf(const program::Machine& machine, const std::string& device,
                              const fabric::verbs::DeviceSurvey* survey) {
  std::vector<RdmaPort> ports;
  for (const std::string& name : machine.List(device + "/ports")) {
    const std::string folder = fmt::format("{}/ports/{}", device, name);
    RdmaPort port;
    port.number = NumberIn<uint32_t>(name, 10).value_or(0);
    port.state = BehindColon(machine.Read(folder + "/state").value_or(""));
    port.link_layer = machine.Read(folder + "/link_layer").value_or("");
    port.gids = GidsIn(machine, folder);
    for (size_t i = 0; survey != nullptr && i < survey->ports.size(); ++i) {
      if (survey->ports[i].number != port.number) continue;
      port.active_mtu_bytes = survey->ports[i].active_mtu_bytes;
      port.max_mtu_bytes = survey->ports[i].max_mtu_bytes;
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

// Where rdmacm cannot be asked, the GIDs tell.
std::vector<std::string> AddressesOf(const RdmaDevice& device,
                                     const fabric::verbs::Survey& survey) {
  std::vector<std::string> addresses;
  for (const auto& address : survey.addresses) {
    if (address.device == device.name) addresses.push_back(address.address);
  }
  if (survey.cm == Code::kOk && survey.built) return addresses;
  for (const RdmaPort& port : device.ports) {
    for (const RdmaGid& gid : port.gids) {
      if (gid.link_local || gid.type != "RoCE v2") continue;
      addresses.push_back(gid.address);
    }
  }
  return addresses;
}

std::string NetdevOf(const program::Machine& machine, const std::string& folder,
                     const RdmaDevice& device) {
  if (auto parent = machine.Read(folder + "/parent")) return *parent;
  for (const RdmaPort& port : device.ports) {
    for (const RdmaGid& gid : port.gids) {
      if (!gid.netdev.empty()) return gid.netdev;
    }
  }
  const auto names = machine.List(folder + "/device/net");
  return names.empty() ? "" : names.front();
}

Node NodeAt(const program::Machine& machine, const std::string& name) {
  const std::string path = machine.PathOf("/dev/infiniband/" + name);
  if (::access(path.c_str(), F_OK) != 0) return Node::kAbsent;
  return ::access(path.c_str(), R_OK | W_OK) == 0 ? Node::kAllowed : Node::kForbidden;
}

void FindNode(const program::Machine& machine, RdmaDevice* device) {
  for (const std::string& node : machine.List(kNodes)) {
    if (machine.Read(fmt::format("{}/{}/ibdev", kNodes, node)) != device->name) continue;
    device->node = node;
    device->node_number = machine.Read(fmt::format("{}/{}/dev", kNodes, node)).value_or("");
    device->node_file = NodeAt(machine, node);
  }
}

RdmaDevice DeviceIn(const program::Machine& machine, const std::string& name,
                    const fabric::verbs::Survey& survey) {
  const std::string folder = fmt::format("{}/{}", kDevices, name);
  RdmaDevice device;
  device.name = name;
  const auto known = std::ranges::find(survey.devices, name, &fabric::verbs::DeviceSurvey::name);
  if (known != survey.devices.end()) device.survey = *known;
  device.ports = PortsOf(machine, folder, device.survey ? &*device.survey : nullptr);
  device.addresses = AddressesOf(device, survey);
  device.netdev = NetdevOf(machine, folder, device);
  // Soft-iWARP has a parent, too, but is an RNIC and no channel adapter.
  device.soft = machine.Read(folder + "/parent").has_value() &&
                machine.Read(folder + "/node_type").value_or("").starts_with("1:");
  FindNode(machine, &device);
  return device;
}

std::vector<Netdev> NetdevsOf(const program::Machine& machine) {
  std::vector<Netdev> netdevs;
  for (const std::string& name : machine.List(kNetdevs)) {
    const std::string folder = fmt::format("{}/{}", kNetdevs, name);
    const auto flags = machine.Read(folder + "/flags");
    if (!flags) continue;  // as bonding_masters, which is no interface
    Netdev netdev;
    netdev.name = name;
    netdev.up = (Hexadecimal(*flags) & IFF_UP) != 0;
    netdev.loopback = (Hexadecimal(*flags) & IFF_LOOPBACK) != 0;
    netdev.carrier = machine.ReadNumber(folder + "/carrier").value_or(0) != 0;
    netdev.mtu_bytes = static_cast<uint32_t>(machine.ReadNumber(folder + "/mtu").value_or(0));
    netdevs.push_back(std::move(netdev));
  }
  return netdevs;
}

void MarkAddresses(std::vector<Netdev>* netdevs) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    const auto netdev = std::ranges::find(*netdevs, entry->ifa_name, &Netdev::name);
    if (netdev != netdevs->end()) netdev->has_address = true;
  }
}

Module ModuleOf(const program::Machine& machine, std::string_view name) {
  if (!machine.List(fmt::format("/sys/module/{}", name)).empty()) return Module::kLoaded;
  const std::string release = machine.Read("/proc/sys/kernel/osrelease").value_or("");
  const std::string file = fmt::format("/{}.ko", name);
  for (const char* list : {"modules.builtin", "modules.dep"}) {
    const auto text = machine.Read(fmt::format("/lib/modules/{}/{}", release, list));
    if (!text || text->find(file) == std::string::npos) continue;
    return std::strcmp(list, "modules.dep") == 0 ? Module::kLoadable : Module::kLoaded;
  }
  return Module::kAbsent;
}

// A line "name         : crc32".
bool HasCrc32(const program::Machine& machine) {
  const std::string crypto = machine.Read("/proc/crypto").value_or("");
  for (size_t at = 0; (at = crypto.find(": crc32\n", at)) != std::string::npos; ++at) {
    const size_t line = crypto.rfind('\n', at) + 1;  // npos + 1 is 0
    if (crypto.compare(line, 4, "name") == 0) return true;
  }
  return false;
}

void GatherLimits(const program::Machine& machine, RdmaFacts* facts) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  facts->memlock_bytes = limit.rlim_cur;
  facts->memlock_hard_bytes = limit.rlim_max;
  const std::string status = machine.Read("/proc/self/status").value_or("");
  constexpr std::string_view kField = "CapEff:\t";
  const size_t at = status.find(kField);
  if (at == std::string::npos) return;
  facts->may_lock =
      (Hexadecimal(std::string_view(status).substr(at + kField.size(), 16)) >> kIpcLock & 1) != 0;
}

}  // namespace

RdmaFacts GatherRdmaFacts(const program::Machine& machine, const fabric::verbs::Survey& survey) {
  RdmaFacts facts;
  facts.built = survey.built;
  facts.library = survey.library;
  facts.rxe = ModuleOf(machine, "rdma_rxe");
  facts.has_crc32 = HasCrc32(machine);
  facts.cm = survey.cm;
  facts.cm_number = machine.Read("/sys/class/misc/rdma_cm/dev").value_or("");
  facts.cm_node = NodeAt(machine, "rdma_cm");
  GatherLimits(machine, &facts);
  facts.netdevs = NetdevsOf(machine);
  MarkAddresses(&facts.netdevs);
  for (const std::string& name : machine.List(kDevices)) {
    facts.devices.push_back(DeviceIn(machine, name, survey));
  }
  return facts;
}

}  // namespace plov::cli
