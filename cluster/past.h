// Past: the last entries that a replica has published, a part of its Tail.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cluster/stream.h"

namespace plov::cluster {

class Past {
 public:
  // end: what was published before.
  explicit Past(Position end) : begin_(end) {}

  // The next one that is published.
  void Add(Entry entry);
  // Of what was added since the last Trim.
  const Entry& last() const { return entries_.back(); }
  // Lets go of the oldest, of so many at most, until there are no more bytes than that.
  void Trim(size_t bytes_max, int entries_max);

  // Where entry `number` ends. nullopt: it is not known any more.
  std::optional<Position> At(uint64_t number) const;
  // The entries after `number`, of which At is known: one, if there is one, and then no more than so many bytes.
  std::vector<Entry> After(uint64_t number, size_t bytes_max) const;

 private:
  Position begin_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace plov::cluster
