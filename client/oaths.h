// Oaths: whether the servers of a shard's configuration hold it still, so that what is READ of the primary is the
// shard's (rules C1 to C4 of a cluster, cluster/replica.h).
//
// A server that takes over has its oath off before anything can be written there. So a GET is right if *all* oaths were
// seen at some instant of it, whatever the primary's memory says later: that is a former state of the shard, no older
// than the GET. Where the cluster has leases, and READs are no loads, oaths that were seen count for later GETs as well.
//
// Threads: the client's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/oath_link.h"

namespace plov {

class Oaths {
 public:
  // What one server of the configuration shows while it holds it.
  struct Expected {
    std::vector<std::string> uris = {};
    uint64_t oath = 0;
    bool operator==(const Expected&) const = default;
  };

  Oaths() = default;  // of a server of its own

  // Connects to all servers. lease_us: of the client's clock; 0: none. Errors as of fabric::Connection::Connect.
  static std::expected<Oaths, Error> Connect(uint32_t shard, const std::vector<Expected>& expected,
                                             uint64_t lease_us, OathLinks* links,
                                             fabric::Deadline deadline);

  bool none() const { return members_.empty(); }
  bool alive() const {
    return std::ranges::all_of(members_, [](const Member& one) { return one.link->alive(); });
  }
  bool loads() const {
    return std::ranges::all_of(members_, [](const Member& one) { return one.link->loads(); });
  }

  // Where they are loads: whether all stand now.
  bool Stand() const {
    for (const Member& member : members_) {
      if (member.link->Load(shard_) != member.oath) return false;
    }
    return alive();
  }

  // Looks at all of them now, and waits for that: to be done once before anything is READ that rests on them.
  // kUnavailable: one of them is not what it should be; kTimeout.
  std::expected<void, Error> See(OathLinks* links, fabric::Deadline deadline) const;

  // Where READs of them are no loads: they are to be seen in this round.
  void Want(uint64_t round) const;
  // Of a GET that begins now: the round in which they have to be seen; 0: a lease says that they stand.
  uint64_t Begin(uint64_t round) const;
  // Whether they have been seen in this round or since, and stood.
  enum class Seen : uint8_t { kNotYet, kStand, kBroken };
  Seen SeenSince(uint64_t round) const;
  // Whether they stood when they were last seen; where they are loads, now.
  bool StoodLast(bool are_loads) const {
    return are_loads ? Stand() : SeenSince(0) == Seen::kStand;
  }

 private:
  struct Member {
    std::shared_ptr<OathLink> link;
    uint64_t oath;
  };

  uint32_t shard_ = 0;
  uint64_t lease_us_ = 0;
  std::vector<Member> members_;
};

}  // namespace plov
