// Peers: everything that a client is connected to, and which shard, which link and which queue of writes a
// key has: one peer with all shards of a server of its own, or one peer for each shard of a cluster.
//
// Shards are numbered from 0 here, as `plov` users count them: in a cluster by their slots, whatever
// number the cluster gives them.
//
// Threads: the client's.
#pragma once

#include <plov/client.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster.h"
#include "client/peer.h"
#include "cuckoo/hash.h"
#include "verify/cluster_map.h"

namespace plov {

class Peers {
 public:
  // Connects to the server at `uri`, all shards or none; or to the cluster that it names, of which some
  // shards may not be up.
  static std::expected<std::unique_ptr<Peers>, Error> Connect(const std::string& uri,
                                                              const ClientOptions& options,
                                                              Callbacks* callbacks,
                                                              Deadline deadline);

  bool is_cluster() const { return cluster_.has_value(); }
  // Only the shards of one server of a cluster are connected to.
  bool is_member() const { return !member_.empty(); }
  uint32_t shard_count() const { return shard_count_; }
  uint64_t HashOf(std::string_view key) const { return cuckoo::HashKey(key, hash_seed_); }
  uint32_t ShardOf(uint64_t hash) const {
    if (slots_.empty()) return cuckoo::ShardOf(hash, shard_count_);
    return slots_[cuckoo::ShardOf(hash, verify::kSlots)];
  }

  // False of the shards of a cluster that are not on the one server whose administrator's this client is.
  bool is_wanted(uint32_t shard) const { return IsWanted(*shards_[shard].peer); }
  // Null while the shard's peer is not up.
  Link* link(uint32_t shard) const { return shards_[shard].link; }
  WriteQueue& writes(uint32_t shard) const { return *shards_[shard].writes; }
  Peer& peer(uint32_t shard) const { return *shards_[shard].peer; }
  // Why the shard is not up; null: it is.
  const Error* down(uint32_t shard) const {
    return shards_[shard].link != nullptr ? nullptr : &shards_[shard].peer->down();
  }
  std::span<const std::unique_ptr<Peer>> all() const { return peers_; }

  // A shard that is up.
  struct Live {
    Link* link;
    uint32_t shard;
  };
  std::span<const Live> live() const { return live_; }
  bool all_up() const { return live_.size() == shard_count_; }
  // Whether the links that are up are alive.
  bool alive() const {
    for (const Live& one : live_) {
      if (!one.link->alive()) return false;
    }
    return true;
  }
  // Replicas may be READ that are no primaries, and nothing is written.
  bool has_ages() const { return cluster_ && options_.read_from == ReadFrom::kAnyReplica; }
  // Whether READs are loads.
  bool loads() const { return loads_; }
  // Of all shards.
  OathLinks& oath_links() const { return *oath_links_; }

  // To be called once the peer is up, or not up any more. Needs no memory where Reserve had enough for the
  // peer's shards.
  void OnChanged(Peer* peer);
  void Reserve(size_t shard_count);

  // The peer that is to be tried now, if one is, and until when at most.
  Peer* NextToTry(Deadline now);
  Deadline AttemptEnd(const Peer& peer, Deadline now) const;
  // After an attempt that began then. What it tells of the server holds for its other shards; a server
  // that does not answer is tried for a small share of the time only; and where a shard could not be
  // reached, the cluster is asked where it is now.
  void AfterAttempt(const Peer& peer, Deadline begun);
  // Of a cluster. What a shard owes a reply to waits for ever if its primary is stopped, and another one is there: whoever
  // cannot see all oaths is deposed. To be called while nothing comes.
  void LookAtOaths(Deadline now);
  Deadline NextEvent(Deadline otherwise) const;

  void AddTo(ClientStats* stats) const;

 private:
  struct Shard {
    Link* link;
    WriteQueue* writes;
    Peer* peer;
  };

  Peers(const ClientOptions& options, Callbacks* callbacks);

  std::expected<void, Error> ConnectServer(const std::string& uri, Deadline deadline);
  std::expected<void, Error> ConnectCluster(const std::vector<std::string>& seeds,
                                            Deadline deadline);
  std::expected<void, Error> ConnectMember(const std::string& uri, const Error& error,
                                           Deadline deadline);
  bool IsWanted(const Peer& peer) const { return member_.empty() || !peer.target().uris.empty(); }
  Target TargetOf(const Cluster::Shard& shard) const;
  Target AnyReplicaOf(const Cluster::Shard& shard) const;
  void AddPeers();
  void Enter(Peer* peer);
  void ConnectAll(Deadline deadline);
  void AskCluster();
  void FindLive();
  void FindNextTry();
  Deadline TryTime(const Peer& peer) const;
  // It did not answer, and is not tried for a while.
  bool Rests(const Peer& peer) const;

  ClientOptions options_;
  Callbacks* callbacks_;
  std::unique_ptr<OathLinks> oath_links_ = std::make_unique<OathLinks>();  // outlives the peers
  std::optional<Cluster> cluster_;
  std::vector<std::unique_ptr<Peer>> peers_;
  uint64_t hash_seed_ = 0;
  uint32_t shard_count_ = 0;
  std::vector<uint16_t> slots_;  // of a cluster: the shard of each slot
  std::vector<Shard> shards_;
  std::vector<Live> live_;
  bool loads_ = true;
  std::string member_;            // of a cluster, which alone is connected to; empty: all
  const uint64_t first_replica_;  // that is tried, of each shard; at first any
  size_t last_tried_ = 0;
  Deadline next_try_ = Deadline::max();
  Deadline rest_end_{};  // servers that do not answer are not tried before
  Deadline next_ask_{};
  fabric::Clock::duration between_asks_{};
  Deadline next_look_{};
};

}  // namespace plov
