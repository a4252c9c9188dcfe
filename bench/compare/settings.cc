#include <fmt/core.h>

#include <algorithm>

#include "bench/compare/study.h"
#include "bench/shared/command.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 1000;
constexpr uint64_t kItemsMax = 100'000'000;

std::string PeerNames() {
  std::string names;
  for (const PeerKind& kind : PeerKinds()) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", kind.name);
  }
  return names;
}

std::expected<std::vector<const PeerKind*>, Error> PeersOf(const Given& given) {
  std::vector<const PeerKind*> peers;
  for (const std::string& name :
       SplitList(given.Has("peers") ? given.Text("peers") : PeerNames())) {
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
  po::options_description options = StudyOptions("compare", CompareSettings());
  // clang-format off
  options.add_options()
      ("peers", Text("LIST"), "what to compare with, with commas between (all there are)")
      ("items", Text("N"), "items, with keys of 16 and values of 64 bytes (4000000)")
      ("hugepages", po::bool_switch(), "plov's memory, which is the peer memory too, in huge pages");
  // clang-format on
  return options;
}

std::expected<CompareSettings, Error> CompareSettingsOf(const Given& given) {
  CompareSettings settings;
  settings.huge_pages = given.On("hugepages");
  if (given.On("quick")) {
    settings.items = 200'000;
    settings.rounds = 3;
    settings.duration = std::chrono::milliseconds(100);
  }
  auto peers = PeersOf(given);
  if (!peers) return std::unexpected(peers.error());
  settings.peers = std::move(*peers);
  for (auto filled :
       {given.Fill("items", kItemsMin, kItemsMax, &settings.items), FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

}  // namespace plov::bench
