// Loss: what to show of a violation that is a loss at a kill: the operation that told of what is
// gone, the kill, and the one that did not find it.
//
// A history may hold a hundred thousand operations of a key between two kills, too many to leave
// out one after the other as shrink.h does. But versions grow, so that two operations are enough:
// one that tells of a version, and one that ends behind a restart and met or wrote a lower one, or
// met nothing though nobody has deleted it.
#pragma once

#include <optional>

#include "torture/interval_checker.h"
#include "torture/report.h"

namespace plov::torture {

// std::nullopt: it is no loss, or not one that two operations show. Cost: n log n.
std::optional<Finding> ExplainLoss(const Violation& violation);

}  // namespace plov::torture
