#include "cluster/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "cluster/coordinator.h"
#include "cluster/fields.h"

namespace plov::cluster {

namespace {

// Of what Encode writes; others are of another release, which had a reason to change it.
constexpr uint64_t kFormat = 1;
constexpr uint32_t kLeaseMsMax = 60'000;
constexpr uint32_t kSilenceMsMin = 10, kSilenceMsMax = 600'000;
constexpr uint32_t kRepairAfterMsMax = 7 * 24 * 3600 * 1000;
// Clocks that differ by more than half are broken.
constexpr uint32_t kRateErrorPpmMax = 500'000;
// One more is still a number.
constexpr uint64_t kEpochMax = std::numeric_limits<int64_t>::max();
constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kAny32 = std::numeric_limits<uint32_t>::max();

Json MembersJson(const std::vector<Member>& members) {
  Json array = Json::array();
  for (const Member& member : members) {
    array.push_back({{"server", member.server}, {"incarnation", IdText(member.incarnation)}});
  }
  return array;
}

std::string Text(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<Member> Members(Fields* fields, const char* name, size_t min) {
  std::vector<Member> members;
  for (const Json& each : fields->Array(name, min, kMembersMax)) {
    Fields member = fields->Of(each, fmt::format("{}[{}]", name, members.size()));
    members.push_back({member.Name("server"), member.Id("incarnation")});
  }
  return members;
}

// A value whose fields `take` takes; what is wrong with it is an error.
template <typename T>
std::expected<T, Error> Decode(std::string_view what, std::string_view data,
                               void (*take)(Fields*, T*)) {
  const auto fail = [what](const std::string& wrong) {
    return Fail(Code::kProtocol,
                fmt::format("the {} that the coordinator holds makes no sense: {}", what, wrong));
  };
  if (data.size() > kDataBytesMax) return fail(fmt::format("it has {} bytes", data.size()));
  const Json object = Json::parse(data, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return fail("it is no JSON object");
  std::string wrong;
  Fields fields(object, "", &wrong);
  T value;
  value.cluster_id = fields.Id("cluster");
  take(&fields, &value);
  if (!wrong.empty()) return fail(wrong);
  return value;
}

void TakeConfig(Fields* fields, Config* config) {
  if (const uint64_t format = fields->Number("format", 1, kAny); format > kFormat) {
    fields->Wrong("format",
                  fmt::format("is {}, of a later release; this one knows {}", format, kFormat));
  }
  config->hash_seed = fields->Hex("hash_seed");
  config->shards = fields->Number32("shards", 1, kSlots);
  config->replicas = fields->Number32("replicas", 1, kReplicasMax);
  config->min_replicas = fields->Number32("min_replicas", 1, kReplicasMax);
  config->lease = fields->Milliseconds("lease_ms", 0, kLeaseMsMax);
  config->detect = fields->Milliseconds("detect_ms", kSilenceMsMin, kSilenceMsMax);
  config->drop = fields->Milliseconds("drop_ms", kSilenceMsMin, kSilenceMsMax);
  config->rate_error_ppm = fields->Number32("rate_error_ppm", 0, kRateErrorPpmMax);
  if (config->min_replicas > config->replicas)
    fields->Wrong("min_replicas", "is more than replicas");
  if (fields->Has("repair_after_ms")) {
    config->repair_after = fields->Milliseconds("repair_after_ms", 0, kRepairAfterMsMax);
  }
  if (fields->Has("session_key")) config->session_key = fields->Hex("session_key");
}

void TakeServer(Fields* fields, Server* server) {
  server->life = fields->Id("life");
  server->uris = fields->Texts("uris", kUrisMax, kUriBytesMax);
  server->zone = fields->NameOrNothing("zone");
  server->memory_bytes = fields->Number("memory_bytes", 0, kAny);
  server->shards_max = fields->Number32("shards_max", 0, kAny32);
}

void TakeShard(Fields* fields, Shard* shard) {
  shard->epoch = fields->Number("epoch", 1, kEpochMax);
  shard->slot_first = fields->Number32("slot_first", 0, kSlots - 1);
  shard->slot_last = fields->Number32("slot_last", 0, kSlots - 1);
  shard->primary = fields->Name("primary");
  shard->in_sync = Members(fields, "in_sync", 1);
  shard->joining = Members(fields, "joining", 0);
  shard->proposal = fields->Id("proposal");
  if (fields->Has("begun")) shard->begun = fields->Number("begun", 0, shard->epoch);
  if (shard->slot_last < shard->slot_first) fields->Wrong("slot_last", "is before slot_first");
  std::set<std::string> servers;
  for (const Member& member : shard->in_sync) {
    if (!servers.insert(member.server).second) fields->Wrong("in_sync", "has a server twice");
  }
  if (!servers.contains(shard->primary)) fields->Wrong("primary", "is not in in_sync");
  for (const Member& member : shard->joining) {
    if (!servers.insert(member.server).second) fields->Wrong("joining", "has a server twice");
  }
}

void TakePlacement(Fields* fields, Placement* placement) {
  placement->servers = fields->Texts("servers", kMembersMax, kNameBytesMax);
  std::set<std::string> servers;
  for (const std::string& server : placement->servers) {
    if (!IsName(server)) fields->Wrong("servers", "has what is no name");
    if (!servers.insert(server).second) fields->Wrong("servers", "has a server twice");
  }
}

void TakeEmptyStart(Fields* fields, EmptyStart* start) {
  start->member = {fields->Name("server"), fields->Id("incarnation")};
  start->is_taken = fields->Number("taken", 0, 1) == 1;
}

}  // namespace

// The first that cuckoo::ShardOf would give it.
uint32_t FirstSlotOf(uint32_t number, uint32_t shards) {
  return static_cast<uint32_t>((uint64_t{number} * kSlots + shards - 1) / shards);
}

std::string Encode(const Config& config) {
  Json object = {{"format", kFormat},
                 {"cluster", IdText(config.cluster_id)},
                 {"hash_seed", IdText(config.hash_seed)},
                 {"shards", config.shards},
                 {"replicas", config.replicas},
                 {"min_replicas", config.min_replicas},
                 {"lease_ms", static_cast<uint64_t>(config.lease.count())},
                 {"detect_ms", static_cast<uint64_t>(config.detect.count())},
                 {"drop_ms", static_cast<uint64_t>(config.drop.count())},
                 {"rate_error_ppm", config.rate_error_ppm}};
  if (config.repair_after.count() != 0) {
    object["repair_after_ms"] = static_cast<uint64_t>(config.repair_after.count());
  }
  if (config.session_key != 0) object["session_key"] = IdText(config.session_key);
  return Text(object);
}

std::string Encode(const Server& server) {
  Json uris = Json::array();  // not by {}, which would take two texts for a field and its value
  for (const std::string& uri : server.uris) uris.push_back(uri);
  return Text({{"cluster", IdText(server.cluster_id)},
               {"life", IdText(server.life)},
               {"uris", uris},
               {"zone", server.zone},
               {"memory_bytes", server.memory_bytes},
               {"shards_max", server.shards_max}});
}

std::string Encode(const Shard& shard) {
  Json object = {{"cluster", IdText(shard.cluster_id)},
                 {"epoch", shard.epoch},
                 {"slot_first", shard.slot_first},
                 {"slot_last", shard.slot_last},
                 {"primary", shard.primary},
                 {"in_sync", MembersJson(shard.in_sync)},
                 {"joining", MembersJson(shard.joining)},
                 {"proposal", IdText(shard.proposal)}};
  if (shard.begun != 0) object["begun"] = shard.begun;
  return Text(object);
}

std::string Encode(const Placement& placement) {
  Json servers = Json::array();
  for (const std::string& server : placement.servers) servers.push_back(server);
  return Text({{"cluster", IdText(placement.cluster_id)}, {"servers", servers}});
}

std::string Encode(const EmptyStart& start) {
  return Text({{"cluster", IdText(start.cluster_id)},
               {"server", start.member.server},
               {"incarnation", IdText(start.member.incarnation)},
               {"taken", start.is_taken ? 1 : 0}});
}

std::expected<Config, Error> DecodeConfig(std::string_view data) {
  return Decode<Config>("config", data, TakeConfig);
}

std::expected<Server, Error> DecodeServer(std::string_view data) {
  return Decode<Server>("server", data, TakeServer);
}

std::expected<Shard, Error> DecodeShard(std::string_view data) {
  return Decode<Shard>("shard", data, TakeShard);
}

std::expected<Placement, Error> DecodePlacement(std::string_view data) {
  return Decode<Placement>("placement", data, TakePlacement);
}

std::expected<EmptyStart, Error> DecodeEmptyStart(std::string_view data) {
  return Decode<EmptyStart>("empty start", data, TakeEmptyStart);
}

std::expected<void, Error> CheckCluster(uint64_t cluster_id, uint64_t ours) {
  if (cluster_id == ours) return {};
  return Fail(Code::kProtocol, fmt::format("data of another cluster: the coordinator holds those "
                                           "of {}, this is {}; look at the root "
                                           "of the coordinator's URI",
                                           IdText(cluster_id), IdText(ours)));
}

std::expected<void, Error> CheckEpoch(const Shard& shard, uint64_t known) {
  if (shard.epoch >= known) return {};
  return Fail(Code::kProtocol,
              fmt::format("coordination data are older than the servers: the coordinator holds "
                          "epoch {}, {} has been "
                          "in force; they were restored from a copy, and none of it is believed",
                          shard.epoch, known));
}

}  // namespace plov::cluster
