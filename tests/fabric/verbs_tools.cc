#include "tests/fabric/verbs_tools.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "fabric/os.h"

namespace plov::fabric::verbs {

namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr uint32_t kFirstPort = 20'000;

std::string AddressOfDevice(ibv_context* device) {
  for (int index = 0; index < 16; ++index) {
    ibv_gid gid;
    if (::ibv_query_gid(device, 1, index, &gid) != 0) break;
    if (!std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), gid.raw)) continue;
    std::array<char, INET_ADDRSTRLEN> text;
    if (::inet_ntop(AF_INET, gid.raw + kMappedPrefix.size(), text.data(), text.size()) != nullptr) {
      return text.data();
    }
  }
  return "";
}

ExposedMemory MakeMemory(size_t bytes) {
  auto owned = std::make_shared<Mapping>(Must(Mapping::MapAnonymous(bytes)));
  return {owned->bytes(), -1, owned};
}

}  // namespace

std::string RdmaAddress() {
  const char* given = std::getenv("PLOV_RDMA_ADDRESS");
  if (given != nullptr) return given;
  int count = 0;
  ibv_context** devices = ::rdma_get_devices(&count);
  if (devices == nullptr) return "";
  std::string address;
  for (int i = 0; i < count && address.empty(); ++i) address = AddressOfDevice(devices[i]);
  ::rdma_free_devices(devices);
  return address;
}

std::string FreshRdmaUri() {
  static std::atomic<uint32_t> number = 0;
  return "rdma://" + RdmaAddress() + ":" + std::to_string(kFirstPort + number.fetch_add(1));
}

FabricUnderTest Verbs() {
  FabricUnderTest verbs{
      .name = "verbs", .fresh_uri = FreshRdmaUri, .make_memory = MakeMemory, .news_travel = true};
  if (RdmaAddress().empty()) {
    verbs.missing = "NO RDMA DEVICE: run in a virtual machine that has one, tests/vm.sh";
  }
  return verbs;
}

}  // namespace plov::fabric::verbs
