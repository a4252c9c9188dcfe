// plov-bench verbs.

#include "bench/shared/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "bench/shared/network.h"
#include "bench/verbs/study.h"
#include "program/process.h"

namespace plov::bench {

namespace {

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
  const Outcome filled = AllOf({FillNumbers(given, "bytes", kBytesMin, kBytesMax, &settings->bytes),
                                FillNumbers(given, "windows", 1, kWindowMax, &settings->windows)});
  if (!filled) return filled;
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
  settings->is_server = given.On("server");
  settings->host = given.Text("client");
  settings->device = {given.Text("device"), given.Text("address")};
  return given.Fill("port", 1, UINT16_MAX, &settings->port);
}

Outcome RunServer(const VerbsSettings& settings) {
  const auto device = FindDevice(settings.device);
  if (!device) return std::unexpected(device.error());
  const auto listener = ListenOn(settings.device.address, settings.port);
  if (!listener) return std::unexpected(listener.error());
  fmt::print("plov-bench verbs: ready on port {}, device {}\n", settings.port, device->name);
  std::fflush(stdout);
  while (true) {
    auto client = Accept(*listener);
    if (!client) return std::unexpected(client.error());
    const auto served = Serve(settings.device, std::move(*client));
    if (!served) fmt::print(stderr, "plov-bench verbs: {}\n", served.error().message);
  }
}

Outcome RunClient(const VerbsSettings& settings, fabric::Fd stream, program::Output* output) {
  auto measurer = Measurer::Create(settings.device, std::move(stream));
  if (!measurer) return std::unexpected(measurer.error());
  const auto study = Study(measurer->get(), settings);
  if (!study) return std::unexpected(study.error());
  return Show(settings, PageOf(*study), JsonOf(*study), output);
}

Outcome RunBoth(const VerbsSettings& settings, program::Output* output) {
  // Said once, by this process.
  if (const auto device = FindDevice(settings.device); !device) {
    return std::unexpected(device.error());
  }
  auto ends = ConnectedPair();
  if (!ends) return std::unexpected(ends.error());
  const auto server = program::Process::Fork([&] {
    ends->first = fabric::Fd();  // so that the server ends with the stream
    const auto served = Serve(settings.device, std::move(ends->second));
    if (!served) fmt::print(stderr, "plov-bench verbs: server: {}\n", served.error().message);
    return served ? 0 : 1;
  });
  if (!server) return std::unexpected(server.error());
  ends->second = fabric::Fd();
  return RunClient(settings, std::move(ends->first), output);
}

Outcome RunVerbs(const Given& given, program::Output* output) {
  VerbsSettings settings;
  const Outcome filled = AllOf({FillRole(given, &settings), FillCombinations(given, &settings),
                                FillLoad(given, &settings), FillRounds(given, &settings)});
  if (!filled) return filled;
  if (settings.is_server) return RunServer(settings);
  if (settings.host.empty()) return RunBoth(settings, output);
  auto stream = ConnectTo(settings.host, settings.port);
  if (!stream) return std::unexpected(stream.error());
  return RunClient(settings, std::move(*stream), output);
}

}  // namespace

const Command kVerbsCommand = {
    "verbs",
    "which verbs carry requests and replies best on this RDMA device",
    OptionsOf<VerbsSettings>,
    {{"device", "NAME", "the RDMA device (the first with an active port)"},
     {"address", "ADDRESS", "the device whose netdev has this address"},
     {"combinations", "LIST",
      "of READ, SEND/SEND, WRITE/SEND, WRITE_IMM/SEND, WRITE/WRITE, WRITE/READ, WRITE_UC/SEND_UD "
      "(all)"},
     {"bytes", "LIST",
      "sizes of a request and of a reply, multiples of 8 from 16 to 64K (16,64,256,1K)"},
     {"windows", "LIST",
      "requests in flight, 1 to 256; latency is that of 1, which is always measured (1,4,16,32)"},
     {"server", "", "be the server, of one client after the other, until ended"},
     {"client", "HOST", "measure with the server that runs there"},
     {"port", "PORT", "TCP port of --server and --client (7471)"}},
    RunVerbs};

}  // namespace plov::bench
