// Tail: the end of a shard's history that a replica holds and has not published.
//
// What is published is in its table, and is never undone. What comes after may be, by the next primary, whose tail
// takes the place of all others'.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cluster/stream.h"

namespace plov::cluster {

class Tail {
 public:
  enum class Fit : uint8_t {
    kFits,
    kGap,      // something is missing between what is here and it; nothing was taken
    kForeign,  // it is of another history; nothing was taken
  };

  // published: what the replica's table holds.
  explicit Tail(Position published) : published_(published) {}

  const Position& published() const { return published_; }
  const Position& end() const { return entries_.empty() ? published_ : entries_.back().at; }
  bool empty() const { return entries_.empty(); }

  // The next entry of a primary.
  const Entry& Add(uint64_t epoch, std::string data);
  // Where entry `number` ends. nullopt: it is not among published() and what follows.
  std::optional<Position> At(uint64_t number) const;
  // The entries after `number`, one of published().number..end().number.
  std::vector<Entry> After(uint64_t number) const;

  // Takes what is new of entries that follow `before`; what is here already has to be the same.
  Fit Append(const Position& before, const std::vector<Entry>& entries);
  // Puts entries that follow `before`, a primary's published(), in the place of what is not published here.
  Fit Replace(const Position& before, const std::vector<Entry>& entries);
  // Takes the first one, which is published now. Not when it is empty.
  Entry Publish();

 private:
  // Whether they are a sequence, and agree with what is here from published() up to `last`.
  bool Agrees(const Position& before, const std::vector<Entry>& entries, uint64_t last) const;

  Position published_;
  std::deque<Entry> entries_;
};

}  // namespace plov::cluster
