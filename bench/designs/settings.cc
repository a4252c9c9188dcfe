#include "bench/designs/side.h"
#include "bench/designs/study.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 256;  // else all of them are under way at once
constexpr uint64_t kItemsMax = 10'000'000;
constexpr uint32_t kValueBytesMin = 8;
constexpr uint32_t kValueBytesMax = 16 << 10;  // of which a message takes one
constexpr uint32_t kClientsOfDesignMax = 64;
constexpr uint32_t kServersOfDesignMax = 16;

}  // namespace

po::options_description DesignsOptions() {
  po::options_description options = StudyOptions("designs", DesignsSettings());
  // clang-format off
  options.add_options()
      ("fabric", Text("NAME"), "shm or rdma (shm)")
      ("device", Text("NAME"), "the RDMA device (the first with an active port)")
      ("address", Text("ADDRESS"), "the device whose netdev has this address")
      ("items", Text("N"), "items to get (100000)")
      ("value-bytes", Text("LIST"), "sizes of values, 8 to 16K (16,64,256,1K)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)")
      ("clients", Text("LIST"), "processes that get at the same time, 1 to 64 (1,2,4,8)")
      ("servers", Text("LIST"), "HERD's server processes, and plovd's shards, 1 to 16 (1,2,4)");
  // clang-format on
  return options;
}

std::expected<DesignsSettings, Error> DesignsSettingsOf(const Given& given) {
  DesignsSettings settings;
  if (given.On("quick")) {
    settings.items = 1000;
    settings.value_bytes = {64};
    settings.clients = {1, 2};
    settings.servers = {1, 2};
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(20);
  }
  for (auto filled :
       {FillFabric(given, &settings),
        FillNumbers(given, "value-bytes", kValueBytesMin, kValueBytesMax, &settings.value_bytes),
        FillNumbers(given, "clients", 1, kClientsOfDesignMax, &settings.clients),
        FillNumbers(given, "servers", 1, kServersOfDesignMax, &settings.servers),
        given.Fill("items", kItemsMin, kItemsMax, &settings.items),
        given.Fill("window", 1, kSideWindowMax, &settings.window), FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

}  // namespace plov::bench
