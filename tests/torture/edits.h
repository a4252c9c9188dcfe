// Single edits of a history: each of them a mistake that a store, or a checker's reader, could
// make.
#pragma once

#include <functional>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

// Calls `check` with every edited history whose operations are well formed, and the edit's name;
// `history` itself is put back after each.
void ForEachEdit(std::vector<Operation> history,
                 const std::function<void(const std::vector<Operation>&, const char*)>& check);

}  // namespace plov::torture
