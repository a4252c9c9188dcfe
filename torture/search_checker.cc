#include "torture/search_checker.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace plov::torture {

namespace {

struct State {
  bool present = false;
  uint64_t version = 0;  // of the value; 0 with `present`: one that no operation names
  ValueId value = kForeign;
  uint64_t last = 0;  // the highest version stored so far that an operation names

  bool operator==(const State&) const = default;
};

struct Node {
  uint64_t done = 0;  // operations that have taken effect, by index
  State state;

  bool operator==(const Node&) const = default;
};

struct NodeHash {
  size_t operator()(const Node& node) const {
    uint64_t hash = node.state.present ? 1 : 0;
    for (const uint64_t word : {node.done, node.state.version, node.state.value, node.state.last}) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

class SearchRun {
 public:
  SearchRun(std::span<const Operation> history, const SearchOptions& options);
  SearchResult Run();

 private:
  std::vector<State> InitialStates() const;
  void Expand(const Node& node);
  void TryUnknown(const Node& node, size_t at);
  void TryKnown(const Node& node, size_t at);
  void Push(const Node& node, size_t at, const State& next);
  bool Requires(const Operation& operation, const State& state) const;
  std::vector<uint64_t> VersionsOf(const Operation& operation, const State& state) const;
  Instant EndOf(const Operation& operation) const {
    return operation.outcome == Outcome::kUnknown ? kForever : operation.end;
  }

  SearchOptions options_;
  std::vector<Operation> operations_;
  std::vector<uint64_t> named_;  // every version that an operation names
  uint64_t needed_ = 0;          // operations that must take effect
  bool is_malformed_ = false;
  std::unordered_set<Node, NodeHash> seen_;
  std::vector<Node> open_;
};

SearchRun::SearchRun(std::span<const Operation> history, const SearchOptions& options)
    : options_(options) {
  for (const Operation& operation : history) {
    if (!IsWellFormed(operation)) is_malformed_ = true;
    if (operation.outcome == Outcome::kRefused) continue;
    const bool is_unknown = operation.outcome == Outcome::kUnknown;
    if (is_unknown && operation.kind == Kind::kGet) continue;
    if (!is_unknown && operations_.size() < kSearchOperationsMax) {
      needed_ |= uint64_t{1} << operations_.size();
    }
    operations_.push_back(operation);
    if (operation.version != 0 && !is_unknown) named_.push_back(operation.version);
    if (IsConditional(operation.kind)) named_.push_back(operation.expected);
  }
  std::ranges::sort(named_);
  named_.erase(std::unique(named_.begin(), named_.end()), named_.end());
}

std::vector<State> SearchRun::InitialStates() const {
  std::vector<State> states = {State{}};
  if (options_.initial == Initial::kAbsent) return states;
  states.push_back({true, 0, kForeign, 0});
  for (const uint64_t version : named_) states.push_back({true, version, kForeign, version});
  return states;
}

SearchResult SearchRun::Run() {
  if (is_malformed_) return SearchResult::kBad;
  if (operations_.size() > kSearchOperationsMax) return SearchResult::kUndecided;
  for (const State& state : InitialStates()) open_.push_back({0, state});
  while (!open_.empty()) {
    const Node node = open_.back();
    open_.pop_back();
    if ((node.done & needed_) == needed_) return SearchResult::kGood;
    if (seen_.size() > options_.states_max) return SearchResult::kUndecided;
    Expand(node);
  }
  return SearchResult::kBad;
}

// Whatever takes effect next must have started before any operation that is left has ended.
void SearchRun::Expand(const Node& node) {
  Instant first_end = kForever;
  for (size_t i = 0; i < operations_.size(); ++i) {
    if ((node.done >> i & 1) == 0) first_end = std::min(first_end, EndOf(operations_[i]));
  }
  for (size_t i = 0; i < operations_.size(); ++i) {
    if ((node.done >> i & 1) != 0 || operations_[i].start > first_end) continue;
    if (operations_[i].outcome == Outcome::kUnknown) {
      TryUnknown(node, i);
    } else {
      TryKnown(node, i);
    }
  }
}

void SearchRun::Push(const Node& node, size_t at, const State& next) {
  const Node child = {node.done | uint64_t{1} << at, next};
  if (seen_.insert(child).second) open_.push_back(child);
}

// Whether a store or DELETE finds in `state` what it needs to be applied.
bool SearchRun::Requires(const Operation& operation, const State& state) const {
  switch (operation.kind) {
    case Kind::kAdd:
      return !state.present;
    case Kind::kReplace:
    case Kind::kDelete:
      return state.present;
    case Kind::kPutIf:
    case Kind::kDeleteIf:
      return state.present && state.version == operation.expected;
    case Kind::kGet:
    case Kind::kPut:
      break;
  }
  return true;
}

// The versions that a store whose outcome is unknown may have got: what GETs of its value saw, or
// else none that anybody names, or one that somebody names without its value.
std::vector<uint64_t> SearchRun::VersionsOf(const Operation& operation, const State& state) const {
  std::vector<uint64_t> versions;
  for (const Operation& other : operations_) {
    const bool is_hit = other.kind == Kind::kGet && other.outcome == Outcome::kOk;
    if (is_hit && other.value == operation.value) versions.push_back(other.version);
  }
  if (versions.empty()) {
    versions = named_;
    versions.push_back(0);
  }
  std::erase_if(versions, [&state](uint64_t v) { return v != 0 && v <= state.last; });
  return versions;
}

void SearchRun::TryUnknown(const Node& node, size_t at) {
  const Operation& operation = operations_[at];
  if (!Requires(operation, node.state)) return;
  if (IsDelete(operation.kind)) {
    Push(node, at, {false, 0, kForeign, node.state.last});
    return;
  }
  for (const uint64_t version : VersionsOf(operation, node.state)) {
    Push(node, at, {true, version, operation.value, std::max(version, node.state.last)});
  }
}

void SearchRun::TryKnown(const Node& node, size_t at) {
  const Operation& operation = operations_[at];
  const State& state = node.state;
  const bool names_another = operation.version != 0 && operation.version != state.version;
  State next = state;
  switch (operation.outcome) {
    case Outcome::kAbsent:
      if (state.present) return;
      break;
    case Outcome::kExists:
      if (!state.present || names_another) return;
      break;
    case Outcome::kMismatch:
      if (!state.present || state.version == operation.expected || names_another) return;
      break;
    default:
      if (!Requires(operation, state)) return;
      if (operation.kind == Kind::kGet) {
        if (!state.present || names_another || state.value != operation.value) return;
      } else if (IsDelete(operation.kind)) {
        if (names_another) return;
        next = {false, 0, kForeign, state.last};
      } else {
        if (operation.version <= state.last) return;
        next = {true, operation.version, operation.value, operation.version};
      }
  }
  Push(node, at, next);
}

}  // namespace

SearchResult Search(std::span<const Operation> history, const SearchOptions& options) {
  return SearchRun(history, options).Run();
}

}  // namespace plov::torture
