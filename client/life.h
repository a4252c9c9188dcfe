// Life: what a client knows of one life of a peer (client/peer.h) - the links to its shards, where items
// are, which writes are unanswered. It dies with that life: a client that meets another one, be it a
// restart, another server of the same name or a former one again, begins a new Life with a new client id.
// Rule R9 of plov(7).
//
// Within a life the connections may end and be made anew. Then lookups begin again, remembered
// locations are forgotten, and unanswered writes are sent again under the same client id. A shard of a cluster goes
// on with the next primary: that has all that the former one has acknowledged, and knows who wrote it.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/link.h"
#include "client/oaths.h"
#include "client/write_queue.h"
#include "cuckoo/location_cache.h"

namespace plov {

// What is connected to as one.
struct Target {
  // One shard of a cluster; without it, a server of its own, with all its shards.
  struct Part {
    uint32_t shard = 0;
    uint64_t hash_seed = 0;  // the cluster's
    bool operator==(const Part&) const = default;
  };

  std::vector<std::string> uris = {};  // of which the first that answers counts
  std::optional<Part> part = {};
  // Of a Part: its configuration, and what shows that it is held. None: whoever answers is taken for the primary.
  uint64_t epoch = 0;
  std::vector<Oaths::Expected> oaths = {};
  uint64_t lease_us = 0;
  // Of a Part: any of its replicas will do that is no older, and is only READ; 0: it is the primary.
  uint64_t max_age_us = 0;
  bool operator==(const Target&) const = default;
};

class Life {
 public:
  // Of whoever answers first; the shard of a Part has a queue for its writes at once. All outlive it.
  Life(const Target& target, const ClientOptions& options, OathLinks* oath_links,
       Callbacks* callbacks);

  // Connects, all shards or none. False, and nothing is changed, when another life answers, or one that
  // knows somebody else by the client id: this one is over.
  std::expected<bool, Error> Connect(const Target& target, Deadline deadline);

  // Shards; none before the first connection.
  const std::vector<std::unique_ptr<Link>>& links() const { return links_; }
  std::deque<WriteQueue>& writes() { return writes_; }
  bool alive() const {
    for (const auto& link : links_) {
      if (!link->alive()) return false;
    }
    return true;
  }

  // 0 before the first connection.
  uint64_t incarnation() const { return links_.empty() ? 0 : links_[0]->view().incarnation; }
  uint64_t epoch() const { return epoch_; }  // of a Part
  cuckoo::LocationCache* locations() { return &locations_; }

  // Writes that got an answer.
  uint64_t answered() const;
  void AddTo(ClientStats* stats) const;

 private:
  using Links = std::vector<std::unique_ptr<Link>>;

  std::expected<Links, Error> ConnectShards(const std::string& uri, const Target& target,
                                            Deadline deadline);
  std::expected<std::unique_ptr<Link>, Error> ConnectPart(const std::string& uri,
                                                          const Target& target, Deadline deadline);
  std::expected<Links, Error> ConnectServer(const std::string& uri, const Target& target,
                                            Deadline deadline);
  std::expected<std::unique_ptr<Link>, Error> ConnectLink(const std::string& uri,
                                                          const Target& target, uint32_t shard,
                                                          Deadline deadline);
  bool IsThis(const Links& fresh, const Target& target) const;
  void Adopt(Links fresh);

  Callbacks* callbacks_;
  OathLinks* oath_links_;
  Identity identity_;
  // By the URIs of a server, and shard: what one was told, no other one knows.
  std::map<std::pair<std::vector<std::string>, uint32_t>, fabric::Claimant> claimants_;
  Links links_;
  uint64_t epoch_ = 0;             // of a Part, that they were made in
  std::deque<WriteQueue> writes_;  // by shard
  cuckoo::LocationCache locations_;
  uint64_t former_late_reads_ = 0;  // of connections that ended
  uint64_t former_refreshes_ = 0;
};

}  // namespace plov
