#include "torture/transaction_violation.h"

#include <algorithm>
#include <utility>

namespace plov::torture {

TransactionViolation ViolationOf(Contradiction wrong, const SharedRecord& impossible) {
  TransactionViolation violation{.reason = std::move(wrong.reason), .instant = impossible->end};
  std::vector<SharedRecord> seen{impossible};
  for (const SharedRecord& record : wrong.records) {
    if (record == nullptr || std::ranges::find(seen, record) != seen.end()) continue;
    seen.push_back(record);
    violation.records.push_back(*record);
  }
  violation.records.push_back(*impossible);
  return violation;
}

}  // namespace plov::torture
