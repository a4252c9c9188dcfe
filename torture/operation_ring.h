// OperationRing: the ring of what a client process does to single keys.
#pragma once

#include <cstdint>

#include "torture/history.h"
#include "torture/record_ring.h"

namespace plov::torture {

inline Operation Unanswered(Operation operation) {
  operation.outcome = Outcome::kUnknown;
  operation.end = operation.start;
  operation.version = 0;
  if (!IsStore(operation.kind)) operation.value = kForeign;
  return operation;
}

using OperationRing = RecordRing<Operation, uint64_t{1} << 14>;  // 896 KiB, some milliseconds

}  // namespace plov::torture
