// Outcome: what a client's answer means in a history.
#pragma once

#include <plov/client.h>

#include "torture/history.h"

namespace plov::torture {

// The outcome of an operation that ended with this error.
Outcome OutcomeOf(Code error);

// Fills in the result of the operation: outcome, version; not the end, and of a GET not the value.
void Note(const Client::PutResult& result, Operation* operation);
void Note(const Client::DeleteResult& result, Operation* operation);

}  // namespace plov::torture
