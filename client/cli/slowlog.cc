#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "client/cli/time.h"

namespace plov::cli {

namespace {

struct Part {
  const char* name;
  uint64_t SlowWrite::*us;
};
constexpr std::array kParts = {
    Part{"work", &SlowWrite::work_us},     Part{"queue", &SlowWrite::queue_us},
    Part{"growth", &SlowWrite::growth_us}, Part{"cleaning", &SlowWrite::cleaning_us},
    Part{"value", &SlowWrite::value_us},   Part{"disk", &SlowWrite::disk_us}};

std::string Milliseconds(uint64_t us) {
  return fmt::format("{:.3f} ms", static_cast<double>(us) / 1000);
}

// "12.300 ms: disk 12.100 ms, work 0.200 ms", what took longest first.
std::string TimesOf(const SlowWrite& slow) {
  std::array parts = kParts;
  std::ranges::sort(parts,
                    [&slow](const Part& a, const Part& b) { return slow.*a.us > slow.*b.us; });
  std::string text = Milliseconds(slow.total_us) + ":";
  for (const Part& part : parts) {
    if (slow.*part.us == 0) break;
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", part.name,
                        Milliseconds(slow.*part.us));
  }
  return text;
}

std::string LineOf(const SlowWrite& slow) {
  std::string text =
      fmt::format("{}  shard {}  {}; {} {}{}", UtcText(slow.unix_us), slow.shard, TimesOf(slow),
                  slow.is_delete ? "delete" : "put", Printable(slow.key),
                  slow.key.size() < slow.key_bytes ? "..." : "");
  if (!slow.is_delete) text += fmt::format(", {} bytes", slow.value_bytes);
  if (slow.requests > 1) text += fmt::format(", one of {} requests", slow.requests);
  return text + "\n";
}

program::Json JsonOf(const SlowWrite& slow) {
  program::Json object = program::Json::object();
  object["shard"] = slow.shard;
  object["number"] = slow.number;
  object["time"] = UtcText(slow.unix_us);
  object["total_us"] = slow.total_us;
  for (const Part& part : kParts) object[fmt::format("{}_us", part.name)] = slow.*part.us;
  object["requests"] = slow.requests;
  object["operation"] = slow.is_delete ? "delete" : "put";
  AddBytes("key", slow.key, &object);
  object["key_bytes"] = slow.key_bytes;
  object["value_bytes"] = slow.value_bytes;
  return object;
}

}  // namespace

Outcome SlowLog(const Options& options, program::Output* output) {
  auto client = ConnectAsAdministrator(options);
  if (!client) return std::unexpected(client.error());
  auto slow = client->SlowWrites();
  if (!slow) return std::unexpected(slow.error());
  std::ranges::sort(*slow, {}, [](const SlowWrite& write) {
    return std::tuple(write.unix_us, write.shard, write.number);
  });
  for (const SlowWrite& write : *slow) {
    output->Write(options.json ? program::LineOf(JsonOf(write)) : LineOf(write));
  }
  return {};
}

}  // namespace plov::cli
