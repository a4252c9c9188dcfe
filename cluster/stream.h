// The stream: how the writes of a shard get from its primary to its other replicas.
//
// A shard's history is one sequence of entries, numbered from 1. Each is what was written together, in bytes that
// nothing here looks into. Its place in the history is its number and a chain, the checksum of all that led to it: two
// replicas with the same place have the same history up to it.
//
//   Append  primary -> replica: entries, and up to where they are published; without entries it is a beat
//   Ack     replica -> primary: up to where it holds them
//   Join    a replica that is in no configuration -> primary: send me the stream, from what I have on if you can
//   HandOver  primary -> replica: take over from me, who has cleared its oath and closed its readers' connections
//
// Every message carries the epoch that its sender holds. A replica is addressed by its incarnation: another life of
// the same server is another replica.
//
// Source: PacificA, Microsoft Research MSR-TR-2008-25 (prepared and committed points); the place of the entry before, as
// in Raft (Ongaro, Ousterhout 2014, section 5.3) and since KAFKA-6880.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/configuration_register.h"

namespace plov::cluster {

struct Position {
  uint64_t number = 0;  // 0: before the first entry
  uint64_t chain = 0;

  bool operator==(const Position&) const = default;
};

struct Entry {
  uint64_t epoch = 0;  // in which it was written
  Position at;
  std::shared_ptr<const std::string> data;
};

// What follows `before`.
Entry MakeEntry(const Position& before, uint64_t epoch, std::string data);
// Whether it does: the next number, and the chain of its bytes.
bool Follows(const Position& before, const Entry& entry);

// What a replica has no room in for more than what is under way.
enum class Full : uint8_t { kNot, kMemory, kLog };

struct Append {
  uint64_t epoch = 0;
  std::string from = {};  // the server, which is answered
  uint64_t to = 0;        // the incarnation
  bool is_first =
      false;  // `entries` are all that is not published: they take the place of the receiver's
  Position before = {};  // the entries follow it
  std::vector<Entry> entries = {};
  uint64_t published = 0;  // by the primary, up to this number
  uint64_t sent_us = 0;    // by the primary's clock
  uint64_t safe_us = 0;    // by the receiver's clock, when it has `published`; 0: none is known
  // The configuration of this epoch, until the receiver has acknowledged something in it: its path to the coordinator
  // may be long, or cut.
  std::optional<Held> held = {};
};

struct Ack {
  uint64_t epoch = 0;
  uint64_t from = 0;  // the incarnation
  bool follows =
      false;  // it has the primary's entries in the place of its own; else it asks for the first Append
  bool has_gap = false;  // it lacks what lies between `end` and the Append
  bool has_caught_up =
      false;            // of a new replica: it has what was published before the stream began, too
  bool leaves = false;  // it is to be dropped
  Full full = Full::kNot;
  uint64_t end = 0;       // it holds all up to this number
  uint64_t sent_us = 0;   // the greatest of the primary's Appends that it took in this epoch
  uint64_t clock_us = 0;  // its own
};

struct Join {
  uint64_t epoch = 0;
  Member replica;
  Position has = {};  // all that is published up to there
};

struct HandOver {
  uint64_t epoch = 0;
  uint64_t to = 0;  // the incarnation
};

using StreamMessage = std::variant<Append, Ack, Join, HandOver>;

}  // namespace plov::cluster
