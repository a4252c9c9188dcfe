#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "bench/verbs/endpoint.h"

namespace plov::bench {

namespace {

using fabric::verbs::FreeBy;

bool IsZero(const ibv_gid& gid) {
  return std::ranges::all_of(gid.raw, [](uint8_t byte) { return byte == 0; });
}

bool IsLinkLocal(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

bool IsMappedIpv4(const ibv_gid& gid) {
  static constexpr std::array<uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix.data(), kPrefix.size()) == 0;
}

// Of a RoCE GID, the address that it was made of; empty where no other host could name it.
std::string AddressOf(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IsMappedIpv4(gid)) {
    ::inet_ntop(AF_INET, gid.raw + 12, text.data(), text.size());
  } else if (!IsLinkLocal(gid)) {
    ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  }
  return text.data();
}

// The better of a port's GIDs: RoCE version 2 before 1, IPv4 before IPv6, link-local last.
int Rank(const ibv_gid_entry& entry) {
  const int version = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 4 : 0;
  if (IsMappedIpv4(entry.gid)) return version + 3;
  return version + (IsLinkLocal(entry.gid) ? 1 : 2);
}

// Chooses the port's GID; false where none is, or none of the wanted address.
bool ChooseGid(const WantedDevice& wanted, int count, Device* device) {
  int best = 0;
  for (int index = 0; index < count; ++index) {
    ibv_gid_entry entry{};
    if (::ibv_query_gid_ex(device->context.get(), device->port, static_cast<uint32_t>(index),
                           &entry, 0) != 0 ||
        IsZero(entry.gid)) {
      continue;
    }
    if (!wanted.address.empty() && AddressOf(entry.gid) != wanted.address) continue;
    if (Rank(entry) <= best) continue;
    best = Rank(entry);
    device->gid = entry.gid;
    device->gid_index = static_cast<uint8_t>(index);
  }
  return best > 0;
}

bool ChoosePort(const WantedDevice& wanted, Device* device) {
  ibv_device_attr attributes;
  if (::ibv_query_device(device->context.get(), &attributes) != 0) return false;
  for (uint8_t port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr state;
    if (::ibv_query_port(device->context.get(), port, &state) != 0) continue;
    if (state.state != IBV_PORT_ACTIVE) continue;
    device->port = port;
    device->lid = state.lid;
    device->mtu = state.active_mtu;
    device->is_ethernet = state.link_layer == IBV_LINK_LAYER_ETHERNET;
    if (ChooseGid(wanted, state.gid_tbl_len, device)) return true;
  }
  return false;
}

std::string Described(const WantedDevice& wanted) {
  std::string text = "no RDMA device";
  if (!wanted.name.empty()) text += " " + wanted.name;
  text += " with an active port";
  if (!wanted.address.empty()) text += " of address " + wanted.address;
  return text + " here: see rdma link, or add a soft-RoCE one (rdma link add)";
}

}  // namespace

std::expected<Device, Error> Device::Open(const WantedDevice& wanted) {
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeBy<ibv_free_device_list>> list(
      ::ibv_get_device_list(&count));
  if (list == nullptr) count = 0;
  for (ibv_device* found : std::span(list.get(), static_cast<size_t>(count))) {
    const std::string name = ::ibv_get_device_name(found);
    if (!wanted.name.empty() && name != wanted.name) continue;
    Device device;
    device.name = name;
    device.context.reset(::ibv_open_device(found));
    if (device.context != nullptr && ChoosePort(wanted, &device)) return device;
  }
  return Fail(Code::kUnavailable, Described(wanted));
}

std::expected<DeviceName, Error> FindDevice(const WantedDevice& wanted) {
  const auto device = Device::Open(wanted);
  if (!device) return std::unexpected(device.error());
  return DeviceName{device->name, device->is_ethernet ? AddressOf(device->gid) : wanted.address,
                    device->gid_index};
}

}  // namespace plov::bench
