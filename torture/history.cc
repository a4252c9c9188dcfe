#include "torture/history.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace plov::torture {

namespace {

bool AllowsOutcome(Kind kind, Outcome outcome) {
  switch (outcome) {
    case Outcome::kAbsent:
      return kind != Kind::kPut && kind != Kind::kAdd;
    case Outcome::kExists:
      return kind == Kind::kAdd;
    case Outcome::kMismatch:
      return IsConditional(kind);
    case Outcome::kOk:
    case Outcome::kRefused:
    case Outcome::kUnknown:
      return true;
  }
  return false;
}

bool AllowsVersion(const Operation& operation) {
  if (operation.outcome == Outcome::kMismatch) return operation.version != operation.expected;
  if (operation.outcome != Outcome::kOk) return true;
  if (operation.kind == Kind::kDelete) return true;
  if (operation.kind == Kind::kDeleteIf) {
    return operation.version == 0 || operation.version == operation.expected;
  }
  return operation.version != 0;
}

}  // namespace

bool IsWellFormed(const Operation& operation) {
  if (operation.kind > Kind::kDeleteIf || operation.outcome > Outcome::kUnknown) return false;
  if (operation.start < 0) return false;
  if (operation.outcome != Outcome::kUnknown &&
      (operation.end < operation.start || operation.end == kForever)) {
    return false;
  }
  if (IsStore(operation.kind) && operation.value == kForeign) return false;
  if (IsConditional(operation.kind) && operation.expected == 0) return false;
  return AllowsOutcome(operation.kind, operation.outcome) && AllowsVersion(operation);
}

std::vector<Operation> ByStart(std::span<const Operation> history) {
  std::vector<size_t> order(history.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [history](size_t index) {
    const Operation& operation = history[index];
    const bool is_open = operation.outcome == Outcome::kUnknown;
    return std::tuple(operation.start, is_open ? kForever : operation.end, index);
  });
  std::vector<Operation> sorted;
  for (const size_t index : order) sorted.push_back(history[index]);
  return sorted;
}

std::string_view KindName(Kind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"GET",    "PUT",    "ADD",      "REPLACE",
                                                      "PUT-IF", "DELETE", "DELETE-IF"};
  const auto at = static_cast<size_t>(kind);
  return at < kNames.size() ? kNames[at] : "?";
}

std::string_view OutcomeName(Outcome outcome) {
  constexpr std::array<std::string_view, 6> kNames = {"ok",       "absent",  "exists",
                                                      "mismatch", "refused", "unknown"};
  const auto at = static_cast<size_t>(outcome);
  return at < kNames.size() ? kNames[at] : "?";
}

std::string ProcessName(uint32_t process) {
  if (process == kTool) return "tool";
  return process == kBefore ? "before" : "p" + std::to_string(process);
}

std::string ValueName(ValueId value) {
  if (value == kForeign) return "foreign";
  const uint64_t sequence = value & ((uint64_t{1} << kSequenceBits) - 1);
  return ProcessName(static_cast<uint32_t>(value >> kSequenceBits)) + "#" +
         std::to_string(sequence);
}

}  // namespace plov::torture
