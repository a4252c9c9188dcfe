// SerialGraph: which operations come before which others (Adya's direct serialization graph, with real time), and a cycle
// in it.
//
// Operations that have one order that explains all of them have no cycle, and the other way round, when it is known
// in which order each key was written.
//
// Real time has a node for each instant at which some operations have ended and another one begins: from those to it, from
// one such instant to the next, and to what begins. So there are few edges, though every operation comes before most others.
//
// Time and memory: linear in operations and edges, but to sort the instants.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "torture/transaction_record.h"

namespace plov::torture {

class SerialGraph {
 public:
  enum class Why : uint8_t {
    kFound,      // `to` found what `from` wrote: `version`
    kOverwrote,  // `from` wrote `version`, and `to` the key's next one: `next`
    kMissed,     // `from` found `version`, and `to` wrote the key's next one: `next`
    kEnded,      // `from` ended before `to` began
  };
  struct Edge {
    uint32_t from = 0;
    uint32_t to = 0;
    Why why = Why::kEnded;
    uint32_t key = 0;
    uint64_t version = 0;  // 0: the key was absent
    uint64_t next = 0;
  };
  struct Interval {
    Instant start = 0;
    Instant end = 0;  // kForever: nothing is known to come behind it
  };

  // The operations have the numbers of their intervals.
  explicit SerialGraph(std::span<const Interval> operations);
  void Add(const Edge& edge);

  // Whether there is no cycle. When all edges are there.
  bool Sort();
  // After Sort found one: a short one, each edge beginning where the former one ends.
  std::vector<Edge> Cycle() const;
  // After Sort found none: whether a path leads from one to the other.
  bool Reaches(uint32_t from, uint32_t to) const;
  // Likewise: of those that may go, all that nothing leads to but what goes as well, the first in order first.
  std::vector<uint32_t> First(const std::vector<bool>& may_go) const;

 private:
  struct Event {
    Instant at = 0;
    bool is_end = false;
    uint32_t operation = 0;
  };

  void AddTime();
  void Index();
  std::span<const Edge> From(uint32_t node) const;
  std::vector<uint32_t> WalkBack() const;
  std::vector<Edge> ShortestThrough(uint32_t node) const;
  std::vector<Edge> WithoutInstants(const std::vector<Edge>& path) const;
  bool IsOperation(uint32_t node) const { return node < operations_.size(); }

  std::vector<Interval> operations_;
  uint32_t nodes_ = 0;  // operations, then instants
  std::vector<Edge> edges_;
  std::vector<uint32_t> first_;     // of each node, in edges_; and their count
  std::vector<uint32_t> order_;     // as far as there is one
  std::vector<uint32_t> position_;  // in order_
};

}  // namespace plov::torture
