// Life: what a client knows of one life of a server - its hash, its shards, where items are, which
// writes are unanswered. It dies with that life: a client that meets another one, be it a restart,
// another server of the same name or a former one again, begins a new Life with a new client id.
// Rule R9 of plov(7).
//
// Within a life the connections may end and be made anew. Then lookups begin again, remembered
// locations are forgotten, and unanswered writes are sent again under the same client id.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "client/link.h"
#include "client/write_queue.h"
#include "cuckoo/hash.h"
#include "cuckoo/location_cache.h"

namespace plov {

class Life {
 public:
  // Connects to every shard of whatever server is at `uri`.
  static std::expected<std::unique_ptr<Life>, Error> Begin(const std::string& uri,
                                                           const ClientOptions& options,
                                                           Callbacks* callbacks, Deadline deadline);

  // Connects anew. False, and nothing is changed, when another life answers, or one that knows
  // somebody else by the client id: this one is over.
  std::expected<bool, Error> Resume(const std::string& uri, Deadline deadline);

  uint32_t shard_count() const { return static_cast<uint32_t>(links_.size()); }
  Link& link(uint32_t shard) { return *links_[shard]; }
  const Link& link(uint32_t shard) const { return *links_[shard]; }
  WriteQueue& writes(uint32_t shard) { return writes_[shard]; }
  const std::vector<std::unique_ptr<Link>>& links() const { return links_; }
  std::deque<WriteQueue>& writes() { return writes_; }

  // Whether all connections are up.
  bool alive() const {
    for (const auto& link : links_) {
      if (!link->alive()) return false;
    }
    return true;
  }
  // Whether READs are loads.
  bool loads() const { return loads_; }

  uint64_t HashOf(std::string_view key) const { return cuckoo::HashKey(key, hash_seed_); }
  uint32_t ShardOf(uint64_t hash) const { return cuckoo::ShardOf(hash, shard_count()); }
  uint64_t incarnation(uint32_t shard) const { return links_[shard]->view().incarnation; }
  cuckoo::LocationCache* locations() { return &locations_; }
  const cuckoo::LocationCache& locations() const { return locations_; }

  void AddTo(ClientStats* stats) const;

 private:
  using Links = std::vector<std::unique_ptr<Link>>;

  Life(uint64_t client_id, const ClientOptions& options)
      : identity_{client_id, options.administers, {}}, locations_(options.location_cache_bytes) {}

  std::expected<Links, Error> ConnectShards(const std::string& uri, Deadline deadline);
  bool IsThis(const Links& fresh) const;
  void Adopt(Links fresh);

  Identity identity_;
  uint64_t hash_seed_ = 0;
  bool loads_ = false;
  Links links_;
  std::deque<WriteQueue> writes_;  // by shard
  cuckoo::LocationCache locations_;
  uint64_t former_late_reads_ = 0;  // of connections that ended
  uint64_t former_refreshes_ = 0;
};

}  // namespace plov
