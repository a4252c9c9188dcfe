// Batches: many items in one call, in parts between which signals are handled.
#pragma once

#include "client/python/calls.h"

namespace plov::python {

void DefineBatches(ClientType* type);

}  // namespace plov::python
