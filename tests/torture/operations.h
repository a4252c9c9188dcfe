// Operations in short, for histories written by hand: what, by the interval [start, end] and what
// came of it. Processes are numbered by the caller's order in Lanes() or stay 0.
#pragma once

#include <vector>

#include "torture/history.h"

namespace plov::torture {

inline Operation Done(Kind kind, Instant start, Instant end, Outcome outcome = Outcome::kOk) {
  Operation operation;
  operation.kind = kind;
  operation.start = start;
  operation.end = end;
  operation.outcome = outcome;
  return operation;
}

inline Operation Stores(Kind kind, Instant start, Instant end, ValueId value, uint64_t version) {
  Operation operation = Done(kind, start, end);
  operation.value = value;
  operation.version = version;
  return operation;
}

inline Operation Put(Instant start, Instant end, ValueId value, uint64_t version) {
  return Stores(Kind::kPut, start, end, value, version);
}

inline Operation Hit(Instant start, Instant end, ValueId value, uint64_t version) {
  return Stores(Kind::kGet, start, end, value, version);
}

inline Operation Miss(Instant start, Instant end, Kind kind = Kind::kGet) {
  return Done(kind, start, end, Outcome::kAbsent);
}

inline Operation Deletes(Instant start, Instant end, uint64_t version = 0) {
  Operation operation = Done(Kind::kDelete, start, end);
  operation.version = version;
  return operation;
}

inline Operation Exists(Instant start, Instant end, ValueId value) {
  Operation operation = Done(Kind::kAdd, start, end, Outcome::kExists);
  operation.value = value;
  return operation;
}

// kPutIf or kDeleteIf over `expected`.
inline Operation Over(uint64_t expected, Operation operation) {
  operation.kind = IsDelete(operation.kind) ? Kind::kDeleteIf : Kind::kPutIf;
  operation.expected = expected;
  return operation;
}

inline Operation Unknown(Operation operation) {
  operation.outcome = Outcome::kUnknown;
  operation.version = 0;
  return operation;
}

inline Operation With(Kind kind, Operation operation) {
  operation.kind = kind;
  return operation;
}

inline Operation Ends(Outcome outcome, Operation operation) {
  operation.outcome = outcome;
  operation.version = 0;
  return operation;
}

}  // namespace plov::torture
