#include "bench/tool/compare_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 1000;
constexpr uint64_t kItemsMax = 100'000'000;
constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

std::string PeerNames() {
  std::string names;
  for (const PeerKind& kind : PeerKinds()) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", kind.name);
  }
  return names;
}

std::expected<std::vector<const PeerKind*>, Error> PeersOf(const Given& given) {
  std::vector<const PeerKind*> peers;
  std::istringstream list((given.Has("peers") ? given.Text("peers") : PeerNames()) + ",");
  for (std::string name; std::getline(list, name, ',');) {
    const PeerKind* kind = FindPeerKind(name);
    if (kind == nullptr) {
      return given.Invalid(fmt::format("--peers: no peer '{}', there are {}", name, PeerNames()));
    }
    if (std::ranges::find(peers, kind) == peers.end()) peers.push_back(kind);
  }
  return peers;
}

}  // namespace

po::options_description CompareOptions() {
  po::options_description options("Options of compare", 100);
  // clang-format off
  options.add_options()
      ("peers", Text("LIST"), "what to compare with, with commas between (all there are)")
      ("plovd", Text("PATH"), "the server's program (found beside this one, else in PATH)")
      ("items", Text("N"), "items, with keys of 16 and values of 64 bytes (4000000)")
      ("rounds", Text("N"), "rounds, whose medians are shown (5)")
      ("duration", Text("DURATION"), "of each measurement in each round (500ms)")
      ("hugepages", po::bool_switch(), "plov's memory, which is the peer memory too, in huge pages")
      ("html", Text("FILE"), "write a page with a plot and the tables there, too")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "fewer items and short rounds: under a minute");
  // clang-format on
  return options;
}

std::expected<CompareSettings, Error> CompareSettingsOf(const Given& given) {
  CompareSettings settings;
  settings.quick = given.On("quick");
  settings.json = given.On("json");
  settings.huge_pages = given.On("hugepages");
  if (settings.quick) {
    settings.items = 200'000;
    settings.rounds = 3;
    settings.duration = std::chrono::milliseconds(100);
  }
  auto peers = PeersOf(given);
  if (!peers) return std::unexpected(peers.error());
  settings.peers = std::move(*peers);
  for (auto filled : {given.Fill("items", kItemsMin, kItemsMax, &settings.items),
                      given.Fill("rounds", 1, kRoundsMax, &settings.rounds),
                      given.FillDuration("duration", kDurationMax, &settings.duration)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  settings.html = given.Text("html");
  if (given.Has("html") && settings.html.empty()) return given.Invalid("--html is empty");
  auto plovd = PlovdOf(given);
  if (!plovd) return std::unexpected(plovd.error());
  settings.plovd = std::move(*plovd);
  return settings;
}

}  // namespace plov::bench
