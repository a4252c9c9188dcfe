#include "door/redis/info.h"

#include <fmt/core.h>
#include <unistd.h>

#include "door/redis/command.h"

namespace plov::door::redis {

namespace {

std::string ServerSection(const Totals& totals) {
  return fmt::format(
      "# Server\r\nredis_version:{}\r\nredis_mode:standalone\r\nplov_version:{}\r\n"
      "arch_bits:64\r\nprocess_id:{}\r\nuptime_in_seconds:{}\r\nuptime_in_days:{}\r\n"
      "io_threads_active:{}\r\n",
      kVersion, PLOV_VERSION, ::getpid(), totals.uptime.count(),
      totals.uptime.count() / (24 * 60 * 60), totals.threads);
}

std::string ClientsSection(const Totals& totals) {
  return fmt::format("# Clients\r\nconnected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:0\r\n",
                     totals[Count::kConnections], totals.clients_max);
}

// Of the door: what plov stores is not known here.
std::string MemorySection(const Totals& totals) {
  return fmt::format("# Memory\r\nused_memory:{}\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
                     totals.memory_used_bytes);
}

std::string StatsSection(const Totals& totals) {
  const uint64_t commands = totals[Count::kGets] + totals[Count::kStores] +
                            totals[Count::kTouches] + totals[Count::kDeletes] +
                            totals[Count::kArithmetics] + totals[Count::kOthers];
  return fmt::format(
      "# Stats\r\ntotal_connections_received:{}\r\ntotal_commands_processed:{}\r\n"
      "total_net_input_bytes:{}\r\ntotal_net_output_bytes:{}\r\nkeyspace_hits:{}\r\n"
      "keyspace_misses:{}\r\ntotal_error_replies:{}\r\n",
      totals[Count::kConnectionsEver], commands, totals[Count::kBytesRead],
      totals[Count::kBytesWritten], totals[Count::kGetHits],
      totals[Count::kGets] - totals[Count::kGetHits],
      totals[Count::kBadRequests] + totals[Count::kFailures]);
}

std::string ReplicationSection(const Totals&) {
  return "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";
}

}  // namespace

std::string InfoText(std::string_view section, const Totals& totals) {
  const bool is_all = section == "default" || section == "all" || section == "everything";
  constexpr std::pair<std::string_view, std::string (*)(const Totals&)> kSections[] = {
      {"server", ServerSection},
      {"clients", ClientsSection},
      {"memory", MemorySection},
      {"stats", StatsSection},
      {"replication", ReplicationSection}};
  std::string text;
  for (const auto& [name, write] : kSections) {
    if (!is_all && section != name) continue;
    if (!text.empty()) text += "\r\n";
    text += write(totals);
  }
  return text;
}

}  // namespace plov::door::redis
