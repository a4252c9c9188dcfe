// Tail: the end of a shard's history: the last of what a replica has published, and what it holds beyond that.
//
// What is published is in its table, and is never undone: here it is for another replica that comes back and lacks it.
// What comes after may be undone, by the next primary, whose tail takes the place of all others'.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "cluster/past.h"
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
  explicit Tail(Position published) : published_(published), past_(published) {}

  const Position& published() const { return published_; }
  const Position& end() const { return entries_.empty() ? published_ : entries_.back().at; }
  bool empty() const { return entries_.empty(); }  // nothing is held beyond published()

  // The next entry of a primary.
  const Entry& Add(uint64_t epoch, std::string data);
  // Where entry `number` ends. nullopt: it is not known, or not any more.
  std::optional<Position> At(uint64_t number) const;
  // The entries after `number`, of which At is known; of what is published no more than so many bytes, and what
  // follows that only if it is all of it.
  std::vector<Entry> After(uint64_t number, size_t past_bytes) const;
  // What is not published.
  std::vector<Entry> Unpublished() const { return {entries_.begin(), entries_.end()}; }

  // Takes what is new of entries that follow `before`; what is here already has to be the same.
  Fit Append(const Position& before, const std::vector<Entry>& entries);
  // Puts entries that follow `before`, a primary's published(), in the place of what is not published here.
  Fit Replace(const Position& before, const std::vector<Entry>& entries);
  // The first that is not published is so now. Not when it is empty.
  const Entry& Publish();
  // Lets go of the oldest that are published, of so many at most, until there are no more bytes than that.
  void TrimPast(size_t bytes_max, int entries_max) { past_.Trim(bytes_max, entries_max); }
  // Lets go of what is not published.
  void Cut() { entries_.clear(); }

 private:
  // Whether they are a sequence, and agree with what is here from published() up to `last`.
  bool Agrees(const Position& before, const std::vector<Entry>& entries, uint64_t last) const;

  Position published_;
  Past past_;
  std::deque<Entry> entries_;
};

}  // namespace plov::cluster
