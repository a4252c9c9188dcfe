// Shrink: from a wrong history to a small one that is wrong for the same reason.
//
// Leaving something out of a history can make a right one wrong (a GET without its PUT), so only
// steps are taken after which a right history would still be right (weaken.h). What is left is
// therefore evidence: if it is wrong, the whole history is wrong.
#pragma once

#include <vector>

#include "torture/interval_checker.h"
#include "torture/lives.h"
#include "torture/report.h"

namespace plov::torture {

// history: of one key. Returns it unchanged when it is not wrong.
// Cost:    a few times length^2 operations checked; for thousands of operations seconds.
std::vector<Operation> Shrink(std::vector<Operation> history, Initial initial);

// A violation made ready to be shown. What is looked at is the shortest end of the window that is
// wrong by itself, up to the violation; what may have happened before is put in as unknown
// operations of the process kBefore. When no end is, the window is shown as it is and `is_minimal`
// is false. Cost: seconds at most, for ends are tried from short to long.
Finding Explain(const Violation& violation, Initial initial);

}  // namespace plov::torture
