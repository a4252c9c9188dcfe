// Weaken: changes to a history that keep a right one right.
//
// All of them keep a rule: take any right order of the old history's operations; the new history's
// operations, in that order, are right. A store that is left out lets the state before it last
// longer, so everything that may have needed a present value because of it is left out or weakened
// too: observations go, REPLACE and PUT-IF become PUT, DELETE becomes unknown. Likewise what may
// have needed an absence when a DELETE goes.
#pragma once

#include <cstddef>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

// Changes nothing: a GET, or a write that changed nothing.
bool IsObservation(const Operation& operation);

// What had happened by `instant`: later operations go, those under way then become unknown.
std::vector<Operation> CutAfter(const std::vector<Operation>& history, Instant instant);

// Leaves out what began after the GET that ended at `instant`, if nothing that was under way between its
// start and its end can have made what it found. May leave the history as it is.
std::vector<Operation> WithoutLater(const std::vector<Operation>& history, Instant instant);

// Leaves out one operation. May leave the history as it is.
std::vector<Operation> WithoutOne(const std::vector<Operation>& history, size_t index);

// Leaves out the observations in [begin, end) for which this is the place.
std::vector<Operation> WithoutObservations(const std::vector<Operation>& history, size_t begin,
                                           size_t end);

// For a history whose beginning is lost: adds unknown operations that allow all that the lost ones
// may have done. To be checked with Initial::kAnything.
std::vector<Operation> CompleteWindow(std::vector<Operation> window);

}  // namespace plov::torture
