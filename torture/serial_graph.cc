#include "torture/serial_graph.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

namespace plov::torture {

namespace {

constexpr uint32_t kNoNode = std::numeric_limits<uint32_t>::max();
// Of a cycle that was met, so many are looked at, for a shorter one through them.
constexpr size_t kLookedAtMax = 256;

}  // namespace

SerialGraph::SerialGraph(std::span<const Interval> operations)
    : operations_(operations.begin(), operations.end()),
      nodes_(static_cast<uint32_t>(operations.size())) {
  AddTime();
}

void SerialGraph::Add(const Edge& edge) {
  if (edge.from != edge.to) edges_.push_back(edge);
}

// Where one ends at the instant at which another one starts, the two overlap.
void SerialGraph::AddTime() {
  std::vector<Event> events;
  events.reserve(2 * operations_.size());
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    events.push_back({operations_[i].start, false, i});
    if (operations_[i].end != kForever) events.push_back({operations_[i].end, true, i});
  }
  std::ranges::sort(events, {}, [](const Event& e) { return std::pair(e.at, e.is_end); });
  uint32_t instant = kNoNode;
  bool has_begun = true;  // something, since the ends that `instant` has
  for (const Event& event : events) {
    if (!event.is_end) {
      if (instant != kNoNode) Add({.from = instant, .to = event.operation});
      has_begun = true;
      continue;
    }
    if (has_begun) {
      const uint32_t former = std::exchange(instant, nodes_++);
      if (former != kNoNode) Add({.from = former, .to = instant});
      has_begun = false;
    }
    Add({.from = event.operation, .to = instant});
  }
}

// By counting.
void SerialGraph::Index() {
  first_.assign(nodes_ + 1, 0);
  for (const Edge& edge : edges_) ++first_[edge.from + 1];
  for (uint32_t node = 0; node < nodes_; ++node) first_[node + 1] += first_[node];
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  std::vector<Edge> sorted(edges_.size());
  for (const Edge& edge : edges_) sorted[next[edge.from]++] = edge;
  edges_ = std::move(sorted);
}

std::span<const SerialGraph::Edge> SerialGraph::From(uint32_t node) const {
  return std::span(edges_).subspan(first_[node], first_[node + 1] - first_[node]);
}

bool SerialGraph::Sort() {
  Index();
  std::vector<uint32_t> before(nodes_, 0);
  for (const Edge& edge : edges_) ++before[edge.to];
  position_.assign(nodes_, kNoNode);
  order_.reserve(nodes_);
  const auto put = [this](uint32_t node) {
    position_[node] = static_cast<uint32_t>(order_.size());
    order_.push_back(node);
  };
  for (uint32_t node = 0; node < nodes_; ++node) {
    if (before[node] == 0) put(node);
  }
  for (size_t done = 0; done < order_.size(); ++done) {
    for (const Edge& edge : From(order_[done])) {
      if (--before[edge.to] == 0) put(edge.to);
    }
  }
  return order_.size() == nodes_;
}

// What has no place in the order has one before it that has none.
std::vector<uint32_t> SerialGraph::WalkBack() const {
  std::vector<uint32_t> before(nodes_, kNoNode);
  uint32_t node = kNoNode;
  for (const Edge& edge : edges_) {
    if (position_[edge.from] != kNoNode || position_[edge.to] != kNoNode) continue;
    before[edge.to] = edge.from;
    node = edge.to;
  }
  std::vector<bool> seen(nodes_, false);
  for (; !seen[node]; node = before[node]) seen[node] = true;
  std::vector<uint32_t> cycle{node};
  for (uint32_t at = before[node]; at != node; at = before[at]) cycle.push_back(at);
  return cycle;
}

std::vector<SerialGraph::Edge> SerialGraph::Cycle() const {
  std::vector<Edge> shortest;
  size_t looked_at = 0;
  for (const uint32_t node : WalkBack()) {
    if (!IsOperation(node) || ++looked_at > kLookedAtMax) continue;
    auto cycle = WithoutInstants(ShortestThrough(node));
    if (shortest.empty() || cycle.size() < shortest.size()) shortest = std::move(cycle);
  }
  return shortest;
}

// An edge to an instant is free, so that real time counts as one edge.
std::vector<SerialGraph::Edge> SerialGraph::ShortestThrough(uint32_t node) const {
  std::vector<const Edge*> by(nodes_, nullptr);
  std::vector<uint32_t> far(nodes_, kNoNode);
  std::deque<uint32_t> next{node};
  std::vector<bool> done(nodes_, false);
  far[node] = 0;
  while (!next.empty()) {
    const uint32_t at = next.front();
    next.pop_front();
    if (done[at]) continue;
    done[at] = true;
    for (const Edge& edge : From(at)) {
      if (position_[edge.to] != kNoNode) continue;
      if (edge.to == node && by[node] == nullptr) by[node] = &edge;
      const uint32_t cost = IsOperation(edge.to) ? 1 : 0;
      if (far[edge.to] <= far[at] + cost) continue;
      far[edge.to] = far[at] + cost;
      by[edge.to] = &edge;
      cost == 0 ? next.push_front(edge.to) : next.push_back(edge.to);
    }
    if (by[node] != nullptr) break;
  }
  std::vector<Edge> path{*by[node]};
  while (path.back().from != node) path.push_back(*by[path.back().from]);
  std::ranges::reverse(path);
  return path;
}

std::vector<SerialGraph::Edge> SerialGraph::WithoutInstants(const std::vector<Edge>& path) const {
  std::vector<Edge> result;
  uint32_t ended = 0;
  for (const Edge& edge : path) {
    if (edge.why != Why::kEnded) {
      result.push_back(edge);
    } else if (IsOperation(edge.from)) {
      ended = edge.from;
    }
    if (edge.why == Why::kEnded && IsOperation(edge.to)) {
      result.push_back({.from = ended, .to = edge.to});
    }
  }
  return result;
}

bool SerialGraph::Reaches(uint32_t from, uint32_t to) const {
  if (position_[from] > position_[to]) return false;
  std::vector<bool> seen(position_[to] - position_[from] + 1, false);
  std::vector<uint32_t> next{from};
  while (!next.empty()) {
    const uint32_t at = next.back();
    next.pop_back();
    if (at == to) return true;
    if (position_[at] > position_[to] || seen[position_[at] - position_[from]]) continue;
    seen[position_[at] - position_[from]] = true;
    for (const Edge& edge : From(at)) next.push_back(edge.to);
  }
  return false;
}

std::vector<uint32_t> SerialGraph::First(const std::vector<bool>& may_go) const {
  std::vector<bool> stays(nodes_, false);
  std::vector<uint32_t> first;
  for (const uint32_t node : order_) {
    stays[node] = stays[node] || (IsOperation(node) && !may_go[node]);
    if (!stays[node] && IsOperation(node)) first.push_back(node);
    if (!stays[node]) continue;
    for (const Edge& edge : From(node)) stays[edge.to] = true;
  }
  return first;
}

}  // namespace plov::torture
