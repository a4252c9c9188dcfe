// OathLink: the oaths of one server of a cluster as a client READs them (verify/cluster_map.h), for all shards that the
// server has a replica of. OathLinks: those that a client has, one for each server; they stay until they end.
//
// Where READs are loads an oath is loaded; elsewhere it is *looked* at: a look has the oaths of all shards that are asked
// for, by one READ for those that are near each other. Looks are numbered by rounds; whoever needs an oath from a time on
// waits for a look of the round that it was wanted in, or a later one.
//
// Threads: the client's.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/reads.h"
#include "fabric/fabric.h"
#include "fabric/os.h"
#include "verify/cluster_map.h"
#include "verify/words.h"

namespace plov {

// Shards that follow each other, whose oaths are READ together: as many as there are oaths, 0 until they have come.
struct OathRun {
  uint32_t first = 0;
  std::vector<uint64_t> oaths = {};
};
// Those with fewer others between them are: their oaths take 512 bytes.
inline constexpr uint32_t kOathsNear = 64;
// READs of one look, at most.
inline constexpr size_t kOathRunsMax = 16;
// That have all of these, at least one.
std::vector<OathRun> OathRunsOf(const std::set<uint32_t>& shards);

class OathLink {
 public:
  // Of the first of the server's URIs that answers. Errors as of fabric::Connection::Connect.
  static std::expected<std::shared_ptr<OathLink>, Error> Connect(
      const std::vector<std::string>& uris, fabric::Deadline deadline);

  bool alive() const { return connection_->alive(); }
  fabric::Connection& connection() { return *connection_; }

  bool loads() const { return !region_.empty(); }
  // Needs loads(). It was so if alive() is true afterwards.
  uint64_t Load(uint32_t shard) const {
    const void* oath = region_.data() + verify::OathOffset(shard);
    return verify::LoadWord(static_cast<const uint64_t*>(oath));
  }

  void Want(uint32_t shard, uint64_t round);
  // Looks, if one is wanted and there is room.
  bool Look(uint64_t round);
  // Takes what has come. False: nothing has.
  bool Collect();

  // Of the newest look that has come: its round, 0 before the first; when it was begun, by BootUs; what it saw, 0 of a shard
  // that was not wanted then.
  uint64_t seen() const { return seen_.round; }
  uint64_t seen_since_us() const { return seen_.begun_us; }
  uint64_t Seen(uint32_t shard) const;

 private:
  struct Flight {
    uint64_t round = 0;  // 0: none
    uint64_t begun_us = 0;
    size_t reads = 0;  // that have not come yet
    bool has_failed = false;
    std::vector<OathRun> runs = {};
  };
  // Looks in flight.
  static constexpr size_t kDepth = 4;

  explicit OathLink(std::unique_ptr<fabric::Connection> connection);
  void OnLook(Reads::Owner owner, fabric::Status status, const ReadBuffer& memory);

  Reads reads_{kDepth * kOathRunsMax};
  std::unique_ptr<fabric::Connection> connection_;  // ends before the memory that it READs into
  std::span<const std::byte> region_;
  std::set<uint32_t> shards_;  // that have been wanted
  std::vector<OathRun> runs_;  // of these
  uint64_t wanted_ = 0;        // the round
  uint64_t looked_ = 0;        // the last round
  std::vector<Flight> flights_ = std::vector<Flight>(kDepth);
  Flight seen_;
};

class OathLinks {
 public:
  // Before the first Connect: a client of a single server has nothing to wait for here. kSystem.
  std::expected<void, Error> Open();
  // To the server with these URIs: one that there is, if it is alive, or a new one.
  std::expected<std::shared_ptr<OathLink>, Error> Connect(const std::vector<std::string>& uris,
                                                          fabric::Deadline deadline);

  // Of looks that are wanted from now on.
  uint64_t round() const { return round_; }
  // Looks where it is wanted. False: nowhere.
  bool Look();
  // Takes what has come. False: nothing has.
  bool Collect();
  // Lets go of those that have ended.
  void Sweep();

  // To sleep, as of a fabric::Connection; after Open.
  int fd() const { return epoll_.get(); }
  bool Arm();

 private:
  bool ForEach(auto&& body);

  fabric::Fd epoll_;
  std::map<std::vector<std::string>, std::shared_ptr<OathLink>> links_;
  uint64_t round_ = 1;
};

}  // namespace plov
