#include <fmt/core.h>

#include <algorithm>

#include "bench/shared/command.h"
#include "bench/verbs/study.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr std::chrono::hours kDurationMax{1};
constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::milliseconds kQuickDuration{60};

Outcome FillCombinations(const Given& given, VerbsSettings* settings) {
  if (!given.Has("combinations")) {
    for (const Combination& one : kCombinations) settings->combinations.push_back(&one);
    return {};
  }
  for (const std::string& name : SplitList(given.Text("combinations"))) {
    const Combination* found = FindCombination(name);
    if (found == nullptr) {
      std::string names;
      for (const Combination& one : kCombinations) names.append(" ").append(one.name);
      return given.Invalid(
          fmt::format("--combinations: no combination '{}'; there are{}", name, names));
    }
    settings->combinations.push_back(found);
  }
  return {};
}

Outcome FillLoad(const Given& given, VerbsSettings* settings) {
  if (given.On("quick")) {
    settings->bytes = {64};
    settings->windows = {1, 16};
    settings->rounds = 1;
    settings->duration = kQuickDuration;
  }
  for (auto filled : {FillNumbers(given, "bytes", kBytesMin, kBytesMax, &settings->bytes),
                      FillNumbers(given, "windows", 1, kWindowMax, &settings->windows),
                      given.Fill("rounds", 1, kRoundsMax, &settings->rounds),
                      given.FillDuration("duration", kDurationMax, &settings->duration)}) {
    if (!filled) return filled;
  }
  if (std::ranges::any_of(settings->bytes, [](uint32_t number) { return number % 8 != 0; })) {
    return given.Invalid("--bytes: sizes are multiples of 8");
  }
  if (settings->windows.front() != 1) settings->windows.insert(settings->windows.begin(), 1);
  return {};
}

Outcome FillRole(const Given& given, VerbsSettings* settings) {
  if (given.On("server") && given.Has("client")) {
    return given.Invalid("--server and --client are for two machines: one of them on each");
  }
  if (given.Has("client") && given.Text("client").empty()) {
    return given.Invalid("--client is empty: name the server's host");
  }
  if (given.Has("port") && !given.On("server") && !given.Has("client")) {
    return given.Invalid("--port is for --server and --client");
  }
  if (given.On("server")) settings->role = VerbsSettings::Role::kServer;
  if (given.Has("client")) settings->role = VerbsSettings::Role::kClient;
  settings->host = given.Text("client");
  settings->device = {given.Text("device"), given.Text("address")};
  return given.Fill("port", 1, UINT16_MAX, &settings->port);
}

}  // namespace

po::options_description VerbsOptions() {
  po::options_description options = OutputOptions("verbs");
  AddDeviceOptions(&options);
  // clang-format off
  options.add_options()
      ("combinations", Text("LIST"), "of READ, SEND/SEND, WRITE/SEND, WRITE_IMM/SEND, WRITE/WRITE, WRITE/READ, WRITE_UC/SEND_UD (all)")
      ("bytes", Text("LIST"), "sizes of a request and of a reply, multiples of 8 from 16 to 64K (16,64,256,1K)")
      ("windows", Text("LIST"), "requests in flight, 1 to 256; latency is that of 1, which is always measured (1,4,16,32)")
      ("duration", Text("DURATION"), "of each measurement in each round (300ms)")
      ("rounds", Text("N"), "rounds, whose medians are shown (3)")
      ("server", po::bool_switch(), "be the server, of one client after the other, until ended")
      ("client", Text("HOST"), "measure with the server that runs there")
      ("port", Text("PORT"), "TCP port of --server and --client (7471)");
  // clang-format on
  return options;
}

std::expected<VerbsSettings, Error> VerbsSettingsOf(const Given& given) {
  VerbsSettings settings;
  for (auto filled : {FillRole(given, &settings), FillCombinations(given, &settings),
                      FillLoad(given, &settings), FillOutput(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

}  // namespace plov::bench
