// Cluster: what a client knows of where a cluster's shards are, and whom it asks for it.
//
// Maps are READ from the seeds that the user named and from the servers that maps have named, one after
// the other. Of each shard what the newest epoch says counts. A map of another cluster, or one whose shards
// have other slots, changes nothing.
//
// Threads: the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster_seed.h"
#include "client/life.h"

namespace plov {

class Cluster {
 public:
  struct Shard {
    uint16_t slot_first = 0;
    uint16_t slot_last = 0;
    uint64_t epoch = 0;
    Target target = {};  // its primary
  };

  // The seeds of "cluster:URI[,URI...]"; none of any other URI.
  static std::vector<std::string> SeedsOf(std::string_view uri);

  // Asks the seeds until one answers. kUnavailable when none does, with each and why; kInvalidArgument
  // when all are servers of their own.
  static std::expected<Cluster, Error> Join(const std::vector<std::string>& seeds,
                                            fabric::Deadline deadline);

  // By their slots; always as many, with the same slots and numbers.
  const std::vector<Shard>& shards() const { return shards_; }
  // Asks one server after the other, each time from the next one on, until one answers or the deadline
  // has passed. Returns the shards.
  const std::vector<Shard>& AskAny(fabric::Deadline deadline);

  // Maps that were READ.
  uint64_t fetches() const { return fetches_; }

 private:
  struct Source {
    std::string uri;
    fabric::Deadline rests_until = {};
  };

  explicit Cluster(const std::vector<std::string>& seeds);

  bool Fits(const SeededMap& seeded) const;
  void Take(const SeededMap& seeded);
  void TakeSources(const verify::ClusterMap& map);
  Source* NextSource();

  std::vector<std::string> seeds_;  // URIs
  std::vector<Source> sources_;     // the seeds first; each once
  size_t next_source_;              // at first any: many clients may have the same
  uint64_t cluster_id_ = 0;
  std::vector<Shard> shards_;
  uint64_t fetches_ = 0;
};

}  // namespace plov
