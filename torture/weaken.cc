#include "torture/weaken.h"

#include <algorithm>
#include <set>

namespace plov::torture {

namespace {

Instant EndOf(const Operation& operation) { return IsOpen(operation) ? kForever : operation.end; }

bool NeedsAbsence(const Operation& operation) {
  if (operation.outcome == Outcome::kAbsent) return true;
  return operation.kind == Kind::kAdd && operation.outcome != Outcome::kExists &&
         operation.outcome != Outcome::kRefused;
}

// Needs a present value, whichever.
bool NeedsPresence(const Operation& operation) {
  const bool may_happen = operation.outcome == Outcome::kOk || IsOpen(operation);
  switch (operation.outcome) {
    case Outcome::kExists:
    case Outcome::kMismatch:
      return true;
    default:
      return may_happen && (operation.kind == Kind::kReplace || operation.kind == Kind::kPutIf ||
                            (operation.kind == Kind::kDelete && !IsOpen(operation)));
  }
}

// Whether what `left_out` did was over before `other` started, or began after it had ended: a store
// that was acknowledged lies between them.
bool IsBuried(const std::vector<Operation>& history, const Operation& left_out,
              const Operation& other) {
  if (EndOf(other) < left_out.start) return true;
  return std::ranges::any_of(history, [&](const Operation& between) {
    return IsStore(between.kind) && between.outcome == Outcome::kOk && between.kind == Kind::kPut &&
           between.start > EndOf(left_out) && between.end < other.start;
  });
}

void MakeUnknown(Operation* operation) {
  operation->outcome = Outcome::kUnknown;
  operation->version = 0;
}

// The weakest form of a write that needed a value to be present.
void WeakenPresence(Operation* operation) {
  if (operation->kind == Kind::kDelete) return MakeUnknown(operation);
  operation->kind = Kind::kPut;
  operation->expected = 0;
}

// Unknown conditional operations must expect what somebody told; others may happen at any version.
void Untie(std::vector<Operation>* history) {
  std::set<uint64_t> told;
  for (const Operation& operation : *history) {
    if (IsOpen(operation)) continue;
    if (IsStore(operation.kind) && operation.outcome == Outcome::kOk) {
      told.insert(operation.version);
    }
    told.insert(HeldVersion(operation));
  }
  for (Operation& operation : *history) {
    if (!IsOpen(operation) || !IsConditional(operation.kind)) continue;
    if (told.contains(operation.expected)) continue;
    operation.kind = IsStore(operation.kind) ? Kind::kPut : Kind::kDelete;
    operation.expected = 0;
  }
}

std::vector<Operation> WithoutDelete(const std::vector<Operation>& history, size_t index) {
  const Operation& left_out = history[index];
  std::vector<Operation> rest;
  for (size_t i = 0; i < history.size(); ++i) {
    Operation operation = history[i];
    if (i == index) continue;
    if (NeedsAbsence(operation) && !IsBuried(history, left_out, operation)) {
      if (operation.outcome == Outcome::kAbsent) continue;
      operation.kind = Kind::kPut;
    }
    rest.push_back(operation);
  }
  return rest;
}

// The version that the store got, if anybody was told.
uint64_t VersionOf(const std::vector<Operation>& history, const Operation& store) {
  if (store.outcome == Outcome::kOk) return store.version;
  for (const Operation& operation : history) {
    const bool is_hit = operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
    if (is_hit && operation.value == store.value) return operation.version;
  }
  return 0;
}

std::vector<Operation> WithoutStore(const std::vector<Operation>& history, size_t index) {
  const Operation& left_out = history[index];
  const uint64_t version = VersionOf(history, left_out);
  // A store of which only the effect is known may have got any version that has no store.
  if (version == 0 && IsOpen(left_out)) {
    for (const Operation& operation : history) {
      if (HeldVersion(operation) != 0 && operation.kind != Kind::kGet) return history;
    }
  }
  std::vector<Operation> rest;
  for (size_t i = 0; i < history.size(); ++i) {
    Operation operation = history[i];
    if (i == index) continue;
    const bool met = version != 0 && HeldVersion(operation) == version;
    if (met || (NeedsPresence(operation) && !IsBuried(history, left_out, operation))) {
      if (IsObservation(operation)) continue;
      if (operation.kind == Kind::kDeleteIf) operation.kind = Kind::kDelete;
      operation.expected = 0;
      WeakenPresence(&operation);
    }
    rest.push_back(operation);
  }
  return rest;
}

}  // namespace

bool IsObservation(const Operation& operation) {
  if (operation.kind == Kind::kGet) return true;
  return operation.outcome != Outcome::kOk && !IsOpen(operation);
}

std::vector<Operation> CutAfter(const std::vector<Operation>& history, Instant instant) {
  std::vector<Operation> rest;
  for (Operation operation : history) {
    if (operation.start > instant) continue;
    if (EndOf(operation) > instant) {
      if (IsObservation(operation)) continue;
      MakeUnknown(&operation);
    }
    rest.push_back(operation);
  }
  Untie(&rest);
  return rest;
}

std::vector<Operation> WithoutLater(const std::vector<Operation>& history, Instant instant) {
  const auto get = std::ranges::find_if(history, [instant](const Operation& operation) {
    return operation.kind == Kind::kGet && !IsOpen(operation) && operation.end == instant;
  });
  if (get == history.end()) return history;
  // Nothing else can have made what the GET found, if that was not so before it started.
  const auto made_it = [&get](const Operation& operation) {
    if (!IsHit(*get)) return IsDelete(operation.kind) && operation.outcome != Outcome::kAbsent;
    return IsStore(operation.kind) &&
           (operation.value == get->value || KnownVersion(operation) == get->version);
  };
  const bool may_be_made = std::ranges::any_of(history, [&](const Operation& operation) {
    return made_it(operation) && EndOf(operation) >= get->start && operation.start <= get->end;
  });
  if (may_be_made) return history;
  std::vector<Operation> others = history;
  others.erase(others.begin() + (get - history.begin()));
  std::vector<Operation> rest = CutAfter(others, get->start);
  rest.push_back(*get);
  return rest;
}

std::vector<Operation> WithoutOne(const std::vector<Operation>& history, size_t index) {
  if (IsObservation(history[index])) return WithoutObservations(history, index, index + 1);
  std::vector<Operation> rest =
      IsDelete(history[index].kind) ? WithoutDelete(history, index) : WithoutStore(history, index);
  Untie(&rest);
  return rest;
}

std::vector<Operation> WithoutObservations(const std::vector<Operation>& history, size_t begin,
                                           size_t end) {
  std::vector<Operation> rest;
  for (size_t i = 0; i < history.size(); ++i) {
    if (i < begin || i >= end || !IsObservation(history[i])) rest.push_back(history[i]);
  }
  Untie(&rest);
  return rest;
}

std::vector<Operation> CompleteWindow(std::vector<Operation> window) {
  std::set<ValueId> stored;
  for (const Operation& operation : window) {
    if (IsStore(operation.kind)) stored.insert(operation.value);
  }
  std::vector<Operation> before;
  uint64_t sequence = 0;
  const auto add = [&before](Kind kind, ValueId value) {
    Operation operation;
    operation.kind = kind;
    operation.value = value;
    operation.process = kBefore;
    operation.outcome = Outcome::kUnknown;
    before.push_back(operation);
  };
  for (const Operation& operation : window) {
    const bool is_hit = operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
    if (is_hit && operation.value != kForeign && stored.insert(operation.value).second) {
      add(Kind::kPut, operation.value);
    }
    if (NeedsPresence(operation) || HeldVersion(operation) != 0) {
      add(Kind::kPut, MakeValueId(kBefore, ++sequence));
    }
    if (NeedsAbsence(operation)) add(Kind::kDelete, kForeign);
  }
  window.insert(window.end(), before.begin(), before.end());
  Untie(&window);
  return window;
}

}  // namespace plov::torture
