#include "bench/tool/designs_settings.h"

#include <fmt/core.h>

#include "bench/designs/side.h"
#include "bench/tool/lists.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 256;  // else all of them are under way at once
constexpr uint64_t kItemsMax = 10'000'000;
constexpr uint32_t kValueBytesMin = 8;
constexpr uint32_t kValueBytesMax = 16 << 10;  // of which a message takes one
constexpr uint32_t kClientsOfDesignMax = 64;
constexpr uint32_t kServersOfDesignMax = 16;
constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

std::expected<void, Error> FillLoad(const Given& given, DesignsSettings* settings) {
  if (given.On("quick")) {
    settings->items = 1000;
    settings->value_bytes = {64};
    settings->clients = {1, 2};
    settings->servers = {1, 2};
    settings->rounds = 1;
    settings->duration = std::chrono::milliseconds(20);
  }
  for (auto filled :
       {FillNumbers(given, "value-bytes", kValueBytesMin, kValueBytesMax, &settings->value_bytes),
        FillNumbers(given, "clients", 1, kClientsOfDesignMax, &settings->clients),
        FillNumbers(given, "servers", 1, kServersOfDesignMax, &settings->servers),
        given.Fill("items", kItemsMin, kItemsMax, &settings->items),
        given.Fill("window", 1, kSideWindowMax, &settings->window),
        given.Fill("rounds", 1, kRoundsMax, &settings->rounds),
        given.FillDuration("duration", kDurationMax, &settings->duration)}) {
    if (!filled) return filled;
  }
  return {};
}

}  // namespace

po::options_description DesignsOptions() {
  po::options_description options("Options of designs", 100);
  // clang-format off
  options.add_options()
      ("fabric", Text("NAME"), "shm or rdma (shm)")
      ("device", Text("NAME"), "the RDMA device (the first with an active port)")
      ("address", Text("ADDRESS"), "the device whose netdev has this address")
      ("plovd", Text("PATH"), "the server's program (found beside this one, else in PATH)")
      ("items", Text("N"), "items to get (100000)")
      ("value-bytes", Text("LIST"), "sizes of values, 8 to 16K (16,64,256,1K)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)")
      ("clients", Text("LIST"), "processes that get at the same time, 1 to 64 (1,2,4,8)")
      ("servers", Text("LIST"), "HERD's server processes, and plovd's shards, 1 to 16 (1,2,4)")
      ("duration", Text("DURATION"), "of each measurement in each round (200ms)")
      ("rounds", Text("N"), "rounds, whose medians are shown (3)")
      ("html", Text("FILE"), "write a page there with plots and tables")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "little of everything, to see that it works");
  // clang-format on
  return options;
}

std::expected<DesignsSettings, Error> DesignsSettingsOf(const Given& given) {
  DesignsSettings settings;
  const std::string fabric = given.Has("fabric") ? given.Text("fabric") : "shm";
  if (fabric != "rdma" && fabric != "shm") return given.Invalid("--fabric is shm or rdma");
  settings.is_rdma = fabric == "rdma";
  settings.device = {given.Text("device"), given.Text("address")};
  for (const char* name : {"device", "address"}) {
    if (given.Has(name) && !settings.is_rdma) {
      return given.Invalid(fmt::format("--{} is for --fabric rdma", name));
    }
  }
  if (auto filled = FillLoad(given, &settings); !filled) return std::unexpected(filled.error());
  settings.json = given.On("json");
  if (given.Has("html") && given.Text("html").empty()) return given.Invalid("--html is empty");
  settings.html = given.Text("html");
  auto plovd = PlovdOf(given);
  if (!plovd) return std::unexpected(plovd.error());
  settings.plovd = std::move(*plovd);
  return settings;
}

}  // namespace plov::bench
