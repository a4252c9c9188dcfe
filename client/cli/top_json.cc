#include "client/cli/top_json.h"

#include <string_view>

namespace plov::cli {

namespace {

using verify::Counter;

std::string_view NameOf(Standing standing) {
  switch (standing) {
    case Standing::kServes:
      return "serves";
    case Standing::kStill:
      return "still";
    case Standing::kStopped:
      return "stopped";
    case Standing::kGone:
      break;
  }
  return "gone";
}

void AddCounter(const char* name, uint64_t number, program::Json* object) {
  if (number != UINT64_MAX) (*object)[name] = number;
}

void AddTimes(const std::string& name, const verify::Times& times, program::Json* object) {
  if (const auto us = QuantileOf(times, 0.5)) AddCounter((name + "_us_p50").c_str(), *us, object);
  if (const auto us = QuantileOf(times, 0.99)) AddCounter((name + "_us_p99").c_str(), *us, object);
}

void AddRates(const Rates& rates, program::Json* object) {
  program::Json& to = *object;
  to["seconds"] = rates.seconds;
  if (rates.reported) {
    to["gets"] = rates.reported->gets;
    to["reads"] = rates.reported->reads;
    to["torn"] = rates.reported->torn;
  }
  to["gets_by_message"] = rates.gets_by_message;
  to["puts"] = rates.puts;
  to["deletes"] = rates.deletes;
  AddTimes("writes", rates.writes, object);
  to["log_bytes"] = rates.log_bytes;
  AddTimes("commits", rates.commits, object);
  to["cpu"] = rates.cpu;
  if (const auto cpu = rates.cpu_per_million_gets()) to["cpu_seconds_per_million_gets"] = *cpu;
}

program::Json ShardJson(const Rates::Shard& shard, const verify::Counters& counters) {
  program::Json object = program::Json::object();
  object["shard"] = shard.number;
  object["cpu"] = shard.cpu;
  object["requests"] = shard.requests;
  object["puts"] = shard.puts;
  AddCounter("full_percent", counters[Counter::kFullPercent], &object);
  AddCounter("items", counters[Counter::kItems], &object);
  return object;
}

}  // namespace

program::Json TopJson(const TopView& view) {
  program::Json object = program::Json::object();
  object["server"] = view.server;
  object["state"] = NameOf(view.standing);
  if (view.standing != Standing::kServes) object["state_seconds"] = view.standing_seconds;
  if (view.standing == Standing::kGone) object["error"] = view.error;
  if (view.restarted_seconds >= 0) object["restarted_seconds"] = view.restarted_seconds;
  AddRates(view.rates, &object);
  const verify::Counters& total = view.sample->total;
  AddCounter("clients", total[Counter::kClients], &object);
  AddCounter("items", total[Counter::kItems], &object);
  AddCounter("memory_bytes", total[Counter::kMemoryBytes], &object);
  AddCounter("memory_used_bytes", total[Counter::kMemoryUsedBytes], &object);
  AddCounter("full_percent", total[Counter::kFullPercent], &object);
  object["shards"] = program::Json::array();
  for (const Rates::Shard& shard : view.rates.shards) {
    object["shards"].push_back(ShardJson(shard, view.sample->shards[shard.number]));
  }
  return object;
}

}  // namespace plov::cli
