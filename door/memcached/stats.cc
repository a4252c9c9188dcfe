#include "door/memcached/stats.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "door/memcached/command.h"

namespace plov::door::memcached {

namespace {

template <typename Value>
void AddStat(std::string_view name, const Value& value, Stats* to) {
  to->push_back({std::string(name), fmt::format("{}", value)});
}

std::string SecondsOf(const timeval& time) {
  return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
}

void AddProcess(const Totals& totals, Stats* to) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  AddStat("pid", ::getpid(), to);
  AddStat("uptime", totals.uptime.count(), to);
  AddStat("time", ::time(nullptr), to);
  AddStat("version", kMemcachedVersion, to);
  AddStat("plov_version", PLOV_VERSION, to);
  AddStat("pointer_size", 8 * sizeof(void*), to);
  AddStat("rusage_user", SecondsOf(usage.ru_utime), to);
  AddStat("rusage_system", SecondsOf(usage.ru_stime), to);
  AddStat("max_connections", totals.clients_max, to);
  AddStat("curr_connections", totals[Count::kConnections], to);
  AddStat("total_connections", totals[Count::kConnectionsEver], to);
}

void AddCommands(const Totals& totals, Stats* to) {
  const auto misses = [&](Count all, Count hits) { return totals[all] - totals[hits]; };
  AddStat("cmd_get", totals[Count::kGets], to);
  AddStat("cmd_set", totals[Count::kStores], to);
  AddStat("cmd_flush", totals[Count::kFlushes], to);
  AddStat("cmd_touch", totals[Count::kTouches], to);
  AddStat("cmd_meta", totals[Count::kMetas], to);
  AddStat("get_hits", totals[Count::kGetHits], to);
  AddStat("get_misses", misses(Count::kGets, Count::kGetHits), to);
  AddStat("delete_misses", misses(Count::kDeletes, Count::kDeleteHits), to);
  AddStat("delete_hits", totals[Count::kDeleteHits], to);
  AddStat("arithmetic_misses", misses(Count::kArithmetics, Count::kArithmeticHits), to);
  AddStat("arithmetic_hits", totals[Count::kArithmeticHits], to);
  AddStat("cas_misses", totals[Count::kCasMisses], to);
  AddStat("cas_hits", totals[Count::kCasHits], to);
  AddStat("cas_badval", totals[Count::kCasMismatches], to);
  AddStat("touch_hits", totals[Count::kTouchHits], to);
  AddStat("touch_misses", misses(Count::kTouches, Count::kTouchHits), to);
  AddStat("auth_cmds", totals[Count::kAuthentications], to);
  AddStat("auth_errors", totals[Count::kAuthenticationErrors], to);
  AddStat("bytes_read", totals[Count::kBytesRead], to);
  AddStat("bytes_written", totals[Count::kBytesWritten], to);
  AddStat("limit_maxbytes", totals.memory_limit_bytes, to);
  AddStat("threads", totals.threads, to);
}

}  // namespace

std::optional<Stats> StatsOf(std::string_view argument, const Totals& totals) {
  Stats stats;
  if (argument.empty()) {
    AddProcess(totals, &stats);
    AddCommands(totals, &stats);
  } else if (argument == "settings") {
    AddStat("maxbytes", totals.memory_limit_bytes, &stats);
    AddStat("maxconns", totals.clients_max, &stats);
    AddStat("item_size_max", totals.item_bytes_max, &stats);
    AddStat("num_threads", totals.threads, &stats);
    AddStat("cas_enabled", "yes", &stats);
    AddStat("flush_enabled", "yes", &stats);
  } else if (argument == "slabs") {  // of memcached's memory there is none
    AddStat("active_slabs", 0, &stats);
    AddStat("total_malloced", 0, &stats);
  } else if (argument != "items") {
    return std::nullopt;
  }
  return stats;
}

std::string StatsText(const std::optional<Stats>& stats) {
  if (!stats) return "ERROR\r\n";
  std::string text;
  for (const Stat& stat : *stats) text += fmt::format("STAT {} {}\r\n", stat.name, stat.text);
  return text + "END\r\n";
}

}  // namespace plov::door::memcached
