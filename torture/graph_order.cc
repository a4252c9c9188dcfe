// GraphChecker: makes the graph of what is held, takes its cycle, and drops what can be in none that is still to come.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "torture/graph_checker.h"

namespace plov::torture {

namespace {

using Edge = SerialGraph::Edge;
using Why = SerialGraph::Why;

std::string NameOf(const TransactionRecord& record) {
  return fmt::format("{}'s {}", ProcessName(record.process), KindName(record.kind));
}

std::string StateText(uint32_t key, uint64_t version) {
  return version == 0 ? fmt::format("k{} absent", key)
                      : fmt::format("k{} at version {}", key, version);
}

std::string TextOf(const Edge& edge, const TransactionRecord& from, const TransactionRecord& to) {
  const std::string a = NameOf(from);
  const std::string b = NameOf(to);
  switch (edge.why) {
    case Why::kFound:
      return fmt::format("{} left {}, which {} found", a, StateText(edge.key, edge.version), b);
    case Why::kOverwrote:
      return fmt::format("{} left {}, which {} overwrote with version {}", a,
                         StateText(edge.key, edge.version), b, edge.next);
    case Why::kMissed:
      return fmt::format("{} found {}, which {} overwrote with version {}", a,
                         StateText(edge.key, edge.version), b, edge.next);
    case Why::kEnded:
      break;
  }
  return fmt::format("{} {} before {} began", a,
                     from.outcome == Outcome::kUnknown ? "was there" : "ended", b);
}

}  // namespace

void GraphChecker::Check(Instant settled) {
  for (bool narrowed = true; narrowed && !is_broken_;) {
    SerialGraph graph = Graph();
    if (!graph.Sort()) return TakeCycle(graph.Cycle());
    narrowed = false;
    for (Key& key : keys_) narrowed = Narrow(graph, &key) || narrowed;
    if (!narrowed) Drop(graph, settled);
  }
}

SerialGraph GraphChecker::Graph() {
  std::vector<SerialGraph::Interval> intervals;
  intervals.reserve(placed_.size());
  for (const SharedNode& node : placed_) {
    node->number = static_cast<uint32_t>(intervals.size());
    const Instant start = node->record->start;
    intervals.push_back({.start = start, .end = std::max(start, node->end)});
  }
  SerialGraph graph(intervals);
  for (uint32_t key = 0; key < keys_.size(); ++key) AddEdges(key, &graph);
  return graph;
}

void GraphChecker::AddEdges(uint32_t key, SerialGraph* graph) const {
  const Writes& writes = keys_[key].writes;
  const auto add = [&](const SharedNode& from, const SharedNode& to, Edge edge) {
    if (from == nullptr || to == nullptr || !from->is_placed || !to->is_placed) return;
    edge.from = from->number;
    edge.to = to->number;
    edge.key = key;
    graph->Add(edge);
  };
  for (auto at = writes.begin(); at != writes.end(); ++at) {
    const auto& [version, write] = *at;
    const auto next = std::next(at);
    const SharedNode after = next == writes.end() ? nullptr : next->second.by;
    const uint64_t after_version = next == writes.end() ? 0 : next->first;
    const uint64_t seen = write.is_absence() ? 0 : version;
    add(write.by, after, {.why = Why::kOverwrote, .version = seen, .next = after_version});
    for (const SharedNode& reader : write.readers) {
      add(write.by, reader, {.why = Why::kFound, .version = version});
      add(reader, after, {.why = Why::kMissed, .version = version, .next = after_version});
    }
  }
  for (const Absence& absence : keys_[key].absences) {
    const auto first = writes.find(absence.first);
    if (first != writes.end()) add(first->second.by, absence.reader, {.why = Why::kFound});
    auto next = writes.upper_bound(absence.last);
    // A commit comes before DELETEs of higher versions than its own.
    const bool has_version = absence.reader->record->writes() > 0;
    while (!has_version && next != writes.end() && next->second.is_absence()) ++next;
    if (next == writes.end()) continue;
    add(absence.reader, next->second.by, {.why = Why::kMissed, .next = next->first});
  }
}

// A time of absence is excluded when what ends it comes before the reader, or the reader before what begins it.
bool GraphChecker::Narrow(const SerialGraph& graph, Key* key) {
  bool narrowed = false;
  const auto reaches = [&](const SharedNode& from, const SharedNode& to) {
    return from != nullptr && from->is_placed && to != from &&
           graph.Reaches(from->number, to->number);
  };
  for (Absence& absence : key->absences) {
    if (absence.first == absence.last) continue;
    const auto runs = Absences(*key, absence.first, absence.last);
    if (runs.size() < 2) continue;
    auto left = std::span(runs);
    while (left.size() > 1 && reaches(left.front().next->second.by, absence.reader)) {
      left = left.subspan(1);
    }
    while (left.size() > 1) {
      const SharedNode& begins = left.back().first->second.by;
      if (!begins->is_placed || !reaches(absence.reader, begins)) break;
      left = left.first(left.size() - 1);
    }
    narrowed = narrowed || left.size() < runs.size();
    if (left.size() == runs.size()) continue;
    absence.first = left.front().first->first;
    absence.last = left.back().last->first;
  }
  return narrowed;
}

void GraphChecker::Drop(const SerialGraph& graph, Instant settled) {
  std::vector<bool> may_go;
  may_go.reserve(placed_.size());
  for (const SharedNode& node : placed_) may_go.push_back(node->end < settled);
  const size_t most = placed_.size() - std::min(placed_.size(), kept_);
  const auto first = graph.First(may_go);
  for (const uint32_t number : std::span(first).first(std::min(first.size(), most))) {
    placed_[number]->is_placed = false;
  }
  std::erase_if(placed_, [](const SharedNode& node) { return !node->is_placed; });
  for (Key& key : keys_) DropWrites(&key);
  checked_ = placed_.size();
  newest_ = 0;
  for (const SharedNode& node : placed_) newest_ = std::max(newest_, node->end);
}

// What comes began after a write that was dropped, so that it cannot find what that overwrote.
void GraphChecker::DropWrites(Key* key) {
  Writes& writes = key->writes;
  while (writes.size() > 1 && std::next(writes.begin())->second.is_dropped()) {
    writers_.erase(writes.begin()->second.value);
    writes.erase(writes.begin());
  }
  const auto is_gone = [](const SharedNode& node) { return !node->is_placed; };
  for (auto& [version, write] : writes) std::erase_if(write.readers, is_gone);
  std::erase_if(key->absences, [](const Absence& absence) { return !absence.reader->is_placed; });
}

// The one that ended last is the impossible one, and those before it come in the order of the cycle.
void GraphChecker::TakeCycle(const std::vector<Edge>& cycle) {
  const auto end_of = [this](const Edge& edge) { return placed_[edge.to]->record->end; };
  const auto last = std::ranges::max_element(cycle, {}, end_of);
  std::vector<Edge> edges(std::next(last), cycle.end());
  edges.insert(edges.end(), cycle.begin(), std::next(last));
  Contradiction wrong{.reason = "these have no order: "};
  for (const Edge& edge : edges) {
    const SharedNode& from = placed_[edge.from];
    const SharedNode& to = placed_[edge.to];
    if (!wrong.records.empty()) wrong.reason += "; ";
    wrong.reason += TextOf(edge, *from->record, *to->record);
    wrong.records.push_back(from->record);
    if (edge.why == Why::kEnded) wrong.records.push_back(from->shown_by);
  }
  Take(std::move(wrong), placed_[edges.back().to]->record);
}

}  // namespace plov::torture
