// Transaction violation: transactions that contradict each other, as the checkers give them away.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "torture/transaction_record.h"

namespace plov::torture {

using SharedRecord = std::shared_ptr<const TransactionRecord>;

// Why operations fit into no order: those that it takes.
struct Contradiction {
  std::string reason;
  std::vector<SharedRecord> records = {};
};

struct TransactionViolation {
  std::string reason;
  Instant instant = 0;  // when the operation ended that fits into no order
  // Those that contradict each other; the last is the impossible one.
  std::vector<TransactionRecord> records = {};
};

TransactionViolation ViolationOf(Contradiction wrong, const SharedRecord& impossible);

}  // namespace plov::torture
