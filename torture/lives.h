// Lives: the whole history of one key over several lives of its server, checked at once.
//
// For histories that were recorded, and for what is shown of a violation. A run checks each life
// when it ends (torture/life_checker.h), when it reads what the next one begins with; here that is
// found out: all states that a life can have left are kept, as far as a later one tells them apart.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "torture/durability.h"
#include "torture/search_checker.h"

namespace plov::torture {

// How a history of one key is checked.
struct Rules {
  Initial initial = Initial::kAbsent;
  std::vector<Restart> restarts = {};  // by instant
  Commit commit = Commit::kStrict;
};

// history: of one key in all its lives, in any order. With strict, restarts do not matter.
SearchResult CheckLives(std::span<const Operation> history, const Rules& rules);

// Of a history that is wrong by the rules: kLost and the like where the loss of something explains
// it, else std::nullopt.
std::optional<Reason> LossIn(std::span<const Operation> history, const Rules& rules);

}  // namespace plov::torture
