// Outcome: what a client's answer means in a history.
#pragma once

#include <plov/client.h>

#include "torture/history.h"

namespace plov::torture {

// What an operation that ended with this error came to.
Outcome OutcomeOf(Code error);

// Fills in what the operation came to: outcome, version; not the end, and of a GET not the value.
void Note(const Client::PutResult& result, Operation* operation);
void Note(const Client::DeleteResult& result, Operation* operation);

}  // namespace plov::torture
