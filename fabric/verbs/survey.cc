#include "fabric/verbs/survey.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "fabric/verbs/cm.h"

namespace plov::fabric::verbs {

namespace {

using Context = std::unique_ptr<ibv_context, FreeBy<ibv_close_device>>;
using Interfaces = std::unique_ptr<ifaddrs, FreeBy<freeifaddrs>>;

// ibv_mtu counts powers of two from 256 bytes, which is 1.
uint32_t BytesOf(ibv_mtu mtu) { return mtu == 0 ? 0 : uint32_t{128} << mtu; }

std::vector<PortSurvey> SurveyPorts(ibv_context* context, uint32_t count) {
  std::vector<PortSurvey> ports;
  for (uint32_t number = 1; number <= count; ++number) {
    ibv_port_attr attributes{};
    if (::ibv_query_port(context, static_cast<uint8_t>(number), &attributes) != 0) continue;
    ports.push_back({number, BytesOf(attributes.active_mtu), BytesOf(attributes.max_mtu)});
  }
  return ports;
}

DeviceSurvey SurveyDevice(ibv_device* device) {
  DeviceSurvey survey;
  survey.name = ::ibv_get_device_name(device);
  errno = 0;
  const Context context(::ibv_open_device(device));
  if (context == nullptr) {
    survey.error_number = errno != 0 ? errno : ENODEV;
    return survey;
  }
  ibv_device_attr attributes{};
  survey.error_number = ::ibv_query_device(context.get(), &attributes);
  if (survey.error_number != 0) return survey;
  survey.max_mr_bytes = attributes.max_mr_size;
  survey.max_qp = static_cast<uint32_t>(attributes.max_qp);
  survey.max_mr = static_cast<uint32_t>(attributes.max_mr);
  survey.responder_depth = static_cast<uint32_t>(attributes.max_qp_rd_atom);
  survey.initiator_depth = static_cast<uint32_t>(attributes.max_qp_init_rd_atom);
  survey.ports = SurveyPorts(context.get(), attributes.phys_port_cnt);
  return survey;
}

std::vector<DeviceSurvey> SurveyDevices() {
  std::vector<DeviceSurvey> devices;
  int count = 0;
  const std::unique_ptr<ibv_device*, FreeBy<ibv_free_device_list>> list(
      ::ibv_get_device_list(&count));
  for (int i = 0; list != nullptr && i < count; ++i) {
    devices.push_back(SurveyDevice(list.get()[i]));
  }
  return devices;
}

// Empty for what no server of ours could be named by.
std::string TextOf(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) return "";
    ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

// The device that rdmacm chooses for an address; empty when none has it. Port 0 lets the kernel
// choose a free one.
std::string DeviceOf(const EventChannel& channel, sockaddr* address) {
  const auto id = CreateId(channel, nullptr);
  if (!id || ::rdma_bind_addr(id->get(), address) != 0) return "";
  return (*id)->verbs == nullptr ? "" : ::ibv_get_device_name((*id)->verbs->device);
}

std::vector<AddressSurvey> SurveyAddresses(const EventChannel& channel) {
  std::vector<AddressSurvey> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  const Interfaces owner(first);
  for (ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::string text = TextOf(*entry->ifa_addr);
    if (text.empty()) continue;
    std::string device = DeviceOf(channel, entry->ifa_addr);
    if (device.empty()) continue;
    addresses.push_back({std::move(text), entry->ifa_name, std::move(device)});
  }
  return addresses;
}

// rdma-core has no function that tells its version: the file that the loader chose has it in its
// name.
std::string LoadedLibrary() {
  Dl_info info{};
  void* function = reinterpret_cast<void*>(&::ibv_get_device_list);
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code failure;
  const auto path = std::filesystem::canonical(info.dli_fname, failure);
  return failure ? "" : path.filename().string();
}

}  // namespace

Survey TakeSurvey() {
  Survey survey;
  survey.built = true;
  survey.library = LoadedLibrary();
  survey.devices = SurveyDevices();
  const auto channel = EventChannel::Create();
  if (!channel) {
    survey.cm = channel.error().code;
    return survey;
  }
  survey.addresses = SurveyAddresses(*channel);
  return survey;
}

}  // namespace plov::fabric::verbs
