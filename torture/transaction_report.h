// Transaction report: transactions that contradict each other, as people and other programs read it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "torture/excerpt.h"
#include "torture/transaction_checker.h"

namespace plov::torture {

Excerpt ExcerptOf(const TransactionViolation& violation);

// "reason", "instant" and "operations", each with its items.
nlohmann::ordered_json JsonOf(const TransactionViolation& violation);

}  // namespace plov::torture
