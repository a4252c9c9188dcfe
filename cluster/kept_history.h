// KeptHistory: what a replica was, from what it gave to its log (ReplicaHost::Keep), in that order: the configuration
// that it held last, the end of the history that it had not published, and, entry by entry, what it had.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cluster/replica.h"

namespace plov::cluster {

class KeptHistory {
 public:
  // Whoever is to have what was published. False: it cannot be stored.
  using Publish = std::function<bool(const Entry&)>;
  // server: whose replica it was.
  KeptHistory(std::string server, Publish publish)
      : server_(std::move(server)), publish_(std::move(publish)) {}

  // What comes before the first Append with is_first is left out: what that one has not is published, and elsewhere.
  // False: it does not follow what came before, or something cannot be stored.
  bool Take(const Append& kept);

  // Where the history began that was taken; nullopt: nothing was.
  const std::optional<Position>& begin() const { return begin_; }
  // The replica's incarnation; 0: nothing was taken.
  uint64_t incarnation() const { return incarnation_; }
  // Once all is taken. nullopt: it was no member in all that was taken, so it may lack what was published before.
  std::optional<Replica::Memory> memory() const;

 private:
  std::string server_;
  Publish publish_;
  uint64_t incarnation_ = 0;
  bool is_whole_ = false;
  std::optional<Position> begin_;
  std::optional<Tail> tail_;
  std::optional<Held> held_;
};

}  // namespace plov::cluster
