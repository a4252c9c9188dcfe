#include "door/memcached/stats.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace plov::door::memcached {

namespace {

template <typename Value>
void AddStat(std::string_view name, const Value& value, std::string* to) {
  *to += fmt::format("STAT {} {}\r\n", name, value);
}

std::string SecondsOf(const timeval& time) {
  return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec);
}

void AddProcess(const Totals& totals, std::string* to) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  AddStat("pid", ::getpid(), to);
  AddStat("uptime", totals.uptime.count(), to);
  AddStat("time", ::time(nullptr), to);
  AddStat("version", "1.6.18", to);
  AddStat("plov_version", PLOV_VERSION, to);
  AddStat("pointer_size", 8 * sizeof(void*), to);
  AddStat("rusage_user", SecondsOf(usage.ru_utime), to);
  AddStat("rusage_system", SecondsOf(usage.ru_stime), to);
  AddStat("max_connections", totals.clients_max, to);
  AddStat("curr_connections", totals[Count::kConnections], to);
  AddStat("total_connections", totals[Count::kConnectionsEver], to);
}

void AddCommands(const Totals& totals, std::string* to) {
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
  AddStat("bytes_read", totals[Count::kBytesRead], to);
  AddStat("bytes_written", totals[Count::kBytesWritten], to);
  AddStat("limit_maxbytes", totals.memory_limit_bytes, to);
  AddStat("threads", totals.threads, to);
}

}  // namespace

std::string StatsReply(std::string_view argument, const Totals& totals) {
  std::string reply;
  if (argument.empty()) {
    AddProcess(totals, &reply);
    AddCommands(totals, &reply);
  } else if (argument == "settings") {
    AddStat("maxbytes", totals.memory_limit_bytes, &reply);
    AddStat("maxconns", totals.clients_max, &reply);
    AddStat("item_size_max", totals.item_bytes_max, &reply);
    AddStat("num_threads", totals.threads, &reply);
    AddStat("cas_enabled", "yes", &reply);
    AddStat("flush_enabled", "yes", &reply);
  } else if (argument == "slabs") {  // of memcached's memory there is none
    AddStat("active_slabs", 0, &reply);
    AddStat("total_malloced", 0, &reply);
  } else if (argument != "items") {
    return "ERROR\r\n";
  }
  return reply + "END\r\n";
}

}  // namespace plov::door::memcached
