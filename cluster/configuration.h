// The values that a cluster keeps with its coordinator: what is in them, and which are accepted.
//
//   config       what all servers and clients of the cluster have in common; changed rarely
//   servers/ID   where a server was when it was started last; decides nothing
//   running/ID   ephemeral: that server runs, as far as the coordinator knows; decides nothing
//   repairing    ephemeral: who replaces servers that do not run at this time (cluster/repairer.h)
//   placement/N  which servers are to have a replica of a shard
//   shards/N     the configuration of a shard, by epochs: the truth (cluster/configuration_register.h)
//   empty/N      who may begin that shard with nothing, once (cluster/empty_start.h)
//
// They are JSON objects. Numbers that count are JSON integers; random 64-bit numbers are strings of 16 hex digits, so
// that tools which take every number for a double leave them as they are. Fields that are not known are ignored.
//
// What a coordinator returns is hostile until it is decoded: values that make no sense are refused with the name of
// the field. Encode takes what it is given; whoever has values from a user decodes what was encoded.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/hash.h"
#include "verify/cluster_map.h"
#include "verify/error.h"

namespace plov::cluster {

using verify::kSlots;
// Of one shard: some replicas more than anybody needs, and those that are being added.
inline constexpr uint32_t kMembersMax = 16;
inline constexpr uint32_t kReplicasMax = 8;
inline constexpr uint32_t kUrisMax = 16;
inline constexpr size_t kUriBytesMax = 256;

// hash: of a key under the cluster's hash seed.
constexpr uint32_t SlotOf(uint64_t hash) { return cuckoo::ShardOf(hash, kSlots); }

struct Config {
  uint64_t cluster_id = 0;  // random, never 0; stands in every value
  uint64_t hash_seed = 0;
  uint32_t shards = 0;        // 1..kSlots, when the cluster was created
  uint32_t replicas = 0;      // 1..kReplicasMax
  uint32_t min_replicas = 0;  // 1..replicas: with fewer in sync there are no writes
  // How long a client may go on with what it has seen; 0: it looks in every GET.
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds detect{0};  // a silent primary is suspected
  std::chrono::milliseconds drop{0};    // a silent backup is dropped
  uint32_t rate_error_ppm = 0;          // by which two hosts' clocks may differ in rate, at most
  std::chrono::milliseconds repair_after{0};  // a server that does not run is replaced; 0: never
  // Random: what the numbers are drawn by under which servers know each other's clients. 0: there are no replicas.
  uint64_t session_key = 0;

  bool operator==(const Config&) const = default;
};

struct Server {
  uint64_t cluster_id = 0;
  uint64_t life = 0;              // random, new at each start, never 0
  std::vector<std::string> uris;  // where clients and other servers connect
  std::string zone;               // replicas of a shard are placed in different ones; may be empty
  uint64_t memory_bytes = 0;
  uint32_t shards_max = 0;

  bool operator==(const Server&) const = default;
};

// A replica: a server by its ID, and the incarnation of the region it holds there.
struct Member {
  std::string server;
  uint64_t incarnation = 0;  // never 0

  bool operator==(const Member&) const = default;
};

struct Shard {
  uint64_t cluster_id = 0;
  uint64_t epoch = 0;  // from 1; one value for each
  uint32_t slot_first = 0;
  uint32_t slot_last = 0;       // the shard has this one, too
  std::string primary;          // one of in_sync
  std::vector<Member> in_sync;  // 1..kMembersMax, no server twice
  std::vector<Member> joining;  // catch up; in neither list twice
  uint64_t proposal = 0;        // random, never 0: of the proposal that made this epoch
  uint64_t begun = 0;           // the epoch in which its primary took over; 0: it is the first one

  bool operator==(const Shard&) const = default;
};

struct Placement {
  uint64_t cluster_id = 0;
  std::vector<std::string> servers;  // 1..kMembersMax, none twice

  bool operator==(const Placement&) const = default;
};

struct EmptyStart {
  uint64_t cluster_id = 0;
  Member member;
  bool is_taken = false;

  bool operator==(const EmptyStart&) const = default;
};

// Of shard `number` of `shards`, that divide all slots evenly.
uint32_t FirstSlotOf(uint32_t number, uint32_t shards);

std::string Encode(const Config& config);
std::string Encode(const Server& server);
std::string Encode(const Shard& shard);
std::string Encode(const Placement& placement);
std::string Encode(const EmptyStart& start);

// kProtocol with the name of the field, when a value is missing, of another type or out of range.
std::expected<Config, Error> DecodeConfig(std::string_view data);
std::expected<Server, Error> DecodeServer(std::string_view data);
std::expected<Shard, Error> DecodeShard(std::string_view data);
std::expected<Placement, Error> DecodePlacement(std::string_view data);
std::expected<EmptyStart, Error> DecodeEmptyStart(std::string_view data);

// kProtocol, "data of another cluster": the root is the wrong one, or it was created anew.
std::expected<void, Error> CheckCluster(uint64_t cluster_id, uint64_t ours);

// kProtocol, "coordination data are older than the servers": somebody has seen epoch `known` of this shard. A
// read may be old for a while; what stays so was restored from a copy, and an operator has to decide.
std::expected<void, Error> CheckEpoch(const Shard& shard, uint64_t known);

}  // namespace plov::cluster
