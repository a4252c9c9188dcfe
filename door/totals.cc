#include "door/totals.h"

#include <string>

namespace plov::door {

namespace {

using metrics::Sample;
using metrics::SampleFamily;

double Number(uint64_t number) { return static_cast<double>(number); }

SampleFamily Single(std::string name, std::string help, uint64_t number, bool only_grows) {
  return {.name = std::move(name),
          .help = std::move(help),
          .only_grows = only_grows,
          .label = {},
          .samples = {{.label = {}, .value = Number(number)}}};
}

SampleFamily Requests(const Totals& totals) {
  SampleFamily family{.name = "plov_door_requests_total",
                      .help = "Requests by what they ask for; of GETs each key.",
                      .only_grows = true,
                      .label = "command",
                      .samples = {}};
  constexpr std::pair<const char*, Count> kCommands[] = {
      {"get", Count::kGets},       {"store", Count::kStores},           {"touch", Count::kTouches},
      {"delete", Count::kDeletes}, {"arithmetic", Count::kArithmetics}, {"flush", Count::kFlushes},
      {"other", Count::kOthers}};
  for (const auto& [name, which] : kCommands) {
    family.samples.push_back({name, Number(totals[which])});
  }
  return family;
}

SampleFamily Errors(const Totals& totals) {
  SampleFamily family{.name = "plov_door_errors_total",
                      .help =
                          "Requests that failed: malformed, without an answer of the server, or "
                          "without memory for them.",
                      .only_grows = true,
                      .label = "reason",
                      .samples = {}};
  family.samples.push_back({"request", Number(totals[Count::kBadRequests])});
  family.samples.push_back({"server", Number(totals[Count::kFailures])});
  family.samples.push_back({"memory", Number(totals[Count::kOutOfMemory])});
  return family;
}

}  // namespace

std::vector<SampleFamily> SamplesOf(const Totals& totals) {
  return {
      Single("plov_door_connections", "Connections now.", totals[Count::kConnections], false),
      Single("plov_door_connections_total", "Connections since the start.",
             totals[Count::kConnectionsEver], true),
      Requests(totals),
      Single("plov_door_get_hits_total", "Keys that were found.", totals[Count::kGetHits], true),
      Errors(totals),
      Single("plov_door_received_bytes_total", "Bytes from clients.", totals[Count::kBytesRead],
             true),
      Single("plov_door_sent_bytes_total", "Bytes to clients.", totals[Count::kBytesWritten], true),
      Single("plov_door_memory_bytes", "Memory for what clients send and are sent.",
             totals.memory_used_bytes, false),
      Single("plov_door_memory_limit_bytes", "Its limit, --memory.", totals.memory_limit_bytes,
             false)};
}

}  // namespace plov::door
