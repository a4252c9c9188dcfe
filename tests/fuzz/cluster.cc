// What a coordinator returns for the values of a cluster.
//
// Property: a value that is accepted is within what cluster/configuration.h allows, and is the same when it is encoded
// and decoded again; one that is not is told with a reason.
#include <set>
#include <string>

#include "cluster/configuration.h"
#include "cluster/coordinator.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using cluster::kSlots;
using cluster::Member;

void CheckMembers(const std::vector<Member>& members, std::set<std::string>* servers) {
  Check(members.size() <= cluster::kMembersMax, "so many members");
  for (const Member& member : members) {
    Check(cluster::IsName(member.server) && member.incarnation != 0, "a member");
    Check(servers->insert(member.server).second, "a server is one member");
  }
}

void CheckValue(const cluster::Shard& shard) {
  Check(shard.slot_first <= shard.slot_last && shard.slot_last < kSlots, "slots");
  Check(shard.epoch != 0 && shard.epoch + 1 != 0 && shard.proposal != 0, "epoch and proposal");
  std::set<std::string> servers;
  CheckMembers(shard.in_sync, &servers);
  Check(servers.contains(shard.primary), "the primary is in sync");
  CheckMembers(shard.joining, &servers);
}

void CheckValue(const cluster::Config& config) {
  Check(config.shards >= 1 && config.shards <= kSlots, "shards");
  Check(config.min_replicas >= 1 && config.min_replicas <= config.replicas, "min_replicas");
  Check(config.replicas <= cluster::kReplicasMax, "replicas");
  Check(config.lease.count() >= 0 && config.detect.count() > 0 && config.drop.count() > 0, "times");
  Check(config.rate_error_ppm < 1'000'000, "rate_error_ppm");
}

void CheckValue(const cluster::Server& server) {
  Check(server.life != 0, "life");
  Check(!server.uris.empty() && server.uris.size() <= cluster::kUrisMax, "uris");
  Check(server.zone.empty() || cluster::IsName(server.zone), "zone");
}

template <typename T>
void CheckDecoded(const std::expected<T, Error>& value,
                  std::expected<T, Error> (*decode)(std::string_view)) {
  if (!value) {
    Check(value.error().code == Code::kProtocol && !value.error().message.empty(), "a reason");
    return;
  }
  Check(value->cluster_id != 0, "cluster");
  CheckValue(*value);
  const auto again = decode(cluster::Encode(*value));
  Check(again && *again == *value, "the same when it is decoded again");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  const std::string_view text = TextOf({data, bytes});
  CheckDecoded(plov::cluster::DecodeShard(text), plov::cluster::DecodeShard);
  CheckDecoded(plov::cluster::DecodeConfig(text), plov::cluster::DecodeConfig);
  CheckDecoded(plov::cluster::DecodeServer(text), plov::cluster::DecodeServer);
  return 0;
}
