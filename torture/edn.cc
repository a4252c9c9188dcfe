// Report: histories as Jepsen's tools read them.
//
// Source: jepsen-io/knossos, src/knossos/model.clj (cas-register) and the histories under data/.
//         A read of nil means there "not known what was read", so that absent is :absent, not nil.
#include <algorithm>
#include <map>
#include <tuple>

#include "torture/report.h"

namespace plov::torture {

namespace {

struct EdnEvent {
  Instant time;
  int place;     // at one instant: starts, restarts, ends, so that operations are concurrent
  size_t index;  // of its operation
  std::string text;
};

// Of one that contradicts itself not before its start: no event of EDN can be.
Instant EndOf(const Operation& operation) { return std::max(operation.start, operation.end); }

// Knossos wants one operation at a time from a process, and none after one that never ended.
std::vector<size_t> Lanes(std::span<const Operation> sorted) {
  std::vector<Instant> free_from;
  std::vector<size_t> lanes;
  for (const Operation& operation : sorted) {
    const auto free = std::ranges::find_if(
        free_from, [&operation](Instant instant) { return instant < operation.start; });
    lanes.push_back(static_cast<size_t>(free - free_from.begin()));
    if (free == free_from.end()) free_from.push_back(0);
    free_from[lanes.back()] = IsOpen(operation) ? kForever : EndOf(operation);
  }
  return lanes;
}

class EdnWriter {
 public:
  explicit EdnWriter(const Finding& finding)
      : sorted_(ByStart(finding.history)), restarts_(finding.restarts) {
    if (finding.initial == Initial::kAnything) sorted_.insert(sorted_.begin(), ForeignStore());
    for (const Operation& operation : sorted_) {
      const bool names = (IsStore(operation.kind) || operation.kind == Kind::kGet) &&
                         operation.outcome == Outcome::kOk;
      if (names) values_[operation.version] = operation.value;
    }
  }

  std::string Write() {
    const std::vector<size_t> lanes = Lanes(sorted_);
    std::vector<EdnEvent> events;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const Operation& operation = sorted_[i];
      const std::string process = std::to_string(lanes[i]);
      events.push_back({operation.start, 0, i, Map(operation, process, ":invoke")});
      if (!IsOpen(operation)) {
        events.push_back({EndOf(operation), 2, i, Map(operation, process, Type(operation))});
      }
    }
    for (const Restart& restart : restarts_) {
      events.push_back({restart.at, 1, 0, ":process :nemesis, :type :info, :f :kill, :value nil"});
    }
    std::ranges::sort(events, {}, [](const EdnEvent& event) {
      return std::tuple(event.time, event.place, event.index);
    });
    std::string text;
    for (size_t i = 0; i < events.size(); ++i) {
      text += "{:index " + std::to_string(i) + ", :time " + std::to_string(events[i].time) + ", " +
              events[i].text + "}\n";
    }
    return text + Crashes(lanes, events.size());
  }

 private:
  // The register begins :absent; that it may hold something foreign is a write without an end.
  static Operation ForeignStore() {
    Operation store;
    store.kind = Kind::kPut;
    store.outcome = Outcome::kUnknown;
    store.process = kBefore;
    return store;
  }

  // By value, so a condition on a version whose value nobody saw cannot be said.
  bool IsCas(const Operation& operation) const {
    return operation.kind == Kind::kAdd ||
           (IsConditional(operation.kind) && values_.contains(operation.expected));
  }

  static std::string Type(const Operation& operation) {
    const bool missed = operation.outcome == Outcome::kAbsent && operation.kind == Kind::kGet;
    return operation.outcome == Outcome::kOk || missed ? ":ok" : ":fail";
  }

  static std::string Value(ValueId value) {
    return value == kForeign ? ":foreign" : std::to_string(value);
  }

  std::string Function(const Operation& operation) const {
    if (operation.kind == Kind::kGet) return ":read";
    return IsCas(operation) ? ":cas" : ":write";
  }

  std::string Argument(const Operation& operation, bool is_invocation) const {
    if (operation.kind == Kind::kGet) {
      if (is_invocation || IsOpen(operation)) return "nil";
      return operation.outcome == Outcome::kAbsent ? ":absent" : Value(operation.value);
    }
    const std::string next = IsDelete(operation.kind) ? ":absent" : Value(operation.value);
    if (!IsCas(operation)) return next;
    const bool is_add = operation.kind == Kind::kAdd;
    return "[" + (is_add ? ":absent" : Value(values_.at(operation.expected))) + " " + next + "]";
  }

  std::string Map(const Operation& operation, const std::string& process,
                  const std::string& type) const {
    std::string text = ":process " + process + ", :type " + type + ", :f " + Function(operation) +
                       ", :value " + Argument(operation, type == ":invoke") + ", :kind \"" +
                       std::string(KindName(operation.kind)) + "\", :client " +
                       std::to_string(operation.process);
    if (type != ":invoke" && operation.version != 0 && !IsOpen(operation)) {
      text += ", :version " + std::to_string(operation.version);
    }
    if (IsConditional(operation.kind)) text += ", :expected " + std::to_string(operation.expected);
    return text;
  }

  // Operations that never ended are :info at the end, as Jepsen has them.
  std::string Crashes(const std::vector<size_t>& lanes, size_t index) const {
    Instant last = 0;
    for (const Operation& operation : sorted_) {
      last = std::max(last, IsOpen(operation) ? operation.start : EndOf(operation));
    }
    std::string text;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      if (!IsOpen(sorted_[i])) continue;
      text += "{:index " + std::to_string(index++) + ", :time " + std::to_string(last) + ", " +
              Map(sorted_[i], std::to_string(lanes[i]), ":info") + "}\n";
    }
    return text;
  }

  std::vector<Operation> sorted_;
  std::vector<Restart> restarts_;
  std::map<uint64_t, ValueId> values_;
};

}  // namespace

std::string Edn(const Finding& finding) { return EdnWriter(finding).Write(); }

}  // namespace plov::torture
