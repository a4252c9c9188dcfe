#include "bench/tool/fabric_settings.h"

#include <fmt/core.h>

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 256;  // else all of them are under way at once
constexpr uint64_t kItemsMax = 100'000'000;
// Smaller ones lie in the bucket, which is the other workload.
constexpr uint32_t kValueBytesMin = 64;
constexpr uint32_t kValueBytesMax = 64 << 10;
constexpr uint32_t kWindowMaxOfClient = 64;
constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

}  // namespace

po::options_description FabricOptions() {
  po::options_description options("Options of fabric", 100);
  // clang-format off
  options.add_options()
      ("fabric", Text("NAME"), "rdma or shm (rdma)")
      ("device", Text("NAME"), "the RDMA device (the first with an active port)")
      ("address", Text("ADDRESS"), "the device whose netdev has this address")
      ("plovd", Text("PATH"), "the server's program (found beside this one, else in PATH)")
      ("items", Text("N"), "items to get, of each kind (10000)")
      ("value-bytes", Text("N"), "size of values that lie in records, 64 to 64K (64)")
      ("window", Text("N"), "GETs in flight, 1 to 64 (32)")
      ("duration", Text("DURATION"), "of each measurement in each round (500ms)")
      ("rounds", Text("N"), "rounds, whose medians are shown (5)")
      ("html", Text("FILE"), "write tables and a plot there, too, as a page")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "little of everything, to see that it works");
  // clang-format on
  return options;
}

std::expected<FabricSettings, Error> FabricSettingsOf(const Given& given) {
  FabricSettings settings;
  const std::string fabric = given.Has("fabric") ? given.Text("fabric") : "rdma";
  if (fabric != "rdma" && fabric != "shm") return given.Invalid("--fabric is rdma or shm");
  settings.is_rdma = fabric == "rdma";
  settings.device = {given.Text("device"), given.Text("address")};
  for (const char* name : {"device", "address"}) {
    if (given.Has(name) && !settings.is_rdma) {
      return given.Invalid(fmt::format("--{} is for --fabric rdma", name));
    }
  }
  if (given.On("quick")) {
    settings.items = 1000;
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(50);
  }
  settings.json = given.On("json");
  settings.html = given.Text("html");
  if (given.Has("html") && settings.html.empty())
    return given.Invalid("--html is empty: name a file");
  for (auto filled :
       {given.Fill("items", kItemsMin, kItemsMax, &settings.items),
        given.Fill("value-bytes", kValueBytesMin, kValueBytesMax, &settings.value_bytes),
        given.Fill("window", 1, kWindowMaxOfClient, &settings.window),
        given.Fill("rounds", 1, kRoundsMax, &settings.rounds),
        given.FillDuration("duration", kDurationMax, &settings.duration)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  auto plovd = PlovdOf(given);
  if (!plovd) return std::unexpected(plovd.error());
  settings.plovd = std::move(*plovd);
  return settings;
}

}  // namespace plov::bench
